/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of weft_nccl.h: messages between all pairs, to oneself too, in any order of calls; nested
 * groups; several communicators and streams in one group; many calls; communicators made in groups
 * and by splits; and operations of one communicator in two streams, which run in the order of
 * calls. Each element of a message is made of its sender and its receiver.
 */
#include "nccl_comm.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { COUNT = 1000, MANY = 300, ROUNDS = 4 };

static nccl_comm_t all;
static CUstream other; /* a second stream */
static memory_t in, out;
static int *host;

static int value(int from, int to, int round)
{
    return from * 1000 + to * 10 + round;
}

static int *part(const memory_t *memory, int rank)
{
    return (int *)memory->at + (size_t)rank * COUNT;
}

static void fill(int round)
{
    for (int to = 0; to < all.size; to++) {
        for (int i = 0; i < COUNT; i++)
            host[to * COUNT + i] = value(all.rank, to, round);
    }
    memory_put(in.at, host, (size_t)(all.size * COUNT) * sizeof(int));
    memset(host, 0x33, (size_t)(all.size * COUNT) * sizeof(int));
    memory_put(out.at, host, (size_t)(all.size * COUNT) * sizeof(int));
}

static void synchronize(void)
{
    CU(cuStreamSynchronize(all.stream));
    CU(cuStreamSynchronize(other));
}

static void check(int round)
{
    synchronize();
    memory_get(host, out.at, (size_t)(all.size * COUNT) * sizeof(int));
    for (int from = 0; from < all.size; from++) {
        EXPECT(host[from * COUNT], value(from, all.rank, round));
        EXPECT(host[from * COUNT + COUNT - 1], value(from, all.rank, round));
    }
}

/* The ranks call in different orders; every other round uses two streams. */
static void exchange_all(int round)
{
    fill(round);
    NCCL(ncclGroupStart());
    for (int i = 0; i < all.size; i++) {
        int peer = (all.rank + i * (all.rank % 2 == 0 ? 1 : all.size - 1)) % all.size;
        CUstream stream = round % 2 == 1 && i % 2 == 1 ? other : all.stream;
        NCCL(ncclGroupStart());
        if (all.rank % 3 == 0)
            NCCL(ncclRecv(part(&out, peer), COUNT, ncclInt32, peer, all.nccl, stream));
        NCCL(ncclSend(part(&in, peer), COUNT, ncclInt32, peer, all.nccl, all.stream));
        if (all.rank % 3 != 0)
            NCCL(ncclRecv(part(&out, peer), COUNT, ncclInt32, peer, all.nccl, stream));
        NCCL(ncclGroupEnd());
    }
    NCCL(ncclGroupEnd());
    check(round);
}

/* More messages than a stream takes at once, and collectives among them. */
static void exchange_many(void)
{
    int next = (all.rank + 1) % all.size, previous = (all.rank + all.size - 1) % all.size;
    fill(0);
    NCCL(ncclGroupStart());
    for (int i = 0; i < MANY; i++) {
        NCCL(ncclSend((int *)in.at + i, 1, ncclInt32, next, all.nccl, all.stream));
        NCCL(ncclRecv((int *)out.at + i, 1, ncclInt32, previous, all.nccl, all.stream));
        if (i % 100 == 0)
            NCCL(ncclAllReduce((int *)in.at + MANY + i, (int *)out.at + MANY + i, 1, ncclInt32,
                               ncclSum, all.nccl, all.stream));
    }
    NCCL(ncclGroupEnd());
    synchronize();
    memory_get(host, out.at, (size_t)COUNT * sizeof(int));
    int sum = 0;
    for (int rank = 0; rank < all.size; rank++)
        sum += value(rank, 0, 0);
    EXPECT(host[0], value(previous, 0, 0));
    EXPECT(host[MANY - 1], value(previous, 0, 0));
    EXPECT(host[MANY], sum);
    EXPECT(host[MANY + 200], sum);
}

/* ---- the order of streams ---- */

static atomic_bool is_open;

static void wait_until_open(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_open))
        sched_yield();
}

/* The stream does nothing more until open_stream(). */
static void hold_stream(CUstream stream)
{
    atomic_store(&is_open, false);
    CU(cuLaunchHostFunc(stream, wait_until_open, NULL));
}

/* Before, what does not wait for the stream has time to go wrong. */
static void open_stream(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Barrier(all.mpi);
    atomic_store(&is_open, true);
}

/* An operation that never runs. */
static void capture_in_vain(CUstream third)
{
    CUgraph graph;
    CU(cuStreamBeginCapture(third, CU_STREAM_CAPTURE_MODE_RELAXED));
    NCCL(ncclAllReduce(in.at, out.at, COUNT, ncclInt32, ncclMin, all.nccl, third));
    CU(cuStreamEndCapture(third, &graph));
    CU(cuGraphDestroy(graph));
}

/* The second operation reads what the first one writes, in another stream, which is held. */
static void order_operations(bool has_capture_between)
{
    CUstream third = nccl_stream(); /* now, as the driver may wait for all streams */
    fill(0);
    CU(cuMemsetD32Async((CUdeviceptr)in.at, 1, COUNT, all.stream));
    CU(cuStreamSynchronize(all.stream));
    hold_stream(all.stream);
    NCCL(ncclAllReduce(in.at, in.at, COUNT, ncclInt32, ncclSum, all.nccl, all.stream));
    if (has_capture_between)
        capture_in_vain(third);
    NCCL(ncclAllReduce(in.at, out.at, COUNT, ncclInt32, ncclMax, all.nccl, other));
    open_stream();
    synchronize();
    memory_get(host, out.at, sizeof(int));
    EXPECT(host[0], all.size);
    CU(cuStreamDestroy(third));
}

/* A group waits for all of its streams, and all of them wait for it: here the second one brings
 * what the first one's operation reads, and takes its result. */
static void order_group(void)
{
    int *saved;
    CU(cuMemHostAlloc((void **)&saved, sizeof(int), 0));
    *saved = 0;
    fill(0);
    hold_stream(other);
    CU(cuMemsetD32Async((CUdeviceptr)in.at, 5, 1, other));
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, all.nccl, all.stream));
    NCCL(
        ncclAllReduce((int *)in.at + 1, (int *)out.at + 1, 1, ncclInt32, ncclSum, all.nccl, other));
    NCCL(ncclGroupEnd());
    CU(cuMemcpyAsync((CUdeviceptr)saved, (CUdeviceptr)out.at, sizeof(int), other));
    CU(cuMemsetD32Async((CUdeviceptr)out.at, 0, 1, other));
    open_stream();
    CU(cuStreamSynchronize(other));
    EXPECT(*saved, 5 * all.size);
    CU(cuStreamSynchronize(all.stream));
    memory_get(host, out.at, sizeof(int));
    EXPECT(host[0], 0);
    CU(cuMemFreeHost(saved));
}

/* x := the sum of all x, in two streams in turn; nothing but the library orders them. */
static void alternate_streams(void)
{
    int sum = 1;
    CU(cuMemsetD32Async((CUdeviceptr)in.at, 1, COUNT, all.stream));
    for (int i = 0; i < 6; i++) {
        NCCL(ncclAllReduce(in.at, in.at, COUNT, ncclInt32, ncclSum, all.nccl,
                           i % 2 == 0 ? all.stream : other));
        sum *= all.size;
    }
    synchronize();
    memory_get(host, in.at, (size_t)COUNT * sizeof(int));
    EXPECT(host[0], sum);
    EXPECT(host[COUNT - 1], sum);
}

/* Ranks may use different numbers of streams. */
static void use_streams_unevenly(void)
{
    fill(0);
    for (int i = 0; i < 4; i++)
        NCCL(ncclAllReduce(in.at, out.at, COUNT, ncclInt32, ncclMax, all.nccl,
                           i % (all.rank + 1) == 0 ? all.stream : other));
    synchronize();
    memory_get(host, out.at, sizeof(int));
    EXPECT(host[0], value(all.size - 1, 0, 0));
}

/* ---- several communicators ---- */

/* Of the even and of the odd ranks, in the opposite order. */
static void split_in_two(void)
{
    ncclComm_t half, none = all.nccl;
    int count, rank, device, own, sum = 0;
    NCCL(ncclCommSplit(all.nccl, all.rank % 2, -all.rank, &half, NULL));
    NCCL(ncclCommSplit(all.nccl, all.rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &none, NULL));
    NCCL(ncclCommCount(half, &count));
    NCCL(ncclCommUserRank(half, &rank));
    NCCL(ncclCommCuDevice(half, &device));
    int members = (all.size + 1 - all.rank % 2) / 2;
    EXPECT(count, members);
    EXPECT(rank, members - 1 - all.rank / 2);
    CU(cuCtxGetDevice(&own));
    EXPECT(device, own);
    EXPECT(none == NULL, all.rank == 0);
    fill(0);
    NCCL(ncclGroupStart()); /* one operation on each, two in the same stream */
    NCCL(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, half, other));
    NCCL(ncclAllReduce(in.at, part(&out, 0) + 1, 1, ncclInt32, ncclMin, all.nccl, all.stream));
    if (none != NULL)
        NCCL(ncclAllReduce(in.at, part(&out, 0) + 2, 1, ncclInt32, ncclMin, none, all.stream));
    NCCL(ncclGroupEnd());
    synchronize();
    memory_get(host, out.at, 3 * sizeof(int));
    for (int i = all.rank % 2; i < all.size; i += 2)
        sum += value(i, 0, 0);
    EXPECT(host[0], sum);
    EXPECT(host[1], value(0, 0, 0));
    EXPECT(host[2], none == NULL ? 0x33333333 : value(1, 0, 0));
    NCCL(ncclCommDestroy(half));
    if (none != NULL)
        NCCL(ncclCommDestroy(none));
}

/* Pairs of communicators that are made in one group. The second one's id was made by the last rank,
 * which is no member unless it is alone. */
static void make_in_group(void)
{
    ncclUniqueId ids[2];
    ncclComm_t made[2] = {NULL, NULL};
    int last = all.size - 1, fewer = all.size == 1 ? 1 : all.size - 1, sum = 0;
    if (all.rank == 0)
        NCCL(ncclGetUniqueId(&ids[0]));
    if (all.rank == last)
        NCCL(ncclGetUniqueId(&ids[1]));
    MPI_Bcast(&ids[0], sizeof(ids[0]), MPI_BYTE, 0, all.mpi);
    MPI_Bcast(&ids[1], sizeof(ids[1]), MPI_BYTE, last, all.mpi);
    NCCL(ncclGroupStart());
    NCCL(ncclCommInitRank(&made[0], all.size, ids[0], last - all.rank));
    if (all.rank < fewer)
        NCCL(ncclCommInitRank(&made[1], fewer, ids[1], all.rank));
    EXPECT(made[0] == NULL, 1);
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2 && made[i] != NULL; i++) {
        CU(cuMemsetD32Async((CUdeviceptr)in.at, (unsigned)all.rank, 1, all.stream));
        NCCL(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, made[i], all.stream));
        CU(cuStreamSynchronize(all.stream));
        memory_get(host, out.at, sizeof(int));
        int ranks = i == 0 ? all.size : fewer;
        sum = ranks * (ranks - 1) / 2;
        EXPECT(host[0], sum);
        NCCL(ncclCommDestroy(made[i]));
    }
    MPI_Barrier(all.mpi);
}

/* A communicator is destroyed while its operations are in the stream. */
static void destroy_early(void)
{
    nccl_comm_t one = nccl_comm_of(MPI_COMM_WORLD, all.stream);
    fill(0);
    for (int i = 0; i < 5; i++)
        NCCL(ncclAllReduce(in.at, out.at, COUNT, ncclInt32, ncclMin, one.nccl, one.stream));
    NCCL(ncclCommDestroy(one.nccl));
    synchronize();
    memory_get(host, out.at, sizeof(int));
    EXPECT(host[0], value(0, 0, 0));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    all = nccl_comm_of(MPI_COMM_WORLD, nccl_stream());
    other = nccl_stream();
    in = memory_take(DEVICE, (size_t)(all.size * COUNT) * sizeof(int));
    out = memory_take(DEVICE, (size_t)(all.size * COUNT) * sizeof(int));
    host = malloc((size_t)(all.size * COUNT) * sizeof(int));
    for (int round = 0; round < ROUNDS; round++)
        exchange_all(round);
    exchange_many();
    order_operations(false);
    order_operations(true);
    order_group();
    alternate_streams();
    use_streams_unevenly();
    split_in_two();
    make_in_group();
    destroy_early();
    nccl_expect_no_error(&all);
    NCCL(ncclCommDestroy(all.nccl));
    CU(cuStreamDestroy(all.stream));
    CU(cuStreamDestroy(other));
    memory_give(&in);
    memory_give(&out);
    free(host);
    return expect_end();
}
