/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/op.h"

#include "datatype/op_kernels_private.h"
#include "datatype/pack.h"
#include "object/int_handles.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

#include <limits.h>

static weft_pool_t pool = WEFT_POOL(weft_op_t);

#define PREDEFINED(symbol, label, taken_groups)                                                    \
    static weft_op_t op_##symbol = {                                                               \
        .object = {.kind = WEFT_KIND_OP, .references = 1},                                         \
        .is_commutative = true,                                                                    \
        .is_predefined = true,                                                                     \
        .kind = WEFT_OP_##symbol,                                                                  \
        .groups = taken_groups,                                                                    \
        .handle = MPI_##label,                                                                     \
        .name = "MPI_" #label,                                                                     \
    };
WEFT_OPS(PREDEFINED)
PREDEFINED(replace, REPLACE, 0)
PREDEFINED(no_op, NO_OP, 0)

weft_op_t *const weft_op_table[WEFT_OP_HANDLES] = {
#define ENTRY(symbol, label, ...) [(uintptr_t)(MPI_##label)] = &op_##symbol,
    WEFT_OPS(ENTRY) ENTRY(replace, REPLACE) ENTRY(no_op, NO_OP)};

const unsigned char weft_op_folded[WEFT_MACHINE_COUNT] = {
#define FOLD(from, to) [WEFT_MACHINE_##from] = WEFT_MACHINE_##to,
    WEFT_FOLDS(FOLD)};

int weft_op_create(MPI_User_function *user, MPI_User_function_c *user_c, bool is_commutative,
                   weft_op_t **out)
{
    weft_op_t *op = weft_pool_take(&pool);
    if (op == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an operation");
    *op = (weft_op_t){.is_commutative = is_commutative,
                      .kind = WEFT_OP_user,
                      .handle = (MPI_Op)(void *)op,
                      .user = user,
                      .user_c = user_c};
    weft_object_init(&op->object, WEFT_KIND_OP);
    *out = op;
    return MPI_SUCCESS;
}

void weft_op_destroy(weft_op_t *op)
{
    if (op->index != 0)
        weft_int_handles_remove(&weft_op_int_handles, op->index);
    op->object.kind = WEFT_FREED;
    weft_pool_give(&pool, op);
}

void weft_ops_close(void)
{
    weft_int_handles_close(&weft_op_int_handles);
    weft_pool_close(&pool);
}

static weft_reduce3_fn_t kernel3_of(const weft_op_kernels_t *kernels, const weft_op_t *op,
                                    const weft_type_t *type)
{
    if ((op->groups & type->group) == 0)
        return NULL;
    weft_reduce3_fn_t kernel = kernels->three[op->kind][type->machine];
    return kernel != NULL ? kernel : kernels->three[op->kind][weft_op_folded[type->machine]];
}

weft_reduce3_fn_t weft_op_kernel3(const weft_op_t *op, const weft_type_t *type)
{
    return kernel3_of(weft_op_kernels, op, type);
}

weft_reduce3_fn_t weft_op_kernel3_between_cores(const weft_op_t *op, const weft_type_t *type)
{
    return kernel3_of(weft_op_kernels_between_cores, op, type);
}

weft_reduce_fn_t weft_op_kernel(const weft_op_t *op, const weft_type_t *type)
{
    if ((op->groups & type->group) == 0)
        return NULL;
    weft_reduce_fn_t kernel = weft_op_kernels->two[op->kind][type->machine];
    return kernel != NULL ? kernel : weft_op_kernels->two[op->kind][weft_op_folded[type->machine]];
}

int weft_op_check(const weft_op_t *op, const weft_type_t *type)
{
    if (op->kind == WEFT_OP_user || weft_op_kernel(op, type) != NULL)
        return MPI_SUCCESS;
    if (op->kind > WEFT_OP_KINDS)
        return weft_fail(MPI_ERR_OP, "%s is for one-sided communication only", op->name);
    if (!type->is_predefined)
        return weft_fail(MPI_ERR_OP, "%s does not take derived datatypes", op->name);
    return weft_fail(MPI_ERR_OP, "%s does not take %s", op->name, type->name);
}

/* The user's function may change the variables behind its pointers, so it gets copies. */
static void call_user(const weft_op_t *op, const weft_type_t *type, const weft_operands_t *operands)
{
    MPI_Datatype handle = weft_type_handle(type);
    MPI_Count count = (MPI_Count)operands->count;
    op->user_c((void *)operands->a, operands->out, &count, &handle);
}

static void call_int_user(const weft_op_t *op, const weft_type_t *type,
                          const weft_operands_t *operands)
{
    for (size_t done = 0; done < operands->count;) {
        size_t left = operands->count - done;
        int count = left < INT_MAX ? (int)left : INT_MAX;
        MPI_Datatype handle = weft_type_handle(type);
        ptrdiff_t offset = (ptrdiff_t)done * type->extent;
        done += (size_t)count;
        op->user((char *)operands->a + offset, (char *)operands->out + offset, &count, &handle);
    }
}

/* out = a op out, for operations without a kernel. */
static void apply_slowly(const weft_op_t *op, const weft_type_t *type,
                         const weft_operands_t *operands)
{
    size_t count = operands->count;
    if (op->kind == WEFT_OP_replace)
        weft_copy_typed(operands->a, count, type, operands->out, count, type);
    else if (op->kind == WEFT_OP_user && op->user != NULL)
        call_int_user(op, type, operands);
    else if (op->kind == WEFT_OP_user)
        call_user(op, type, operands);
}

void weft_op_apply(const weft_op_t *op, const weft_type_t *type, const void *in, void *inout,
                   size_t count)
{
    weft_reduce_fn_t kernel = weft_op_kernel(op, type);
    if (kernel != NULL)
        kernel(in, inout, count);
    else
        apply_slowly(op, type, &(weft_operands_t){in, inout, inout, count});
}

/* For the case that out is a and the operands cannot be exchanged: the function writes to its right
 * operand, which must then be a copy of b. */
static int combine_through_copy(const weft_op_t *op, const weft_type_t *type,
                                const weft_operands_t *operands)
{
    size_t count = operands->count;
    ptrdiff_t low, high;
    if (count == 0 || type->size == 0)
        return MPI_SUCCESS;
    weft_type_room(type, count, &low, &high);
    low &= -(ptrdiff_t)64; /* the copy is aligned as memory from the heap is */
    char *memory = weft_alloc((size_t)(high - low));
    if (memory == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %td bytes of operands", high - low);
    char *copy = memory - low;
    weft_copy_typed(operands->b, count, type, copy, count, type);
    weft_op_apply(op, type, operands->a, copy, count);
    weft_copy_typed(copy, count, type, operands->out, count, type);
    weft_free(memory);
    return MPI_SUCCESS;
}

int weft_op_combine(const weft_op_t *op, const weft_type_t *type, const weft_operands_t *operands)
{
    weft_reduce3_fn_t kernel = weft_op_kernel3(op, type);
    size_t count = operands->count;
    if (kernel != NULL) {
        kernel(operands->a, operands->b, operands->out, count);
        return MPI_SUCCESS;
    }
    if (operands->out == operands->a && operands->a != operands->b) {
        if (!op->is_commutative || op->kind != WEFT_OP_user)
            return combine_through_copy(op, type, operands);
        weft_op_apply(op, type, operands->b, operands->out, count);
        return MPI_SUCCESS;
    }
    if (operands->out != operands->b)
        weft_copy_typed(operands->b, count, type, operands->out, count, type);
    weft_op_apply(op, type, operands->a, operands->out, count);
    return MPI_SUCCESS;
}
