/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_arches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void compiled_code_runs_on_later_minor_versions(void **state)
{
    (void)state;
    assert_int_equal(weft_kernel_fit_of("80 90", 0, 80), WEFT_KERNELS_COMPILED);
    assert_int_equal(weft_kernel_fit_of("80 90", 0, 87), WEFT_KERNELS_COMPILED);
    assert_int_equal(weft_kernel_fit_of("86", 0, 80), WEFT_KERNELS_NONE);
    assert_int_equal(weft_kernel_fit_of("80 90", 0, 100), WEFT_KERNELS_NONE);
    assert_int_equal(weft_kernel_fit_of("75 100 120", 0, 121), WEFT_KERNELS_COMPILED);
}

static void ptx_runs_on_all_later_ones(void **state)
{
    (void)state;
    assert_int_equal(weft_kernel_fit_of("75 80", 75, 130), WEFT_KERNELS_PTX);
    assert_int_equal(weft_kernel_fit_of("75 80", 75, 70), WEFT_KERNELS_NONE);
    assert_int_equal(weft_kernel_fit_of("75 80", 75, 80), WEFT_KERNELS_COMPILED);
}

static void none_and_native(void **state)
{
    (void)state;
    assert_int_equal(weft_kernel_fit_of("", 0, 90), WEFT_KERNELS_NONE);
    assert_int_equal(weft_kernel_fit_of("native", 0, 90), WEFT_KERNELS_NATIVE);
}

/* The kernels must be compiled, or be PTX, for an architecture that has multicast. */
static void multicast_is_of_90_and_later(void **state)
{
    (void)state;
    assert_true(weft_kernel_multicasts_of("80 90", 0, 90));
    assert_true(weft_kernel_multicasts_of("80", 90, 100));
    assert_true(weft_kernel_multicasts_of("native", 0, 90));
    assert_false(weft_kernel_multicasts_of("80 90", 80, 86));
    assert_false(weft_kernel_multicasts_of("80", 80, 90));
    assert_false(weft_kernel_multicasts_of("native", 0, 80));
    assert_false(weft_kernel_multicasts_of("", 0, 90));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_code_runs_on_later_minor_versions),
        cmocka_unit_test(ptx_runs_on_all_later_ones),
        cmocka_unit_test(none_and_native),
        cmocka_unit_test(multicast_is_of_90_and_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
