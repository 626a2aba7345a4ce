/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PROCESSES = 40 };

/* In the order in which they are noted, each once, with what was said first. */
static void keeps_order(void **state)
{
    (void)state;
    assert_int_equal(weft_processes_open(PROCESSES, 0), 0);
    for (int i = 1; i < PROCESSES; i++)
        assert_true(weft_failures_add(PROCESSES - i, i % 2 == 0 ? "even" : "odd"));
    assert_false(weft_failures_add(7, "again"));
    assert_int_equal(weft_failures.count, PROCESSES - 1);
    for (int i = 1; i < PROCESSES; i++)
        assert_int_equal(weft_failures.at[i - 1].process, PROCESSES - i);
    assert_true(weft_has_failed(7));
    assert_false(weft_has_failed(0));
    assert_string_equal(weft_failure_text(7), "odd");
    assert_string_equal(weft_failure_text(0), "");
    weft_failures_close();
    weft_processes_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
