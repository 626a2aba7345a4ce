/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in the shape of the all_reduce test of nccl-tests: the unique id goes by MPI_Bcast, a
 * warm-up, a range of sizes, out of place and in place, several calls in a row for each, and a
 * check of the values on the host. It has no line that is about Weft but the header.
 */
#include "nccl_comm.h"

enum { ITERATIONS = 5, WARM_UPS = 2 };

typedef struct shape {
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, ranks;
    memory_t send, recv;
    float *data;
} shape_t;

static float sent(int rank, size_t i)
{
    return (float)((rank + 1) * (int)(i % 13));
}

static void init_data(const shape_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at->data[i] = sent(at->rank, i);
    memory_put(at->send.at, at->data, count * sizeof(float));
    memset(at->data, 0, count * sizeof(float));
    memory_put(at->recv.at, at->data, count * sizeof(float));
}

static void run_coll(const shape_t *at, size_t count, int in_place)
{
    void *recv = in_place ? at->send.at : at->recv.at;
    NCCL(ncclAllReduce(at->send.at, recv, count, ncclFloat, ncclSum, at->comm, at->stream));
}

static void complete_coll(const shape_t *at)
{
    ncclResult_t error;
    CU(cuStreamSynchronize(at->stream));
    NCCL(ncclCommGetAsyncError(at->comm, &error));
    EXPECT(error, ncclSuccess);
}

static void check_data(const shape_t *at, size_t count, int in_place)
{
    long long wrong = 0;
    memory_get(at->data, in_place ? at->send.at : at->recv.at, count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        wrong += at->data[i] != sent(at->ranks * (at->ranks + 1) / 2 - 1, i);
    EXPECT(wrong, 0);
}

static void bench_time(const shape_t *at, size_t count, int in_place)
{
    for (int i = 0; i < ITERATIONS; i++)
        run_coll(at, count, 0);
    complete_coll(at);
    init_data(at, count);
    run_coll(at, count, in_place);
    complete_coll(at);
    check_data(at, count, in_place);
}

int main(int argc, char **argv)
{
    shape_t at;
    ncclUniqueId id;
    size_t most = 1 << 18;
    MPI_Init(&argc, &argv);
    expect_begin();
    at.rank = expect_rank;
    at.ranks = expect_size;
    memory_begin(at.rank);
    if (at.rank == 0)
        NCCL(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    CU(cuStreamCreate(&at.stream, CU_STREAM_NON_BLOCKING));
    at.send = memory_take(DEVICE, most * sizeof(float));
    at.recv = memory_take(DEVICE, most * sizeof(float));
    at.data = malloc(most * sizeof(float));
    NCCL(ncclGroupStart());
    NCCL(ncclCommInitRank(&at.comm, at.ranks, id, at.rank));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < WARM_UPS; i++)
        run_coll(&at, most, 0);
    complete_coll(&at);
    for (size_t count = 2; count <= most; count *= 8) {
        bench_time(&at, count, 0);
        bench_time(&at, count, 1);
    }
    NCCL(ncclCommDestroy(at.comm));
    CU(cuStreamDestroy(at.stream));
    memory_give(&at.send);
    memory_give(&at.recv);
    free(at.data);
    return expect_end();
}
