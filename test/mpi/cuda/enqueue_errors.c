/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call finds wrong arguments; an operation that fails later reports to its status, to the next
 * call on the stream or to the program's error handler; neither error stops the stream.
 */
#include "stream_comm.h"

#include <stdint.h>

enum { TAG = 5 };

static void wrong_infos(CUstream stream)
{
    MPI_Info info;
    MPIX_Stream mpix;
    void *per_thread = (void *)2;
    MPI_Info_create(&info);
    EXPECT_ERROR(MPIX_Info_set_hex(info, "", &stream, 8), MPI_ERR_INFO_KEY);
    EXPECT_ERROR(MPIX_Info_set_hex(info, "value", NULL, 8), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Info_set_hex(info, "value", &stream, 0), MPI_ERR_INFO_VALUE);
    EXPECT_ERROR(MPIX_Info_set_hex(info, "value", &stream, MPI_MAX_INFO_VAL), MPI_ERR_INFO_VALUE);
    EXPECT_ERROR(MPIX_Info_set_hex(MPI_INFO_NULL, "value", &stream, 8), MPI_ERR_INFO);
    MPI_Info_set(info, "type", "hipStream_t");
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "type", "cudaStream_t");
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_INFO_NOKEY);
    MPI_Info_set(info, "value", "0123x567");
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_INFO_VALUE);
    MPIX_Info_set_hex(info, "value", &stream, 4);
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_ARG);
    MPIX_Info_set_hex(info, "value", &per_thread, sizeof(per_thread));
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_ARG);
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    EXPECT_ERROR(MPIX_Stream_create(info, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_SUCCESS);
    MPIX_Stream stale = mpix;
    EXPECT_ERROR(MPIX_Stream_free(&mpix), MPI_SUCCESS);
    EXPECT(mpix == MPIX_STREAM_NULL, true);
    EXPECT_ERROR(MPIX_Stream_free(&mpix), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Stream_free(&stale), MPI_ERR_ARG);
    MPI_Info_free(&info);
}

static void comms_without_stream(void)
{
    MPIX_Stream mpix, got = MPIX_STREAM_NULL;
    MPI_Comm comm;
    EXPECT_ERROR(MPIX_Barrier_enqueue(MPI_COMM_WORLD), MPI_ERR_COMM);
    EXPECT_ERROR(MPIX_Barrier_enqueue(MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_ERROR(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &got), MPI_SUCCESS);
    EXPECT(got == MPIX_STREAM_NULL, true);
    MPIX_Stream_create(MPI_INFO_NULL, &mpix);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm);
    EXPECT_ERROR(MPIX_Barrier_enqueue(comm), MPI_ERR_COMM);
    EXPECT_ERROR(MPIX_Comm_get_stream(comm, 0, &got), MPI_SUCCESS);
    EXPECT(got == mpix, true);
    EXPECT_ERROR(MPIX_Comm_get_stream(comm, 1, &got), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Barrier(comm), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpix);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &comm);
    EXPECT_ERROR(MPIX_Barrier_enqueue(comm), MPI_ERR_COMM);
    MPI_Comm_free(&comm);
}

static void wrong_arguments(const stream_comm_t *on, int *buf)
{
    MPI_Comm comm = on->comm;
    MPI_Request request, requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_ERROR(MPIX_Send_enqueue(buf, -1, MPI_INT, 0, TAG, comm), MPI_ERR_COUNT);
    EXPECT_ERROR(MPIX_Send_enqueue(buf, 1, MPI_INT, expect_size, TAG, comm), MPI_ERR_RANK);
    EXPECT_ERROR(MPIX_Send_enqueue(buf, 1, MPI_DATATYPE_NULL, 0, TAG, comm), MPI_ERR_TYPE);
    EXPECT_ERROR(MPIX_Send_enqueue(NULL, 1, MPI_INT, 0, TAG, comm), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPIX_Recv_enqueue(buf, 1, MPI_INT, 0, -7, comm, MPI_STATUS_IGNORE), MPI_ERR_TAG);
    EXPECT_ERROR(MPIX_Isend_enqueue(buf, 1, MPI_INT, 0, TAG, comm, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Irecv_enqueue(buf, 1, MPI_INT, 0, TAG, comm, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Bcast_enqueue(buf, 1, MPI_INT, expect_size, comm), MPI_ERR_ROOT);
    EXPECT_ERROR(MPIX_Allreduce_enqueue(buf, buf, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPIX_Allreduce_enqueue(MPI_IN_PLACE, buf, 1, MPI_INT, MPI_OP_NULL, comm),
                 MPI_ERR_OP);
    EXPECT_ERROR(MPIX_Reduce_scatter_enqueue(MPI_IN_PLACE, buf, NULL, MPI_INT, MPI_SUM, comm),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Wait_enqueue(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    EXPECT_ERROR(MPIX_Waitall_enqueue(-1, requests, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    EXPECT_ERROR(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    MPI_Irecv(buf, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &request);
    EXPECT_ERROR(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Requests of two streams in one call. */
static void two_streams(const stream_comm_t *on, int *buf)
{
    stream_comm_t other = stream_comm_make(CU_STREAM_NON_BLOCKING);
    MPI_Request requests[2];
    MPIX_Isend_enqueue(buf, 1, MPI_INT, MPI_PROC_NULL, TAG, on->comm, &requests[0]);
    MPIX_Isend_enqueue(buf, 1, MPI_INT, MPI_PROC_NULL, TAG, other.comm, &requests[1]);
    EXPECT_ERROR(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPIX_Wait_enqueue(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_ERROR(MPIX_Wait_enqueue(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    stream_comm_free(&other);
    CU(cuStreamSynchronize(other.stream));
    CU(cuStreamDestroy(other.stream));
}

static int handled;

static void count_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    EXPECT_ERROR(*error, MPI_ERR_TRUNCATE);
    handled++;
}

/* Send two elements to a receive of one, on the same rank. */
static void send_too_much(const stream_comm_t *on, int *buf, MPI_Status *status)
{
    MPI_Request request;
    MPIX_Isend_enqueue(buf, 2, MPI_INT, expect_rank, TAG, on->comm, &request);
    MPIX_Recv_enqueue(buf + 2, 1, MPI_INT, expect_rank, TAG, on->comm, status);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    CU(cuStreamSynchronize(on->stream));
}

static void late_errors(const stream_comm_t *on, int *buf)
{
    MPI_Status status = {.MPI_ERROR = -1};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Errhandler handler;
    send_too_much(on, buf, &status);
    EXPECT_ERROR(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_ERROR(MPIX_Barrier_enqueue(on->comm), MPI_SUCCESS);
    MPIX_Irecv_enqueue(buf + 2, 1, MPI_INT, expect_rank, TAG, on->comm, &requests[0]);
    MPIX_Isend_enqueue(buf, 2, MPI_INT, expect_rank, TAG, on->comm, &requests[1]);
    MPIX_Waitall_enqueue(2, requests, statuses);
    CU(cuStreamSynchronize(on->stream));
    EXPECT_ERROR(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_ERROR(statuses[1].MPI_ERROR, MPI_SUCCESS);
    MPIX_Isend_enqueue(buf, 2, MPI_INT, expect_rank, TAG, on->comm, &requests[0]);
    MPIX_Recv_enqueue(buf + 2, 1, MPI_INT, expect_rank, TAG, on->comm, MPI_STATUS_IGNORE);
    CU(cuStreamSynchronize(on->stream));
    EXPECT_ERROR(MPIX_Wait_enqueue(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_ERROR(MPIX_Wait_enqueue(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(on->comm, handler);
    send_too_much(on, buf, MPI_STATUS_IGNORE);
    EXPECT(handled, 1);
    EXPECT_ERROR(MPIX_Barrier_enqueue(on->comm), MPI_SUCCESS);
    MPI_Comm_set_errhandler(on->comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    memory_t memory = memory_take(DEVICE, 64);
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    wrong_infos(on.stream);
    comms_without_stream();
    wrong_arguments(&on, memory.at);
    two_streams(&on, memory.at);
    late_errors(&on, memory.at);
    MPIX_Stream_free(&on.mpix);
    EXPECT_ERROR(MPIX_Barrier_enqueue(on.comm), MPI_ERR_COMM);
    EXPECT_ERROR(MPIX_Comm_get_stream(on.comm, 0, &on.mpix), MPI_SUCCESS);
    EXPECT(on.mpix == MPIX_STREAM_NULL, true);
    MPI_Comm_free(&on.comm);
    CU(cuStreamSynchronize(on.stream));
    CU(cuStreamDestroy(on.stream));
    memory_give(&memory);
    memory_end();
    return expect_end();
}
