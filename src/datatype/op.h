/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction operations (MPI 5.0, section 6.9): the object, the predefined ones, and applying them.
 *
 * The bits of a result depend on the operands alone, not on the machine's instruction set: nothing
 * is reassociated or contracted, and MIN and MAX give NaN when one of the operands is NaN. (If both
 * are NaN, the result is either of them.) Products of complex numbers follow the textbook formula.
 */
#ifndef WEFT_DATATYPE_OP_H
#define WEFT_DATATYPE_OP_H

#include "datatype/op_list.h"
#include "datatype/type.h"
#include "object/object.h"
#include "base/simd.h"
#include "mpi.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** The type of an element to the kernels; MPI_INT, MPI_INT32_T and MPI_INTEGER are all I32. */
typedef enum weft_machine {
    WEFT_NO_MACHINE = 0,
#define WEFT_ENUMERATE(name, ctype, ...) WEFT_MACHINE_##name,
    WEFT_MACHINES(WEFT_ENUMERATE)
#undef WEFT_ENUMERATE
        WEFT_MACHINE_COUNT,
    WEFT_MACHINE_CHAR =
        CHAR_MIN < 0 ? WEFT_MACHINE_I8 : WEFT_MACHINE_U8, /* as the compiler has it */
} weft_machine_t;

/** The rows of the table of legal operations (MPI 5.0, section 6.9.2). Beyond it, MPI_CHAR counts
 * as a C integer, and types of several languages have logical operations. */
typedef enum weft_op_group {
    WEFT_GROUP_NONE = 0,
    WEFT_C_INTEGER = 1,
    WEFT_FORTRAN_INTEGER = 2,
    WEFT_FLOATING = 4,
    WEFT_LOGICAL = 8,
    WEFT_COMPLEX = 16,
    WEFT_BYTE = 32,
    WEFT_MULTI_LANGUAGE = 64,
    WEFT_PAIR = 128,
} weft_op_group_t;

typedef enum weft_op_kind {
#define WEFT_ENUMERATE(name, ...) WEFT_OP_##name,
    WEFT_OPS(WEFT_ENUMERATE)
#undef WEFT_ENUMERATE
        WEFT_OP_KINDS, /* the operations that have kernels end here */
    WEFT_OP_replace,   /* one-sided communication only */
    WEFT_OP_no_op,
    WEFT_OP_user,
} weft_op_kind_t;

typedef struct weft_op {
    weft_object_t object;
    bool is_commutative, is_predefined;
    unsigned char kind;   /* weft_op_kind_t */
    unsigned char groups; /* of weft_op_group_t: the types a predefined operation takes */
    MPI_Op handle;
    MPI_User_function *user; /* one of the two, when kind is WEFT_OP_user */
    MPI_User_function_c *user_c;
    int index;     /* in the table of MPI_Op_toint; 0: none yet */
    char name[16]; /* "MPI_SUM"; "" for the user's operations */
} weft_op_t;

enum { WEFT_OP_HANDLES = 64 };

/** The predefined operations by the value of their handle; NULL where there is none. */
extern weft_op_t *const weft_op_table[WEFT_OP_HANDLES];

/** The operation of a handle; NULL: MPI_OP_NULL, freed or no operation. */
static inline weft_op_t *weft_op_of(MPI_Op handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value < WEFT_OP_HANDLES)
        return weft_op_table[value];
    if (value < WEFT_PREDEFINED_HANDLES || value % 64 != 0)
        return NULL;
    weft_op_t *op = (weft_op_t *)(void *)handle;
    return op->object.kind == WEFT_KIND_OP ? op : NULL;
}

static inline MPI_Op weft_op_handle(const weft_op_t *op)
{
    return op->handle;
}

/** A user's operation, with one reference; exactly one function is given. MPI_ERR_NO_MEM. */
int weft_op_create(MPI_User_function *user, MPI_User_function_c *user_c, bool is_commutative,
                   weft_op_t **out);

/** Free the operation; for weft_op_release() only. */
void weft_op_destroy(weft_op_t *op);

static inline void weft_op_retain(weft_op_t *op)
{
    if (!op->is_predefined)
        weft_object_retain(&op->object);
}

static inline void weft_op_release(weft_op_t *op)
{
    if (!op->is_predefined && weft_object_drop(&op->object))
        weft_op_destroy(op);
}

/** May a collective or MPI_Reduce_local apply `op` to `type`? MPI_ERR_OP with a text. */
int weft_op_check(const weft_op_t *op, const weft_type_t *type);

/** The machine type whose kernels serve a machine type that has no kernels of its own. */
extern const unsigned char weft_op_folded[WEFT_MACHINE_COUNT];

/** inout[i] = in[i] op inout[i]; any alignment; the buffers are the same or do not overlap. */
typedef void (*weft_reduce_fn_t)(const void *in, void *inout, size_t count);

/** out[i] = a[i] op b[i]; `out` is a, b or does not overlap them. */
typedef void (*weft_reduce3_fn_t)(const void *a, const void *b, void *out, size_t count);

/** The kernel of a predefined operation on a predefined type; NULL when there is none (the user's
 *  operations, MPI_REPLACE, MPI_NO_OP, and all that weft_op_check() refuses). */
weft_reduce_fn_t weft_op_kernel(const weft_op_t *op, const weft_type_t *type);
weft_reduce3_fn_t weft_op_kernel3(const weft_op_t *op, const weft_type_t *type);

/** The same, for operands that other cores have just written (base/simd.h). */
weft_reduce3_fn_t weft_op_kernel3_between_cores(const weft_op_t *op, const weft_type_t *type);

/*
 * The following functions take what weft_op_check() allows, and MPI_REPLACE and MPI_NO_OP on any
 * committed type. Buffers hold `count` elements laid out as in the user's memory. A user's function
 * with int counts gets chunks of at most INT_MAX elements.
 */

/** inout = in op inout, element by element. */
void weft_op_apply(const weft_op_t *op, const weft_type_t *type, const void *in, void *inout,
                   size_t count);

/** The operands of out = a op b, each of `count` elements; out may be a or b. */
typedef struct weft_operands {
    const void *a, *b;
    void *out;
    size_t count;
} weft_operands_t;

/** out = a op b. MPI_ERR_NO_MEM only when out is a, and the operation is the user's and does not
 *  commute: `b` must then be copied. */
int weft_op_combine(const weft_op_t *op, const weft_type_t *type, const weft_operands_t *operands);

/** As weft_op_combine(), its arguments spread out. */
static inline int weft_op_apply3(const weft_op_t *op, const weft_type_t *type, const void *a,
                                 const void *b, void *out, size_t count)
{
    return weft_op_combine(op, type, &(weft_operands_t){a, b, out, count});
}

/** Use the kernels of an instruction set that is available; before, the baseline's are used. */
void weft_op_select(weft_simd_t set);

/** Free all operations, at the end of MPI. */
void weft_ops_close(void);

#endif
