/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/loop/launch_message.h"

#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KNOWN = 3, EMPTY = 7, UNKNOWN = 1000 };

static void take_number(void *owner, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    *(uint32_t *)owner = wl_read_u32(&reader);
}

static void take_nothing(void *owner, const wl_message_t *message)
{
    (void)message;
    ++*(uint32_t *)owner;
}

static const wl_message_rule_t rules[] = {
    {KNOWN, "KNOWN", sizeof(uint32_t), take_number},
    {EMPTY, "EMPTY", 0, take_nothing},
};

static uint32_t take(int kind, const char *body, size_t bytes)
{
    uint32_t number = 7;
    const wl_message_t message = {.kind = kind, .from = 1, .body = body, .bytes = bytes};
    wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), &number, &message);
    return number;
}

static void the_rule_of_the_kind_is_called(void **state)
{
    (void)state;
    assert_int_equal(take(KNOWN, "\5\0\0\0", 4), 5);
    assert_int_equal(take(KNOWN, "\6\0\0\0more", 8), 6);
    assert_int_equal(take(EMPTY, NULL, 0), 8);
    assert_int_equal(take(UNKNOWN, "\5\0\0\0", 4), 7);
}

static void what_is_too_short_is_dropped(void **state)
{
    (void)state;
    weft_log_threshold = WEFT_ERROR; /* there is a warning */
    assert_int_equal(take(KNOWN, "\5\0\0", 3), 7);
    assert_int_equal(take(KNOWN, NULL, 0), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_of_the_kind_is_called),
        cmocka_unit_test(what_is_too_short_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
