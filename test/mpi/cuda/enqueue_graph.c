/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations captured into a graph: each launch does them again, with the data of that moment. The
 * graph is launched repeatedly without waiting, between other work, and after the handles used in
 * its capture are freed.
 */
#include "end_capture.h"
#include "stream_comm.h"

enum { COUNT = 50, LAUNCHES = 6, TAG = 4 };

typedef struct buffers {
    int *input, *sums, *received; /* pinned */
    int *in, *out;                /* on the device */
    MPI_Status *statuses;
} buffers_t;

/* The sum of all inputs, and the input of the rank before. */
static CUgraphExec capture_all(const stream_comm_t *on, const buffers_t *at,
                               CUstreamCaptureMode mode)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    int bytes = COUNT * (int)sizeof(int);
    MPI_Request requests[2];
    CU(cuStreamBeginCapture(on->stream, mode));
    CU(cuMemcpyAsync((CUdeviceptr)at->in, (CUdeviceptr)at->input, (size_t)bytes, on->stream));
    MPIX_Irecv_enqueue(at->out, COUNT, MPI_INT, previous, TAG, on->comm, &requests[0]);
    MPIX_Isend_enqueue(at->in, COUNT, MPI_INT, next, TAG, on->comm, &requests[1]);
    MPIX_Waitall_enqueue(2, requests, at->statuses);
    CU(cuMemcpyAsync((CUdeviceptr)at->received, (CUdeviceptr)at->out, (size_t)bytes, on->stream));
    MPIX_Allreduce_enqueue(at->in, at->out, COUNT, MPI_INT, MPI_SUM, on->comm);
    CU(cuMemcpyAsync((CUdeviceptr)at->sums, (CUdeviceptr)at->out, (size_t)bytes, on->stream));
    CU(cuMemsetD32Async((CUdeviceptr)at->in, 77, COUNT, on->stream));
    return end_capture(on->stream);
}

static void check_launch(const buffers_t *at, int launch)
{
    int previous = (expect_rank + expect_size - 1) % expect_size, sum = 0;
    for (int rank = 0; rank < expect_size; rank++)
        sum += rank * 100 + launch;
    for (int i = 0; i < COUNT; i++) {
        EXPECT(at->sums[i], sum);
        EXPECT(at->received[i], previous * 100 + launch);
    }
    EXPECT(at->statuses[0].MPI_SOURCE, previous);
}

static void launch_with_other_data(const stream_comm_t *on, const buffers_t *at, CUgraphExec exec)
{
    for (int launch = 0; launch < LAUNCHES; launch++) {
        for (int i = 0; i < COUNT; i++) {
            at->input[i] = expect_rank * 100 + launch;
            at->sums[i] = at->received[i] = -1;
        }
        CU(cuGraphLaunch(exec, on->stream));
        CU(cuStreamSynchronize(on->stream));
        check_launch(at, launch);
    }
}

/* x := sum of all x, many times, with other work of the stream between. */
static void launch_in_a_row(const stream_comm_t *on, const buffers_t *at)
{
    int expected = 1;
    MPI_Request request;
    CU(cuStreamBeginCapture(on->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MPIX_Iallreduce_enqueue(MPI_IN_PLACE, at->in, COUNT, MPI_INT, MPI_SUM, on->comm, &request);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    CUgraphExec exec = end_capture(on->stream);
    CU(cuMemsetD32Async((CUdeviceptr)at->in, 1, COUNT, on->stream));
    for (int launch = 0; launch < LAUNCHES; launch++) {
        CU(cuGraphLaunch(exec, on->stream));
        expected *= expect_size;
        if (launch % 2 == 0)
            continue;
        MPIX_Bcast_enqueue(at->in, COUNT, MPI_INT, 0, on->comm);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, at->in, COUNT, MPI_INT, MPI_MAX, on->comm);
    }
    stream_save(on->stream, DEVICE, at->sums, at->in, COUNT);
    CU(cuStreamSynchronize(on->stream));
    for (int i = 0; i < COUNT; i++)
        EXPECT(at->sums[i], expected);
    CU(cuGraphExecDestroy(exec));
}

/* A request can be waited for only in its own capture. */
static void wait_elsewhere(const stream_comm_t *on, const buffers_t *at)
{
    MPI_Request inside, outside, kept;
    MPI_Comm_set_errhandler(on->comm, MPI_ERRORS_RETURN);
    MPIX_Isend_enqueue(at->in, 1, MPI_INT, MPI_PROC_NULL, TAG, on->comm, &outside);
    CU(cuStreamBeginCapture(on->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_ERROR(MPIX_Wait_enqueue(&outside, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPIX_Isend_enqueue(at->in, 1, MPI_INT, MPI_PROC_NULL, TAG, on->comm, &inside);
    kept = inside;
    EXPECT_ERROR(MPIX_Wait_enqueue(&inside, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CU(cuGraphExecDestroy(end_capture(on->stream)));
    EXPECT_ERROR(MPIX_Wait_enqueue(&kept, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPIX_Wait_enqueue(&outside, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CU(cuStreamSynchronize(on->stream));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    memory_t memories[5];
    int *at[5];
    MPI_Status statuses[2];
    for (int i = 0; i < 5; i++) {
        memories[i] = memory_take(i < 3 ? PINNED : DEVICE, COUNT * sizeof(int));
        at[i] = memories[i].at;
    }
    buffers_t buffers = {at[0], at[1], at[2], at[3], at[4], statuses};
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    CUgraphExec first = capture_all(&on, &buffers, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUgraphExec second = capture_all(&on, &buffers, CU_STREAM_CAPTURE_MODE_RELAXED);
    launch_with_other_data(&on, &buffers, first);
    launch_with_other_data(&on, &buffers, second);
    launch_in_a_row(&on, &buffers);
    wait_elsewhere(&on, &buffers);
    stream_comm_free(&on);
    launch_with_other_data(&on, &buffers, first);
    CU(cuGraphExecDestroy(first));
    CU(cuGraphExecDestroy(second));
    CU(cuStreamDestroy(on.stream));
    for (int i = 0; i < 5; i++)
        memory_give(&memories[i]);
    memory_end();
    return expect_end();
}
