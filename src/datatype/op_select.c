/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/op_kernels_private.h"

const weft_op_kernels_t *const weft_op_sets[WEFT_SIMD_SETS] = {
    [WEFT_SIMD_BASE] = &weft_op_kernels_base,
#ifdef __x86_64__
    [WEFT_SIMD_AVX2] = &weft_op_kernels_avx2,
    [WEFT_SIMD_AVX512] = &weft_op_kernels_avx512,
#endif
};

const weft_op_kernels_t *weft_op_kernels = &weft_op_kernels_base,
                        *weft_op_kernels_between_cores = &weft_op_kernels_base;

void weft_op_select(weft_simd_t set)
{
    weft_op_kernels = weft_op_sets[set];
    weft_op_kernels_between_cores = weft_op_sets[weft_simd_between_cores(set)];
}
