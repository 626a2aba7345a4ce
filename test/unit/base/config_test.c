/* SPDX-License-Identifier: BSD-3-Clause */
/* A value that a variable cannot take leaves its default unchanged. */
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void takes_what_makes_sense(void **unused)
{
    (void)unused;
    assert_int_equal(weft_config.LOST_AFTER, 20);
    assert_int_equal(weft_config.EAGER_MAX, 3 << 20);
    assert_int_equal(weft_config.SPIN, -1);
    assert_true(weft_config.REPORT);
}

static void refuses_the_rest(void **unused)
{
    (void)unused;
    assert_int_equal(weft_config.TIMEOUT, 60);
    assert_int_equal(weft_config.DEVICE_WAIT_MAX, 30);
    assert_int_equal(weft_config.UNEXPECTED_MAX, 64 << 20);
    assert_true(weft_config.CHECK_ARGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_what_makes_sense),
                                       cmocka_unit_test(refuses_the_rest)};
    setenv("PMIX_RANK", "1", 1); /* since rank 0 would print a warning */
    setenv("WEFT_LOST_AFTER", "20", 1);
    setenv("WEFT_EAGER_MAX", "3M", 1);
    setenv("WEFT_SPIN", "-1", 1);
    setenv("WEFT_REPORT", "on", 1);
    setenv("WEFT_TIMEOUT", "-5", 1);
    setenv("WEFT_DEVICE_WAIT_MAX", "5000000000", 1);
    setenv("WEFT_UNEXPECTED_MAX", "64Q", 1);
    setenv("WEFT_CHECK_ARGS", "perhaps", 1);
    weft_config_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
