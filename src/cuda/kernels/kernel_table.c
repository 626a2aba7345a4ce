/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_table.h"

const char *const weft_kernel_names[WEFT_KERNEL_COUNT] = {
#define REDUCTION(op, machine, kernel)
#define KERNEL(name, bytes, is_dense) [WEFT_KERNEL_##name] = "weft_" #name,
#include "cuda/kernels/kernel_list.def"
};

const unsigned char weft_kernel_element_bytes[WEFT_KERNEL_COUNT] = {
#define REDUCTION(op, machine, kernel)
#define KERNEL(name, bytes, is_dense) [WEFT_KERNEL_##name] = bytes,
#include "cuda/kernels/kernel_list.def"
};

const unsigned char weft_kernel_is_dense[WEFT_KERNEL_COUNT] = {
#define REDUCTION(op, machine, kernel)
#define KERNEL(name, bytes, is_dense) [WEFT_KERNEL_##name] = is_dense,
#include "cuda/kernels/kernel_list.def"
};

static const unsigned char reductions[WEFT_OP_KINDS][WEFT_MACHINE_COUNT] = {
#define REDUCTION(op, machine, kernel)                                                             \
    [WEFT_OP_##op][WEFT_MACHINE_##machine] = WEFT_KERNEL_##kernel,
#define KERNEL(name, bytes, is_dense)
#include "cuda/kernels/kernel_list.def"
};
_Static_assert(WEFT_KERNEL_COUNT <= 256, "the numbers of kernels do not fit the table");

weft_kernel_t weft_reduce_kernel(const weft_op_t *op, const weft_type_t *type)
{
    if ((op->groups & type->group) == 0 || type->machine == WEFT_NO_MACHINE)
        return WEFT_NO_KERNEL;
    const unsigned char kernel = reductions[op->kind][type->machine];
    return kernel != WEFT_NO_KERNEL ? kernel : reductions[op->kind][weft_op_folded[type->machine]];
}

static const unsigned char multicasts[WEFT_KERNEL_COUNT] = {
#define MULTICAST(op, machine, width, instruction)                                                 \
    [WEFT_KERNEL_reduce_##op##_##machine] = WEFT_KERNEL_multicast_##op##_##machine,
    WEFT_MULTICASTS(MULTICAST)};

static bool is_bitwise(const weft_op_t *op)
{
    return op->kind == WEFT_OP_band || op->kind == WEFT_OP_bor || op->kind == WEFT_OP_bxor;
}

weft_kernel_t weft_multicast_kernel(const weft_op_t *op, const weft_type_t *type)
{
    weft_kernel_t kernel = weft_reduce_kernel(op, type);
    if (kernel != WEFT_NO_KERNEL && is_bitwise(op))
        kernel = reductions[op->kind][WEFT_MACHINE_U64];
    return multicasts[kernel];
}
