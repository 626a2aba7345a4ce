/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of weft_nccl.h captured into graphs, launched many times: single calls, groups, sends
 * and receives, averages, and a scalar on the device that changes between launches. A second stream
 * takes part in the capture. Between launches there are calls that are not captured.
 */
#include "end_capture.h"
#include "nccl_comm.h"

enum { COUNT = 300, LAUNCHES = 6 };

static nccl_comm_t all;
static CUstream side;
static memory_t x, sum, average, received, scaled, scalar;
static float *host;

/* The second stream is forked off, does a part, and is joined. */
static void use_side(CUevent event)
{
    CU(cuEventRecord(event, all.stream));
    CU(cuStreamWaitEvent(side, event, 0));
    NCCL(ncclAllReduce(x.at, average.at, COUNT, ncclFloat, ncclAvg, all.nccl, side));
    CU(cuEventRecord(event, side));
    CU(cuStreamWaitEvent(all.stream, event, 0));
}

static CUgraphExec capture_all(ncclRedOp_t op, CUevent event)
{
    int next = (all.rank + 1) % all.size, previous = (all.rank + all.size - 1) % all.size;
    CU(cuStreamBeginCapture(all.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    NCCL(ncclAllReduce(x.at, sum.at, COUNT, ncclFloat, ncclSum, all.nccl, all.stream));
    use_side(event);
    NCCL(ncclGroupStart());
    NCCL(ncclRecv(received.at, COUNT, ncclFloat, previous, all.nccl, all.stream));
    NCCL(ncclAllReduce(x.at, scaled.at, COUNT, ncclFloat, op, all.nccl, all.stream));
    NCCL(ncclSend(x.at, COUNT, ncclFloat, next, all.nccl, all.stream));
    NCCL(ncclGroupEnd());
    return end_capture(all.stream);
}

static float value(int rank, int launch)
{
    return (float)(rank * 8 + launch);
}

static void set_all(const memory_t *memory, float value)
{
    for (int i = 0; i < COUNT; i++)
        host[i] = value;
    memory_put(memory->at, host, COUNT * sizeof(float));
}

static void check(const memory_t *memory, float wanted, const char *what)
{
    memory_get(host, memory->at, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i += COUNT - 1) {
        if (host[i] != wanted && ++expect_failures <= 10)
            fprintf(stderr, "rank %d: element %d of the %s is %g, not %g\n", all.rank, i, what,
                    (double)host[i], (double)wanted);
    }
}

static void check_launch(int launch)
{
    int previous = (all.rank + all.size - 1) % all.size;
    float total = 0, weighted = 0;
    for (int rank = 0; rank < all.size; rank++) {
        total += value(rank, launch);
        weighted += value(rank, launch) * (float)(rank + launch + 1);
    }
    check(&sum, total, "sum");
    check(&average, total / (float)all.size, "average");
    check(&received, value(previous, launch), "message");
    check(&scaled, weighted, "scaled sum");
}

static void launch_all(CUgraphExec exec)
{
    for (int launch = 0; launch < LAUNCHES; launch++) {
        float factor = (float)(all.rank + launch + 1);
        set_all(&x, value(all.rank, launch));
        memory_put(scalar.at, &factor, sizeof(factor));
        CU(cuGraphLaunch(exec, all.stream));
        CU(cuStreamSynchronize(all.stream));
        check_launch(launch);
        NCCL(ncclAllReduce(x.at, sum.at, COUNT, ncclFloat, ncclMax, all.nccl, all.stream));
        CU(cuStreamSynchronize(all.stream));
        check(&sum, value(all.size - 1, launch), "greatest");
    }
}

/* x := sum of all x, launched in a row without waiting. */
static void launch_in_a_row(void)
{
    float wanted = 1;
    CU(cuStreamBeginCapture(all.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    NCCL(ncclAllReduce(x.at, x.at, COUNT, ncclFloat, ncclSum, all.nccl, all.stream));
    CUgraphExec exec = end_capture(all.stream);
    set_all(&x, 1);
    for (int launch = 0; launch < LAUNCHES; launch++) {
        CU(cuGraphLaunch(exec, all.stream));
        wanted *= (float)all.size;
    }
    CU(cuStreamSynchronize(all.stream));
    check(&x, wanted, "sum in a row");
    CU(cuGraphExecDestroy(exec));
}

/* Streams of a group belong to one graph, or to none. */
static void refuse_mixed(void)
{
    CU(cuStreamBeginCapture(all.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(x.at, sum.at, 1, ncclFloat, ncclSum, all.nccl, all.stream));
    NCCL(ncclAllReduce(x.at, average.at, 1, ncclFloat, ncclSum, all.nccl, side));
    NCCL_FAILS(ncclGroupEnd(), ncclInvalidUsage, "not part of the same capture");
    CU(cuGraphExecDestroy(end_capture(all.stream)));
}

int main(int argc, char **argv)
{
    ncclRedOp_t op;
    CUevent event;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    all = nccl_comm_of(MPI_COMM_WORLD, nccl_stream());
    side = nccl_stream();
    memory_t *memories[] = {&x, &sum, &average, &received, &scaled, &scalar};
    for (int i = 0; i < 6; i++)
        *memories[i] = memory_take(DEVICE, COUNT * sizeof(float));
    host = malloc(COUNT * sizeof(float));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    NCCL(ncclRedOpCreatePreMulSum(&op, scalar.at, ncclFloat, ncclScalarDevice, all.nccl));
    CUgraphExec exec = capture_all(op, event);
    NCCL(ncclRedOpDestroy(op, all.nccl));
    launch_all(exec);
    launch_in_a_row();
    refuse_mixed();
    CU(cuGraphExecDestroy(exec));
    nccl_expect_no_error(&all);
    NCCL(ncclCommDestroy(all.nccl));
    CU(cuEventDestroy(event));
    CU(cuStreamDestroy(all.stream));
    CU(cuStreamDestroy(side));
    for (int i = 0; i < 6; i++)
        memory_give(memories[i]);
    free(host);
    return expect_end();
}
