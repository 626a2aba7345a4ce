/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of kernels, one for each instruction set, for which op_kernels.c is compiled once. */
#ifndef WEFT_DATATYPE_OP_KERNELS_PRIVATE_H
#define WEFT_DATATYPE_OP_KERNELS_PRIVATE_H

#include "datatype/op.h"

#include <stdbool.h>

/** By operation and machine type; NULL: the operation takes no such type, or see weft_op_folded. */
typedef struct weft_op_kernels {
    weft_reduce_fn_t two[WEFT_OP_KINDS][WEFT_MACHINE_COUNT];
    weft_reduce3_fn_t three[WEFT_OP_KINDS][WEFT_MACHINE_COUNT];
} weft_op_kernels_t;

extern const weft_op_kernels_t weft_op_kernels_base, weft_op_kernels_avx2, weft_op_kernels_avx512;

/** By weft_simd_t; NULL: not compiled for this architecture. */
extern const weft_op_kernels_t *const weft_op_sets[WEFT_SIMD_SETS];

/** The kernels in force; and those for operands that other cores have just written. */
extern const weft_op_kernels_t *weft_op_kernels, *weft_op_kernels_between_cores;

#endif
