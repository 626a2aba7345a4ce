/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each rank has a device of its own, enqueued collectives are kernels in the streams: no host
 * function, no wait of the stream for a word. The simulated driver counts calls (its word `count`);
 * with a real one only results are checked. Arguments: kernels or gates (what the ranks' devices
 * allow), then numbers of elements.
 */
#include "end_capture.h"
#include "stream_comm.h"

#include <dlfcn.h>

enum { GRAPH_LAUNCHES = 100, ROUNDS = 40 };

static bool by_kernels;
static unsigned long (*launches)(const char *prefix); /* NULL: the driver is a real one */
static stream_comm_t on;

static unsigned long calls_of(const char *name)
{
    return launches == NULL ? 0 : launches(name);
}

/* Every element of `buf` on the device is `value` when the stream has come here. */
static void check_all(const int *buf, int value, int count, const char *what)
{
    int *got = malloc((size_t)count * sizeof(int) + 1), wrong = 0;
    CU(cuStreamSynchronize(on.stream));
    CU(cuMemcpyDtoH(got, (CUdeviceptr)buf, (size_t)count * sizeof(int)));
    for (int i = 0; i < count; i++)
        wrong += got[i] != value;
    expect_equal(wrong, 0, what, __FILE__, __LINE__);
    free(got);
}

static int sum_of_ranks(int times)
{
    return times * expect_size * (expect_size - 1) / 2;
}

/* ---- device memory: kernels alone ---- */

typedef struct room {
    memory_t in_memory, out_memory;
    int *in, *out;
    int count;
} room_t;

static void do_each(const room_t *at)
{
    int *counts = malloc((size_t)expect_size * sizeof(int));
    for (int i = 0; i < expect_size; i++)
        counts[i] = i % 2 == 0 ? at->count : at->count / 2;
    MPIX_Allreduce_enqueue(at->in, at->out, at->count, MPI_INT, MPI_SUM, on.comm);
    MPIX_Bcast_enqueue(at->in, at->count, MPI_INT, expect_size - 1, on.comm);
    MPIX_Allgather_enqueue(at->in, at->count, MPI_INT, at->out, at->count, MPI_INT, on.comm);
    MPIX_Alltoall_enqueue(at->in, at->count, MPI_INT, at->out, at->count, MPI_INT, on.comm);
    MPIX_Alltoall_enqueue(MPI_IN_PLACE, 0, MPI_INT, at->in, at->count, MPI_INT, on.comm);
    MPIX_Reduce_scatter_enqueue(at->in, at->out, counts, MPI_INT, MPI_MAX, on.comm);
    MPIX_Barrier_enqueue(on.comm);
    MPIX_Allreduce_enqueue(at->in, at->out, 0, MPI_INT, MPI_SUM, on.comm);
    free(counts);
}

/* The library's thread does nothing meanwhile that these calls would be taken for. */
static void no_call_of_the_host(const room_t *at)
{
    unsigned long functions = calls_of("cuLaunchHostFunc"), waits = calls_of("cuStreamWaitValue32");
    unsigned long kernels = calls_of("weft_exchange");
    do_each(at);
    CU(cuStreamSynchronize(on.stream));
    if (launches == NULL)
        return;
    bool has_called =
        calls_of("cuLaunchHostFunc") > functions || calls_of("cuStreamWaitValue32") > waits;
    EXPECT(has_called, !by_kernels);
    EXPECT(calls_of("weft_exchange") - kernels >= 7, by_kernels);
}

/* A stream at a gate waits for the library, which the program must not keep waiting. On a real
 * driver nobody knows which way was taken: ranks may share a device. */
static void see_to_gates(void)
{
    if (!by_kernels || launches == NULL)
        CU(cuStreamSynchronize(on.stream));
}

/* With kernels the program may take and free memory at any moment. */
static void free_between(const room_t *at)
{
    CU(cuMemsetD32Async((CUdeviceptr)at->in, 1, (size_t)at->count, on.stream));
    for (int round = 0; round < ROUNDS; round++) {
        CUdeviceptr taken;
        MPIX_Allreduce_enqueue(at->in, at->out, at->count, MPI_INT, MPI_SUM, on.comm);
        see_to_gates();
        CU(cuMemAlloc(&taken, 3000000));
        MPIX_Bcast_enqueue(at->out, at->count, MPI_INT, round % expect_size, on.comm);
        see_to_gates();
        CU(cuMemFree(taken));
    }
    check_all(at->out, expect_size, at->count, "frees between");
}

/* ---- graphs ---- */

/* Multiplies the first block of `in`, whose elements are the same on all ranks, by the ranks. */
static CUgraphExec capture(const room_t *at)
{
    CU(cuStreamBeginCapture(on.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MPIX_Allreduce_enqueue(at->in, at->out, at->count, MPI_INT, MPI_SUM, on.comm);
    MPIX_Allgather_enqueue(at->out, at->count, MPI_INT, at->in, at->count, MPI_INT, on.comm);
    return end_capture(on.stream);
}

/* Sums are modulo 2^32. */
static void launch_graphs(const room_t *at)
{
    unsigned expected = 1;
    CUgraphExec first = capture(at), second = capture(at);
    CU(cuMemsetD32Async((CUdeviceptr)at->in, 1, (size_t)at->count, on.stream));
    for (int launch = 0; launch < 2 * GRAPH_LAUNCHES; launch++) {
        CU(cuGraphLaunch(launch < GRAPH_LAUNCHES ? first : second, on.stream));
        expected *= (unsigned)expect_size;
        if (launch % 16 != 0)
            continue;
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, at->in, at->count, MPI_INT, MPI_SUM, on.comm);
        expected *= (unsigned)expect_size;
    }
    check_all(at->in, (int)expected, at->count, "graphs");
    CU(cuGraphExecDestroy(first));
    CU(cuGraphExecDestroy(second));
}

/* ---- ranks that differ ---- */

/* The ranks take part with memory of the host, or with a derived type: nobody asks the others. */
static void differ(const room_t *at)
{
    int rank = expect_rank, count = at->count;
    int *host = malloc((size_t)count * 2 * (size_t)expect_size * sizeof(int) + 1);
    MPI_Datatype every_other;
    MPI_Type_vector(1, 1, 2, MPI_INT, &every_other);
    MPI_Type_create_resized(every_other, 0, 2 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    for (int round = 0; round < 3; round++) {
        bool is_host = (rank + round) % 3 == 0, is_derived = (rank + round) % 3 == 1;
        int *in = is_host ? host : at->in, stride = is_derived ? 2 : 1;
        memory_kind_t kind = is_host ? HOST : DEVICE;
        stream_fill(on.stream, kind, in, rank + round, count * stride);
        MPIX_Allgather_enqueue(in, count, is_derived ? every_other : MPI_INT, at->out, count,
                               MPI_INT, on.comm);
        for (int i = 0; i < expect_size; i++)
            check_all(at->out + i * count, i + round, count, "gathered from different memory");
        stream_fill(on.stream, kind, in, rank == round % expect_size ? 70 + round : -1,
                    count * stride);
        MPIX_Bcast_enqueue(in, count, is_derived ? every_other : MPI_INT, round % expect_size,
                           on.comm);
        MPIX_Allreduce_enqueue(is_derived ? at->out : in, is_host ? host : at->in, 0, MPI_INT,
                               MPI_SUM, on.comm);
        CU(cuStreamSynchronize(on.stream));
        if (!is_host)
            CU(cuMemcpyDtoH(host, (CUdeviceptr)in, (size_t)(count * stride) * sizeof(int)));
        int wrong = 0;
        for (int i = 0; i < count * stride; i++)
            wrong += host[i] != (i % stride == 0 || rank == round % expect_size ? 70 + round : -1);
        EXPECT(wrong, 0);
        stream_fill(on.stream, kind, in, rank, count);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, in, count, MPI_INT, MPI_SUM, on.comm);
        stream_save(on.stream, kind, host, in, is_host ? count : 0);
        CU(cuStreamSynchronize(on.stream));
        if (is_host)
            CU(cuMemcpyHtoD((CUdeviceptr)at->in, host, (size_t)count * sizeof(int)));
        check_all(at->in, sum_of_ranks(1), count, "sum of different memory");
    }
    MPI_Type_free(&every_other);
    free_host_works();
    free(host);
}

static void destroy_graph(void)
{
    CU(cuStreamBeginCapture(on.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MPIX_Barrier_enqueue(on.comm);
    CUgraphExec exec = end_capture(on.stream);
    CU(cuGraphLaunch(exec, on.stream));
    CU(cuGraphExecDestroy(exec));
}

/* A communicator that is made while kernels of another one are under way, one of them of a graph
 * that has been destroyed. */
static void second_communicator(void)
{
    MPI_Comm second;
    destroy_graph();
    for (int i = 0; i < 3; i++)
        MPIX_Barrier_enqueue(on.comm);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, on.mpix, &second);
    CU(cuStreamSynchronize(on.stream));
    unsigned long kernels = calls_of("weft_exchange");
    MPIX_Barrier_enqueue(second);
    CU(cuStreamSynchronize(on.stream));
    if (launches != NULL)
        EXPECT(calls_of("weft_exchange") - kernels, by_kernels);
    MPI_Comm_free(&second);
}

/* The first rank waits for its stream, outside of MPI. The others come when they have a message
 * from it that is too long to be sent at once. */
static void message_meanwhile(void)
{
    enum { BYTES = 8000000, TAG = 2 };
    char *message = calloc(1, BYTES);
    MPI_Request *requests = malloc((size_t)expect_size * sizeof(MPI_Request));
    for (int rank = 1; rank < expect_size && expect_rank == 0; rank++)
        MPI_Isend(message, BYTES, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &requests[rank]);
    if (expect_rank > 0)
        MPI_Recv(message, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPIX_Barrier_enqueue(on.comm);
    CU(cuStreamSynchronize(on.stream));
    if (expect_rank == 0)
        MPI_Waitall(expect_size - 1, requests + 1, MPI_STATUSES_IGNORE);
    free(requests);
    free(message);
}

/* Pairs with gaps: what lies in a gap stays. */
static void pairs_of_the_host(void)
{
    typedef struct pair {
        double value;
        int index, gap;
    } pair_t;
    pair_t pairs[3];
    for (int i = 0; i < 3; i++)
        pairs[i] = (pair_t){-expect_rank - i, expect_rank, 1234};
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, pairs, 3, MPI_DOUBLE_INT, MPI_MINLOC, on.comm);
    CU(cuStreamSynchronize(on.stream));
    for (int i = 0; i < 3; i++) {
        EXPECT(pairs[i].index, expect_size - 1);
        EXPECT((int)pairs[i].value, -(expect_size - 1) - i);
        EXPECT(pairs[i].gap, 1234);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    *(void **)&launches = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    by_kernels = strcmp(argv[1], "kernels") == 0;
    on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    for (int i = 2; i < argc; i++) {
        room_t at = {.count = atoi(argv[i])};
        size_t bytes = (size_t)at.count * 2 * (size_t)expect_size * sizeof(int) + 1;
        at.in_memory = memory_take(DEVICE, bytes);
        at.out_memory = memory_take(DEVICE, bytes);
        at.in = at.in_memory.at;
        at.out = at.out_memory.at;
        no_call_of_the_host(&at);
        free_between(&at);
        launch_graphs(&at);
        differ(&at);
        memory_give(&at.in_memory);
        memory_give(&at.out_memory);
    }
    second_communicator();
    message_meanwhile();
    pairs_of_the_host();
    stream_comm_free(&on);
    memory_end();
    return expect_end();
}
