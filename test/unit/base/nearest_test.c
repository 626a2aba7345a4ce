/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const words[] = {"eager_max", "transports", "log"};

static void finds_a_word_with_a_slip(void **state)
{
    (void)state;
    assert_string_equal(weft_nearest("eagr_max", words, 3), "eager_max");
    assert_string_equal(weft_nearest("transport", words, 3), "transports");
    assert_string_equal(weft_nearest("lgo", words, 3), "log");
}

static void takes_the_first_of_equals(void **state)
{
    static const char *const same[] = {"ab", "ac"};
    (void)state;
    assert_string_equal(weft_nearest("ad", same, 2), "ab");
}

static void takes_empty_and_long_words(void **state)
{
    char long_word[300];
    (void)state;
    for (size_t i = 0; i < sizeof(long_word) - 1; i++)
        long_word[i] = 'x';
    long_word[sizeof(long_word) - 1] = '\0';
    assert_string_equal(weft_nearest("", words, 3), "log");
    assert_non_null(weft_nearest(long_word, words, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_word_with_a_slip),
        cmocka_unit_test(takes_the_first_of_equals),
        cmocka_unit_test(takes_empty_and_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
