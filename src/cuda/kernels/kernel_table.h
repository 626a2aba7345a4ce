/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels by number and name, and the kernel that does a given reduction. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_TABLE_H
#define WEFT_CUDA_KERNELS_KERNEL_TABLE_H

#include "cuda/kernels/multicast_list.h"
#include "datatype/op.h"
#include "datatype/type.h"

#include <stddef.h>

/** The numbers of kernels, for tables of what the driver returned. */
typedef enum weft_kernel {
    WEFT_NO_KERNEL,
#define REDUCTION(op, machine, kernel)
#define KERNEL(name, bytes, is_dense) WEFT_KERNEL_##name,
#include "cuda/kernels/kernel_list.def"
    WEFT_KERNEL_COUNT
} weft_kernel_t;

/** The names for cuModuleGetFunction(); NULL for WEFT_NO_KERNEL. */
extern const char *const weft_kernel_names[WEFT_KERNEL_COUNT];

/** For a reduction: the bytes of an element, which its arguments count; and whether elements have
 * no gaps, so that they can be taken 16 bytes at a time. 0 for other kernels. */
extern const unsigned char weft_kernel_element_bytes[WEFT_KERNEL_COUNT];
extern const unsigned char weft_kernel_is_dense[WEFT_KERNEL_COUNT];

/** The kernel of a predefined operation on a predefined type. WEFT_NO_KERNEL when devices have no
 * such machine type (long double, 16-byte floats), or when weft_op_kernel() has no kernel for it.
 * An element of `type` may be several elements of the kernel: `count` bytes. */
weft_kernel_t weft_reduce_kernel(const weft_op_t *op, const weft_type_t *type);

/** The kernel by which a switch does the reduction (multicast.cuh); WEFT_NO_KERNEL if it cannot. */
weft_kernel_t weft_multicast_kernel(const weft_op_t *op, const weft_type_t *type);

/** The kernel that exchanges the operands of a reduction with other devices and then reduces
 * them. */
static inline weft_kernel_t weft_exchange_kernel(weft_kernel_t reduction)
{
    return (weft_kernel_t)(reduction + 1);
}

#endif
