/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions (MPI 5.0, sections 6.9 to 6.12). Of the sides of a weft_coll_call_t, send has only the
 * buffer, and recv has the count and the type of both.
 */
#include "mpi/api.h"

#include "mpi/coll_call.h"
#include "base/fail.h"

/* ---- checks ---- */

/* A predefined operation has kernels for all types of its groups. */
static WEFT_COLL_INLINE int check_op(const weft_op_t *op, MPI_Op handle, const weft_type_t *type)
{
    weft_op_t *unused;
    if (__builtin_expect(op == NULL, 0))
        return weft_check_op(handle, &unused);
    return __builtin_expect((op->groups & type->group) != 0, 1) ? MPI_SUCCESS
                                                                : weft_op_check(op, type);
}

/* Check count, type and operation, which are the same on all ranks. */
static WEFT_COLL_INLINE int check_operation(const weft_coll_call_t *user,
                                            const weft_coll_args_t *args, const char *count_name)
{
    int err = weft_check_count(user->recv.count, count_name);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        return err;
    if (__builtin_expect(args->recv_type == NULL, 0))
        return weft_bad_type(user->recv.type, "datatype");
    if (__builtin_expect(!args->recv_type->is_committed, 0))
        return weft_unusable_type(args->recv_type, 1, "datatype");
    return check_op(args->op, user->op, args->recv_type);
}

/* Check operand and result on a rank that has both; the operand has `count` elements. */
static WEFT_COLL_INLINE int check_buffers(const weft_coll_args_t *args, MPI_Count count)
{
    const void *in = args->send_buf, *out = args->recv_buf;
    if (__builtin_expect(in == out, 0) && count > 0 && args->recv_type->size > 0 &&
        in != MPI_BOTTOM)
        return out == MPI_IN_PLACE ? weft_bad_in_place("recvbuf") : weft_bad_alias();
    int err = weft_check_place(out, count, args->recv_type, "recvbuf");
    if (__builtin_expect(err != MPI_SUCCESS, 0) || in == MPI_IN_PLACE)
        return err;
    return weft_check_buffer(in, count, args->recv_type, "sendbuf");
}

/* ---- reduce ---- */

/* Only the root has a result, and its operand may be in the result's place. */
static WEFT_COLL_INLINE int settle_reduce(weft_coll_call_t *user, weft_comm_t *comm,
                                          weft_coll_args_t *args)
{
    if (comm->rank != user->root)
        user->recv.buf = NULL;
    weft_coll_fill(user, comm, args);
    if (!weft_config.CHECK_ARGS)
        return MPI_SUCCESS;
    int err = weft_check_root(comm, user->root);
    if (err == MPI_SUCCESS)
        err = check_operation(user, args, "count");
    if (err != MPI_SUCCESS)
        return err;
    if (comm->rank == user->root)
        return check_buffers(args, user->recv.count);
    return weft_check_place(args->send_buf, user->recv.count, args->recv_type, "sendbuf");
}

const weft_settle_fn_t weft_settle_reduce = settle_reduce;

/** Combines the operands of all ranks, element by element, into a result at the root
 *  (section 6.9.1). On an intercommunicator the operands are those of the other group. An operation
 *  that does not commute is applied in the order of ranks.
 *  @param[in] sendbuf  count elements; MPI_IN_PLACE at the root: its operand is in recvbuf
 *  @param[out] recvbuf  at the root the result, count elements; elsewhere not looked at
 *  @param[in] count  the same on all ranks
 *  @param[in] root  the rank that gets the result; on an intercommunicator MPI_ROOT at the root,
 *      MPI_PROC_NULL at the other ranks of its group, and the rank of the root in the other group
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed at another rank than the root, for recvbuf, or on
 *      an intercommunicator; or sendbuf and recvbuf are the same at the root
 *  @error MPI_ERR_TRUNCATE  another rank has passed a larger count; this is not always noticed
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Allreduce, MPI_Op_create, MPI_Reduce_scatter */
WEFT_API(MPI_Reduce_c);
int PMPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_REDUCE,
                                               .name = "MPI_Reduce",
                                               .comm = comm,
                                               .root = root,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, count, datatype),
                                               .op = op},
                           settle_reduce);
}

/* ---- allreduce and scan ---- */

static WEFT_COLL_INLINE int settle_allreduce(weft_coll_call_t *user, weft_comm_t *comm,
                                             weft_coll_args_t *args)
{
    weft_coll_fill(user, comm, args);
    if (__builtin_expect(!weft_config.CHECK_ARGS, 0))
        return MPI_SUCCESS;
    int err = check_operation(user, args, "count");
    return __builtin_expect(err == MPI_SUCCESS, 1) ? check_buffers(args, user->recv.count) : err;
}

const weft_settle_fn_t weft_settle_allreduce = settle_allreduce;

/** Combines the operands of all ranks, element by element, and gives all ranks the result
 *  (section 6.9.6). On an intercommunicator each group gets the result of the operands of the
 *  other. An operation that does not commute is applied in the order of ranks.
 *  @param[in] sendbuf  count elements; MPI_IN_PLACE on all ranks: the operand is in recvbuf; not on
 *      an intercommunicator
 *  @param[out] recvbuf  the result, count elements
 *  @param[in] count  the same on all ranks
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator; or
 *      sendbuf and recvbuf are the same
 *  @error MPI_ERR_TRUNCATE  another rank has passed a larger count; this is not always noticed
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The buffers may be device memory; kernels combine what is there, except for operations of
 *      the program, which run on the host. All ranks get the same bits.
 *  @see MPI_Reduce, MPI_Scan, MPIX_Allreduce_enqueue */
WEFT_API(MPI_Allreduce_c);
int PMPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLREDUCE,
                                               .name = "MPI_Allreduce",
                                               .comm = comm,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, count, datatype),
                                               .op = op},
                           settle_allreduce);
}

/** Puts an MPI_Allreduce into the CUDA stream of comm, and returns at once (mpix.h). It begins when
 *  the stream has done what was put into it before, and the stream goes on when it is over; the
 *  buffers must not be touched in between. op may be freed at once.
 *  @copydoc MPI_Allreduce
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note Errors of the operation are reported as for MPIX_Barrier_enqueue.
 *  @see MPI_Allreduce, MPIX_Stream_comm_create */
WEFT_API(MPIX_Allreduce_enqueue);
int PMPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLREDUCE,
                                               .name = "MPIX_Allreduce_enqueue",
                                               .comm = comm,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, count, datatype),
                                               .op = op,
                                               .form = WEFT_ENQUEUED},
                           settle_allreduce);
}

/** Gives each rank the combination of the operands of the ranks up to itself, its own among them
 *  (section 6.11.1). The operation is applied in the order of ranks. There are no scans on
 *  intercommunicators.
 *  @param[in] sendbuf  count elements; MPI_IN_PLACE on all ranks: the operand is in recvbuf
 *  @param[out] recvbuf  the result, count elements
 *  @param[in] count  the same on all ranks
 *  @error MPI_ERR_COMM  comm is no communicator, or an intercommunicator
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @error MPI_ERR_BUFFER  recvbuf is MPI_IN_PLACE, or sendbuf and recvbuf are the same
 *  @error MPI_ERR_TRUNCATE  another rank has passed a larger count; this is not always noticed
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Exscan, MPI_Allreduce */
WEFT_API(MPI_Scan_c);
int PMPI_Scan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_SCAN,
                                               .name = "MPI_Scan",
                                               .comm = comm,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, count, datatype),
                                               .op = op},
                           settle_allreduce);
}

/* Rank 0 gets no result: its recvbuf matters only when it holds the operand. */
static WEFT_COLL_INLINE int settle_exscan(weft_coll_call_t *user, weft_comm_t *comm,
                                          weft_coll_args_t *args)
{
    if (comm->rank > 0 || user->send.buf == MPI_IN_PLACE || !weft_config.CHECK_ARGS)
        return settle_allreduce(user, comm, args);
    weft_coll_fill(user, comm, args);
    int err = check_operation(user, args, "count");
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(args->send_buf, user->recv.count, args->recv_type, "sendbuf");
    return err;
}

const weft_settle_fn_t weft_settle_exscan = settle_exscan;

/** Gives each rank the combination of the operands of the ranks before it (section 6.11.2). Rank 0
 *  gets no result, and rank 1 the operand of rank 0. There are no scans on intercommunicators.
 *  @copydoc MPI_Scan
 *  @param[out] recvbuf  the result, count elements; at rank 0 it is looked at only if it has the
 *      operand
 *  @see MPI_Scan */
WEFT_API(MPI_Exscan_c);
int PMPI_Exscan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_EXSCAN,
                                               .name = "MPI_Exscan",
                                               .comm = comm,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, count, datatype),
                                               .op = op},
                           settle_exscan);
}

/* ---- reduce_scatter ---- */

static WEFT_COLL_INLINE int settle_reduce_scatter_block(weft_coll_call_t *user, weft_comm_t *comm,
                                                        weft_coll_args_t *args)
{
    weft_coll_fill(user, comm, args);
    if (!weft_config.CHECK_ARGS)
        return MPI_SUCCESS;
    int err = check_operation(user, args, "recvcount");
    return err == MPI_SUCCESS ? check_buffers(args, user->recv.count) : err;
}

const weft_settle_fn_t weft_settle_reduce_scatter_block = settle_reduce_scatter_block;

/** Combines the operands of all ranks, element by element, and gives each rank one block of the
 *  result (section 6.10.1). All blocks have the same length. On an intercommunicator each group
 *  shares the result of the operands of the other.
 *  @param[in] sendbuf  recvcount elements for each rank (on an intercommunicator, of the own
 *      group); MPI_IN_PLACE on all ranks: the operand is in recvbuf, which is as long as the
 *      operand then; not on an intercommunicator
 *  @param[out] recvbuf  this rank's block, recvcount elements
 *  @param[in] recvcount  the elements of one block, the same on all ranks (of a group)
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator; or
 *      sendbuf and recvbuf are the same
 *  @error MPI_ERR_TRUNCATE  another rank has passed a larger count; this is not always noticed
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Reduce_scatter, MPI_Allreduce */
WEFT_API(MPI_Reduce_scatter_block_c);
int PMPI_Reduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_REDUCE_SCATTER_BLOCK,
                                               .name = "MPI_Reduce_scatter_block",
                                               .comm = comm,
                                               .send = {.buf = sendbuf},
                                               .recv = weft_block(recvbuf, recvcount, datatype),
                                               .op = op},
                           settle_reduce_scatter_block);
}

static WEFT_COLL_INLINE int settle_reduce_scatter(weft_coll_call_t *user, weft_comm_t *comm,
                                                  weft_coll_args_t *args)
{
    MPI_Count total = 0;
    weft_coll_fill(user, comm, args);
    if (!weft_config.CHECK_ARGS)
        return MPI_SUCCESS;
    int err = weft_check_recvcounts(user->recv.counts, comm->size, &total);
    if (err == MPI_SUCCESS)
        err = check_operation(user, args, "recvcounts");
    if (err != MPI_SUCCESS)
        return err;
    /* A rank that gets no elements needs no buffer for them. */
    if (args->send_buf != MPI_IN_PLACE && weft_count_at(args->recv_counts, (size_t)comm->rank) == 0)
        return weft_check_buffer(args->send_buf, total, args->recv_type, "sendbuf");
    return check_buffers(args, total);
}

const weft_settle_fn_t weft_settle_reduce_scatter = settle_reduce_scatter;

/** Combines the operands of all ranks, element by element, and gives each rank its block of the
 *  result; the blocks may have different lengths (section 6.10.2). On an intercommunicator each
 *  group shares the result of the operands of the other.
 *  @param[in] sendbuf  as many elements as recvcounts has together; MPI_IN_PLACE on all ranks: the
 *      operand is in recvbuf, which is as long as the operand then; not on an intercommunicator
 *  @param[out] recvbuf  this rank's block; may be NULL if that has no elements and sendbuf is not
 *      MPI_IN_PLACE
 *  @param[in] recvcounts  the elements of the block of each rank (on an intercommunicator, of the
 *      own group), the same on all ranks
 *  @error MPI_ERR_OP  a predefined operation does not take datatype (none takes a derived one), or
 *      op is MPI_REPLACE or MPI_NO_OP
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator; or
 *      sendbuf and recvbuf are the same
 *  @error MPI_ERR_TRUNCATE  another rank has passed a larger count; this is not always noticed
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The array of MPI_Ireduce_scatter must not be changed until the request is complete, that
 *      of MPI_Reduce_scatter_init until it is freed.
 *  @see MPI_Reduce_scatter_block, MPI_Reduce */
WEFT_API(MPI_Reduce_scatter);
int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_REDUCE_SCATTER,
                            .name = "MPI_Reduce_scatter",
                            .comm = comm,
                            .send = {.buf = sendbuf},
                            .recv = weft_slices(recvbuf, recvcounts, NULL, datatype),
                            .op = op},
        settle_reduce_scatter);
}

WEFT_API(MPI_Reduce_scatter_c);
int PMPI_Reduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_REDUCE_SCATTER,
                            .name = "MPI_Reduce_scatter",
                            .comm = comm,
                            .send = {.buf = sendbuf},
                            .recv = weft_slices_c(recvbuf, recvcounts, NULL, datatype),
                            .op = op},
        settle_reduce_scatter);
}

/** Puts an MPI_Reduce_scatter into the CUDA stream of comm, and returns at once (mpix.h). It begins
 *  when the stream has done what was put into it before, and the stream goes on when it is over;
 *  the buffers must not be touched in between. recvcounts may be changed, and op freed, at once.
 *  @copydoc MPI_Reduce_scatter
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note Errors of the operation are reported as for MPIX_Barrier_enqueue.
 *  @see MPI_Reduce_scatter, MPIX_Stream_comm_create */
WEFT_API(MPIX_Reduce_scatter_enqueue);
int PMPIX_Reduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_REDUCE_SCATTER,
                            .name = "MPIX_Reduce_scatter_enqueue",
                            .comm = comm,
                            .send = {.buf = sendbuf},
                            .recv = weft_slices(recvbuf, recvcounts, NULL, datatype),
                            .op = op,
                            .form = WEFT_ENQUEUED},
        settle_reduce_scatter);
}
