/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of weft_nccl.h: their arguments are checked, then they run or wait for the end of
 * their group. */
#include "nccl/nccl_private.h"

#include "runtime/device.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>

/* ---- arguments ---- */

static bool is_message(nccl_kind_t kind)
{
    return kind == NCCL_SEND || kind == NCCL_RECV;
}

static bool is_reduction(nccl_kind_t kind)
{
    return kind == NCCL_ALL_REDUCE || kind == NCCL_REDUCE || kind == NCCL_REDUCE_SCATTER;
}

static bool has_root(nccl_kind_t kind)
{
    return kind == NCCL_BROADCAST || kind == NCCL_REDUCE || kind == NCCL_GATHER ||
           kind == NCCL_SCATTER;
}

static bool is_at_root(const nccl_call_t *call)
{
    return call->peer == call->comm->mpi->rank;
}

static bool reads(const nccl_call_t *call)
{
    return call->kind == NCCL_BROADCAST || call->kind == NCCL_SCATTER ? is_at_root(call)
                                                                      : call->kind != NCCL_RECV;
}

static bool writes(const nccl_call_t *call)
{
    return call->kind == NCCL_REDUCE || call->kind == NCCL_GATHER ? is_at_root(call)
                                                                  : call->kind != NCCL_SEND;
}

static int check_peer(const nccl_call_t *call)
{
    int size = call->comm->mpi->size;
    if (!is_message(call->kind) && !has_root(call->kind))
        return MPI_SUCCESS;
    if (call->peer >= 0 && call->peer < size)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ROOT, "%s is %d, but must be from 0 to %d",
                     is_message(call->kind) ? "peer" : "root", call->peer, size - 1);
}

static int check_count(const nccl_call_t *call)
{
    size_t most = (size_t)PTRDIFF_MAX / call->type->size / (size_t)call->comm->mpi->size;
    if (call->count <= most)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_COUNT, "count is %zu, but must be at most %zu", call->count, most);
}

static int check_buffers(const nccl_call_t *call)
{
    if (call->count > 0 && reads(call) && call->send == NULL)
        return weft_fail(MPI_ERR_BUFFER, "sendbuff is NULL, but must hold %zu elements",
                         call->count);
    if (call->count > 0 && writes(call) && call->recv == NULL)
        return weft_fail(MPI_ERR_BUFFER, "recvbuff is NULL, but must have room for %zu elements",
                         call->count);
    if (call->kind == NCCL_ALL_TO_ALL && call->count > 0 && call->send == call->recv)
        return weft_fail(MPI_ERR_BUFFER,
                         "sendbuff and recvbuff are %p, but must be different: "
                         "there is no all-to-all in place",
                         call->recv);
    return MPI_SUCCESS;
}

static int check_reach(const void *buf, const char *name)
{
    weft_memory_t memory;
    int err = weft_device->look(buf, &memory);
    if (err == MPI_SUCCESS && memory.kind == WEFT_MEMORY_HOST)
        err = weft_fail(MPI_ERR_BUFFER,
                        "%s is %p, which is memory of the host, but must be memory that the device "
                        "reaches: it is scaled there",
                        name, buf);
    return err;
}

/* A kernel scales the operand or the result. */
static int check_scaling(const nccl_call_t *call)
{
    const nccl_reduction_t *reduction = &call->reduction;
    if (call->count == 0 || (!reduction->scales_first && !reduction->divides_last))
        return MPI_SUCCESS;
    if (!weft_device->streams->can_scale(call->stream->users, call->type))
        return weft_fail(MPI_ERR_OTHER,
                         "op is %d, which needs a kernel, but the device has none of Weft's: the "
                         "library was built without nvcc, or the driver refuses its image",
                         (int)call->op);
    int err = reduction->scales_first ? check_reach(call->send, "sendbuff") : MPI_SUCCESS;
    return err == MPI_SUCCESS && writes(call) ? check_reach(call->recv, "recvbuff") : err;
}

static int check_call(nccl_call_t *call)
{
    int err = wefti_nccl_check_usable(call->comm);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_type(call->nccl_type, &call->type);
    if (err == MPI_SUCCESS)
        err = check_peer(call);
    if (err == MPI_SUCCESS)
        err = check_count(call);
    if (err == MPI_SUCCESS)
        err = check_buffers(call);
    if (err == MPI_SUCCESS && is_reduction(call->kind))
        err = wefti_nccl_find_op(call->comm, call->op, call->nccl_type, &call->reduction);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_stream_of(call->comm, call->handle, &call->stream);
    return err == MPI_SUCCESS ? check_scaling(call) : err;
}

static ncclResult_t enter_call(nccl_call_t call)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = check_call(&call);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_enter(&call);
    return wefti_nccl_end(call.name, begun, err);
}

/* ---- the operations ---- */

ncclResult_t weft_nccl_all_reduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_ALL_REDUCE,
                                    .name = "ncclAllReduce",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .op = op});
}

ncclResult_t weft_nccl_broadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                                 int root, ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_BROADCAST,
                                    .name = "ncclBroadcast",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = root});
}

ncclResult_t weft_nccl_bcast(void *buff, size_t count, ncclDataType_t type, int root,
                             ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_BROADCAST,
                                    .name = "ncclBcast",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = buff,
                                    .recv = buff,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = root});
}

ncclResult_t weft_nccl_reduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_REDUCE,
                                    .name = "ncclReduce",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .op = op,
                                    .peer = root});
}

ncclResult_t weft_nccl_all_gather(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_ALL_GATHER,
                                    .name = "ncclAllGather",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type});
}

ncclResult_t weft_nccl_reduce_scatter(const void *send, void *recv, size_t count,
                                      ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                      cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_REDUCE_SCATTER,
                                    .name = "ncclReduceScatter",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .op = op});
}

ncclResult_t weft_nccl_all_to_all(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_ALL_TO_ALL,
                                    .name = "ncclAlltoAll",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type});
}

ncclResult_t weft_nccl_gather(const void *send, void *recv, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_GATHER,
                                    .name = "ncclGather",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = root});
}

ncclResult_t weft_nccl_scatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               int root, ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_SCATTER,
                                    .name = "ncclScatter",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = root});
}

ncclResult_t weft_nccl_send(const void *send, size_t count, ncclDataType_t type, int peer,
                            ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_SEND,
                                    .name = "ncclSend",
                                    .comm = comm,
                                    .handle = stream,
                                    .send = send,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = peer});
}

ncclResult_t weft_nccl_recv(void *recv, size_t count, ncclDataType_t type, int peer,
                            ncclComm_t comm, cudaStream_t stream)
{
    return enter_call((nccl_call_t){.kind = NCCL_RECV,
                                    .name = "ncclRecv",
                                    .comm = comm,
                                    .handle = stream,
                                    .recv = recv,
                                    .count = count,
                                    .nccl_type = type,
                                    .peer = peer});
}
