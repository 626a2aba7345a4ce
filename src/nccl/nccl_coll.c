/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective in a stream: the operation of MPI, and beside it what only NCCL has. An operand is
 * scaled before (ncclRedOpCreatePreMulSum), a result is divided behind (ncclAvg), the root's block
 * of a broadcast is copied, and a reduce_scatter in place, which for MPI is none, gets its result
 * in other memory.
 */
#include "nccl/nccl_private.h"

#include "stream/enqueue.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "mpi.h"

static const weft_coll_t colls[] = {
    [NCCL_ALL_REDUCE] = WEFT_ALLREDUCE,
    [NCCL_BROADCAST] = WEFT_BCAST,
    [NCCL_REDUCE] = WEFT_REDUCE,
    [NCCL_ALL_GATHER] = WEFT_ALLGATHER,
    [NCCL_REDUCE_SCATTER] = WEFT_REDUCE_SCATTER_BLOCK,
    [NCCL_ALL_TO_ALL] = WEFT_ALLTOALL,
    [NCCL_GATHER] = WEFT_GATHER,
    [NCCL_SCATTER] = WEFT_SCATTER,
};

static size_t bytes_of(const nccl_call_t *call, size_t blocks)
{
    return blocks * call->count * call->type->size;
}

static bool is_root(const nccl_call_t *call)
{
    return call->comm->mpi->rank == call->peer;
}

/* The place of a block in a buffer with one for each rank. */
static const void *block_at(const nccl_call_t *call, const void *buf, int rank)
{
    return (const char *)buf + bytes_of(call, (size_t)rank);
}

/* ---- work in the stream; the lock is released meanwhile ---- */

static int put_copy(const nccl_call_t *call, void *to, const void *from, size_t bytes)
{
    weft_stream_t *stream = call->comm->lead;
    weft_unlock();
    int err = weft_device->streams->put_copy(stream->users, to, from, bytes);
    weft_lock();
    return err;
}

static int put_scaling(const nccl_call_t *call, void *to, const void *from, size_t count)
{
    weft_stream_t *stream = call->comm->lead;
    weft_scaling_t scaling = {.type = call->type,
                              .is_division = call->reduction.divides_last,
                              .count = count,
                              .from = from,
                              .to = to,
                              .factor_at = call->reduction.factor_at,
                              .factor = call->reduction.factor};
    weft_unlock();
    int err = weft_device->streams->put_scaling(stream->users, &scaling);
    weft_lock();
    return err;
}

/* ---- before ---- */

/* A rank that gets the whole result has room for its operand there. */
static int scale_operand(nccl_call_t *call)
{
    bool is_scatter = call->kind == NCCL_REDUCE_SCATTER;
    size_t blocks = is_scatter ? (size_t)call->comm->mpi->size : 1;
    void *to = call->recv;
    int err = MPI_SUCCESS;
    if (is_scatter || (call->kind == NCCL_REDUCE && !is_root(call)))
        err = wefti_nccl_room(call->comm, bytes_of(call, blocks), &to);
    if (err == MPI_SUCCESS)
        err = put_scaling(call, to, call->send, blocks * call->count);
    call->send = to;
    return err;
}

/* *result_out: where the operation of MPI is to put the result. */
static int prepare_operands(nccl_call_t *call, void **result_out)
{
    int err = MPI_SUCCESS;
    *result_out = call->recv;
    if (call->kind == NCCL_BROADCAST && is_root(call) && call->send != call->recv)
        return put_copy(call, call->recv, call->send, bytes_of(call, 1));
    if (call->reduction.scales_first)
        err = scale_operand(call);
    if (err == MPI_SUCCESS && call->kind == NCCL_REDUCE_SCATTER &&
        call->recv == block_at(call, call->send, call->comm->mpi->rank))
        err = wefti_nccl_room(call->comm, bytes_of(call, 1), result_out);
    return err;
}

/* ---- the operation of MPI ---- */

/* Which buffer NCCL's rules say is the other one, or a part of it. */
static void fill_places(const nccl_call_t *call, weft_coll_args_t *args)
{
    const void *send = call->send, *recv = args->recv_buf;
    bool is_in_place = false;
    switch (call->kind) {
    case NCCL_BROADCAST:
        args->send_buf = recv;
        args->recv_buf = NULL;
        return;
    case NCCL_SCATTER:
        if (is_root(call) && recv == block_at(call, send, call->peer))
            args->recv_buf = MPI_IN_PLACE;
        return;
    case NCCL_ALL_REDUCE:
        is_in_place = send == recv;
        break;
    case NCCL_REDUCE:
        is_in_place = send == recv && is_root(call);
        break;
    case NCCL_ALL_GATHER:
        is_in_place = send == block_at(call, recv, call->comm->mpi->rank);
        break;
    case NCCL_GATHER:
        is_in_place = is_root(call) && send == block_at(call, recv, call->peer);
        break;
    default:
        break;
    }
    if (is_in_place)
        args->send_buf = MPI_IN_PLACE;
}

static int enqueue_coll(const nccl_call_t *call, void *result)
{
    weft_coll_args_t args = {.comm = call->comm->mpi,
                             .root = call->peer,
                             .send_buf = call->send,
                             .send_count = call->count,
                             .send_type = call->type,
                             .recv_buf = result,
                             .recv_count = call->count,
                             .recv_type = call->type,
                             .op = call->reduction.op};
    fill_places(call, &args);
    return weft_enqueue_coll(call->name, colls[call->kind], &args, NULL);
}

/* ---- behind ---- */

static int finish_result(const nccl_call_t *call, void *result)
{
    if (call->kind == NCCL_REDUCE && !is_root(call))
        return MPI_SUCCESS;
    if (call->reduction.divides_last)
        return put_scaling(call, call->recv, result, call->count);
    return result == call->recv ? MPI_SUCCESS
                                : put_copy(call, call->recv, result, bytes_of(call, 1));
}

/* The counts of all ranks are equal, so that all leave an empty one out. */
int wefti_nccl_run_coll(nccl_call_t *call)
{
    void *result;
    if (call->count == 0)
        return MPI_SUCCESS;
    int err = prepare_operands(call, &result);
    if (err == MPI_SUCCESS)
        err = enqueue_coll(call, result);
    return err == MPI_SUCCESS ? finish_result(call, result) : err;
}
