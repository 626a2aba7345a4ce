/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction operations (MPI 5.0, sections 6.9.5 to 6.9.7). */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "mpi/leaks.h"
#include "mpi/local_reduction.h"
#include "datatype/op.h"
#include "object/int_handles.h"
#include "base/fail.h"

static int create_op(const weft_op_t *functions, int commute, bool is_given, MPI_Op *op)
{
    weft_call_t call = weft_call_begin("MPI_Op_create");
    weft_op_t *created;
    int err = weft_check_output(op, "op");
    if (err == MPI_SUCCESS && !is_given)
        err = weft_fail(MPI_ERR_ARG, "user_fn is NULL");
    if (err == MPI_SUCCESS)
        err = weft_op_create(functions->user, functions->user_c, commute != 0, &created);
    if (err == MPI_SUCCESS)
        *op = weft_op_handle(created);
    if (err == MPI_SUCCESS)
        weft_note_given(WEFT_KIND_OP, *op, call.name);
    return weft_call_end(&call, err);
}

/** Makes an operation for reductions out of a function of the program (section 6.9.5). The function
 *  gets (invec, inoutvec, len, datatype), and for each of the *len elements sets inoutvec[i] to
 *  invec[i] op inoutvec[i]; the operation must be associative. The function of MPI_Op_create_c gets
 *  a count of MPI_Count.
 *  @param[in] user_fn  called with host memory, also when the operands are in device memory, and
 *      with parts of the operands in any number; it must not communicate
 *  @param[in] commute  not 0: the operation is commutative; 0: operands are taken in the order of
 *      ranks
 *  @param[out] op  the new operation, to be freed with MPI_Op_free
 *  @error MPI_ERR_ARG  user_fn is NULL
 *  @note The function may call MPI functions that do not communicate, for example
 *      MPI_Type_get_extent.
 *  @see MPI_Op_free, MPI_Reduce, MPI_Allreduce */
WEFT_API(MPI_Op_create);
int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    return create_op(&(weft_op_t){.user = user_fn}, commute, user_fn != NULL, op);
}

WEFT_API(MPI_Op_create_c);
int PMPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    return create_op(&(weft_op_t){.user_c = user_fn}, commute, user_fn != NULL, op);
}

static int free_op(MPI_Op *handle)
{
    weft_op_t *op;
    int err = weft_check_op(*handle, &op);
    if (err != MPI_SUCCESS)
        return err;
    if (op->is_predefined)
        return weft_fail(MPI_ERR_OP, "op is %s, which is predefined", op->name);
    weft_note_back(*handle);
    weft_op_release(op);
    *handle = MPI_OP_NULL;
    return MPI_SUCCESS;
}

/** Frees an operation that MPI_Op_create has made (section 6.9.5). Reductions that have begun still
 *  use it.
 *  @param[in,out] op  becomes MPI_OP_NULL
 *  @error MPI_ERR_OP  op is predefined, or no operation
 *  @see MPI_Op_create */
WEFT_API(MPI_Op_free);
int PMPI_Op_free(MPI_Op *op)
{
    weft_call_t call = weft_call_begin("MPI_Op_free");
    int err = weft_check_output(op, "op");
    if (err == MPI_SUCCESS)
        err = free_op(op);
    return weft_call_end(&call, err);
}

/** Tells whether an operation is commutative (section 6.9.5). All predefined operations are.
 *  @see MPI_Op_create */
WEFT_API(MPI_Op_commutative);
int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    weft_call_t call = weft_call_begin("MPI_Op_commutative");
    weft_op_t *checked;
    int err = weft_check_op(op, &checked);
    if (err == MPI_SUCCESS)
        err = weft_check_output(commute, "commute");
    if (err == MPI_SUCCESS)
        *commute = checked->is_commutative;
    return weft_call_end(&call, err);
}

static int check_reduction(MPI_Op handle, MPI_Datatype datatype, MPI_Count count, weft_op_t **op,
                           weft_type_t **type)
{
    int err = weft_check_count(count, "count");
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(datatype, "datatype", type);
    if (err == MPI_SUCCESS)
        err = weft_check_op(handle, op);
    return err == MPI_SUCCESS ? weft_op_check(*op, *type) : err;
}

/** Combines two vectors of this process, element by element: inoutbuf[i] becomes inbuf[i] op
 *  inoutbuf[i] (section 6.9.7). Nothing is communicated.
 *  @param[in] inbuf  the first operands; not MPI_IN_PLACE
 *  @param[in,out] inoutbuf  the second operands, which the results replace; the buffers must not
 *      overlap
 *  @param[in] count  elements of each vector
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @note Vectors on one device are combined there by a kernel, if it has one for the operation;
 *      else copies of them are, on the host.
 *  @see MPI_Reduce, MPI_Op_create */
WEFT_API(MPI_Reduce_local_c);
int PMPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op)
{
    weft_call_t call = weft_call_begin("MPI_Reduce_local");
    weft_op_t *checked_op = NULL;
    weft_type_t *type = NULL;
    int err = check_reduction(op, datatype, count, &checked_op, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(inbuf, count, type, "inbuf");
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(inoutbuf, count, type, "inoutbuf");
    if (err == MPI_SUCCESS && count > 0)
        err = weft_reduce_local(
            &(weft_local_reduction_t){checked_op, type, inbuf, inoutbuf, (size_t)count});
    return weft_call_end(&call, err);
}

/** Gives an integer that stands for an operation, for other languages (section 20.4). It is the
 *  same each time, as long as the operation lives. May be called at any time; what is no operation
 *  gives the number of MPI_OP_NULL.
 *  @see MPI_Op_fromint */
WEFT_API(MPI_Op_toint);
int PMPI_Op_toint(MPI_Op op)
{
    if (weft_is_predefined(op))
        return (int)(intptr_t)op;
    weft_op_t *found = weft_op_of(op);
    if (found == NULL)
        return (int)(intptr_t)MPI_OP_NULL;
    weft_lock();
    if (found->index == 0)
        found->index = weft_int_handles_add(&weft_op_int_handles, found);
    weft_unlock();
    return found->index;
}

/** Gives the operation for which MPI_Op_toint gave an integer (section 20.4). May be called at any
 *  time; a number that no operation has gives MPI_OP_NULL.
 *  @see MPI_Op_toint */
WEFT_API(MPI_Op_fromint);
MPI_Op PMPI_Op_fromint(int op)
{
    if (op >= 0 && op < WEFT_PREDEFINED_HANDLES)
        return (MPI_Op)(intptr_t)op;
    weft_lock();
    weft_op_t *found = weft_int_handles_find(&weft_op_int_handles, op);
    weft_unlock();
    return found == NULL ? MPI_OP_NULL : weft_op_handle(found);
}
