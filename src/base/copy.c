/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/copy.h"

const weft_copy_fn_t weft_copy_kernels[WEFT_SIMD_SETS] = {
    [WEFT_SIMD_BASE] = weft_copy_base,
#ifdef __x86_64__
    [WEFT_SIMD_AVX2] = weft_copy_avx2,
    [WEFT_SIMD_AVX512] = weft_copy_avx512,
#endif
};

weft_copy_fn_t weft_copy_long = weft_copy_base;

void weft_copy_select(weft_simd_t set)
{
    weft_copy_long = weft_copy_kernels[set];
}
