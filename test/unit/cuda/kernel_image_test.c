/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_image.h"
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_CUDA
static const bool is_built = true;
#else
static const bool is_built = false;
#endif

static void image_is_there_if_nvcc_was(void **state)
{
    static const unsigned char begins[] = {0x50, 0xed, 0x55, 0xba}; /* of every fatbin */
    (void)state;
    assert_int_equal(weft_fatbin_bytes > 0, is_built);
    if (!is_built)
        return;
    assert_int_equal((uintptr_t)weft_fatbin % 64, 0);
    assert_true(weft_fatbin_bytes > 1000);
    assert_memory_equal(weft_fatbin, begins, sizeof(begins));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_is_there_if_nvcc_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
