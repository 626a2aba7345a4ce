/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enqueued collectives with requests, by which the host waits and not the stream. Meanwhile the
 * program may copy to pageable memory in the same stream: the driver keeps other calls out while
 * such a copy waits for the stream, those of the library among them. If the collectives are kernels
 * in the stream, there is no request, and the stream's later work comes after them. Arguments:
 * elements, then "requests" or "kernels": what is expected.
 */
#include "stream_comm.h"

enum { TAG = 5, CALLS = 6 };

static stream_comm_t on;
static memory_t in, out;
static int count, has_requests;

static int value_of(int rank)
{
    return 100 * rank + 7;
}

static int sum_of_values(void)
{
    return 7 * expect_size + 50 * expect_size * (expect_size - 1);
}

static void fill(int blocks)
{
    CU(cuMemsetD32Async((CUdeviceptr)in.at, (unsigned)value_of(expect_rank),
                        (size_t)(blocks * count), on.stream));
    CU(cuMemsetD32Async((CUdeviceptr)out.at, 0, (size_t)(expect_size * count), on.stream));
}

/* Pageable memory: block `block` of `from`. */
static int first_of(const memory_t *from, int block)
{
    int *copy = malloc((size_t)count * sizeof(*copy)), value;
    CU(cuMemcpyDtoHAsync(copy, (CUdeviceptr)((int *)from->at + block * count),
                         (size_t)count * sizeof(*copy), on.stream));
    value = copy[0];
    for (int i = 0; i < count; i++)
        EXPECT(copy[i], value);
    free(copy);
    return value;
}

/* ---- the calls ---- */

static void begin_barrier(MPI_Request *request)
{
    MPIX_Ibarrier_enqueue(on.comm, request);
}

static void begin_bcast(MPI_Request *request)
{
    MPIX_Ibcast_enqueue(in.at, count, MPI_INT, expect_size - 1, on.comm, request);
}

static void begin_allreduce(MPI_Request *request)
{
    MPIX_Iallreduce_enqueue(in.at, out.at, count, MPI_INT, MPI_SUM, on.comm, request);
}

/* The array of counts may be changed when the call returns. */
static void begin_reduce_scatter(MPI_Request *request)
{
    int *counts = malloc((size_t)expect_size * sizeof(*counts));
    for (int rank = 0; rank < expect_size; rank++)
        counts[rank] = count;
    MPIX_Ireduce_scatter_enqueue(in.at, out.at, counts, MPI_INT, MPI_SUM, on.comm, request);
    memset(counts, 0x7f, (size_t)expect_size * sizeof(*counts));
    free(counts);
}

static void begin_allgather(MPI_Request *request)
{
    MPIX_Iallgather_enqueue(in.at, count, MPI_INT, out.at, count, MPI_INT, on.comm, request);
}

static void begin_alltoall(MPI_Request *request)
{
    MPIX_Ialltoall_enqueue(in.at, count, MPI_INT, out.at, count, MPI_INT, on.comm, request);
}

static void (*const calls[CALLS])(MPI_Request *) = {begin_barrier,        begin_bcast,
                                                    begin_allreduce,      begin_allgather,
                                                    begin_reduce_scatter, begin_alltoall};

static void check(int call)
{
    if (calls[call] == begin_bcast)
        EXPECT(first_of(&in, 0), value_of(expect_size - 1));
    if (calls[call] == begin_allreduce || calls[call] == begin_reduce_scatter)
        EXPECT(first_of(&out, 0), sum_of_values());
    for (int rank = 0; rank < expect_size; rank++) {
        if (calls[call] == begin_allgather || calls[call] == begin_alltoall)
            EXPECT(first_of(&out, rank), value_of(rank));
    }
}

/* ---- waiting ---- */

/* The first rank begins when the others have copied what they send. */
static void copy_meanwhile(int call)
{
    MPI_Request request = MPI_REQUEST_NULL;
    fill(expect_size);
    for (int rank = 1; rank < expect_size && expect_rank == 0; rank++)
        MPI_Recv(NULL, 0, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    calls[call](&request);
    EXPECT(request != MPI_REQUEST_NULL, 1);
    if (expect_rank > 0) {
        if (calls[call] != begin_bcast)
            EXPECT(first_of(&in, 0), value_of(expect_rank));
        MPI_Send(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(request == MPI_REQUEST_NULL, 1);
    check(call);
}

static void wait_for_kernels(int call)
{
    MPI_Request request = MPI_REQUEST_NULL;
    fill(expect_size);
    calls[call](&request);
    EXPECT(request == MPI_REQUEST_NULL, 1);
    check(call);
}

/* The stream waits for two requests at once, and then the host in other ways. */
static void wait_otherwise(void)
{
    MPI_Request requests[2];
    int flag = 0, index = MPI_UNDEFINED;
    fill(expect_size);
    begin_allreduce(&requests[0]);
    begin_bcast(&requests[1]);
    MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE);
    CU(cuStreamSynchronize(on.stream));
    EXPECT(first_of(&in, 0), value_of(expect_size - 1));
    fill(expect_size);
    begin_allgather(&requests[0]);
    begin_barrier(&requests[1]);
    while (!flag)
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    for (int rank = 0; rank < expect_size; rank++)
        EXPECT(first_of(&out, rank), value_of(rank));
    fill(expect_size);
    begin_reduce_scatter(&requests[0]);
    begin_barrier(&requests[1]);
    do {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    } while (index != MPI_UNDEFINED);
    EXPECT(first_of(&out, 0), sum_of_values());
}

static void wrong_arguments(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPIX_Ibarrier_enqueue(MPI_COMM_WORLD, &request), MPI_ERR_COMM);
    EXPECT_ERROR(MPIX_Iallreduce_enqueue(in.at, out.at, -1, MPI_INT, MPI_SUM, on.comm, &request),
                 MPI_ERR_COUNT);
    EXPECT_ERROR(MPIX_Ibarrier_enqueue(on.comm, NULL), MPI_ERR_ARG);
    EXPECT(request == MPI_REQUEST_NULL, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    count = atoi(argv[1]);
    has_requests = strcmp(argv[2], "requests") == 0;
    on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    in = memory_take(DEVICE, (size_t)(count * expect_size) * sizeof(int));
    out = memory_take(DEVICE, (size_t)(count * expect_size) * sizeof(int));
    for (int call = 0; call < 3 * CALLS; call++) {
        if (has_requests)
            copy_meanwhile(call % CALLS);
        else
            wait_for_kernels(call % CALLS);
    }
    wait_otherwise();
    wrong_arguments();
    CU(cuStreamSynchronize(on.stream));
    memory_give(&in);
    memory_give(&out);
    stream_comm_free(&on);
    CU(cuStreamDestroy(on.stream));
    memory_end();
    return expect_end();
}
