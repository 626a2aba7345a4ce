/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments and truncation come back as errors of the right class, and nothing is lost. */
#include "../expect.h"

#include <string.h>

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static int seen_error;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    seen_error = *error;
}

static void test_arguments(void)
{
    int x = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    EXPECT(class_of(MPI_Send(&x, 1, MPI_INT, expect_size, 0, world)), MPI_ERR_RANK);
    EXPECT(class_of(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world)), MPI_ERR_RANK);
    EXPECT(class_of(MPI_Send(&x, -1, MPI_INT, 0, 0, world)), MPI_ERR_COUNT);
    EXPECT(class_of(MPI_Send(&x, 1, MPI_INT, 0, -5, world)), MPI_ERR_TAG);
    EXPECT(class_of(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world)), MPI_ERR_TYPE);
    EXPECT(class_of(MPI_Send(NULL, 1, MPI_INT, 0, 0, world)), MPI_ERR_BUFFER);
    EXPECT(class_of(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL)), MPI_ERR_COMM);
    EXPECT(class_of(MPI_Recv(&x, 1, MPI_INT, -7, 0, world, MPI_STATUS_IGNORE)), MPI_ERR_RANK);
    EXPECT(class_of(MPI_Recv(&x, 1, MPI_INT, 0, -7, world, MPI_STATUS_IGNORE)), MPI_ERR_TAG);
    MPI_Datatype fresh;
    MPI_Type_contiguous(3, MPI_INT, &fresh);
    EXPECT(class_of(MPI_Send(&x, 1, fresh, 0, 0, world)), MPI_ERR_TYPE);
    MPI_Datatype stale = fresh;
    MPI_Type_free(&fresh);
    EXPECT(class_of(MPI_Send(&x, 1, stale, 0, 0, world)), MPI_ERR_TYPE);
    MPI_Comm dup, gone;
    MPI_Comm_dup(world, &dup);
    gone = dup;
    MPI_Comm_free(&dup);
    EXPECT(class_of(MPI_Send(&x, 1, MPI_INT, 0, 0, gone)), MPI_ERR_COMM);
}

/* Only collectives may have MPI_IN_PLACE as a buffer. */
static void test_in_place(void)
{
    int x = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    MPI_Request request;
    MPI_Datatype derived;
    MPI_Type_contiguous(2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    EXPECT_ERROR(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Send(MPI_IN_PLACE, 1, derived, 0, 0, world), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world, &request), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Bsend(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Ssend_init(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world, &request), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world, ignore), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world, &request), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, MPI_IN_PLACE, 1, MPI_INT, 0, 0, world, ignore),
                 MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Sendrecv_replace(MPI_IN_PLACE, 1, MPI_INT, 0, 0, 0, 0, world, ignore),
                 MPI_ERR_BUFFER);
    MPI_Type_free(&derived);
}

/* Nothing goes to or comes from MPI_PROC_NULL, so that the type may be left out. */
static void test_no_type(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    int x = 0;
    EXPECT_ERROR(MPI_Recv(NULL, 0, none, MPI_PROC_NULL, 0, world, &status), MPI_SUCCESS);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_ERROR(MPI_Irecv(NULL, 0, none, MPI_PROC_NULL, MPI_ANY_TAG, world, &request),
                 MPI_SUCCESS);
    MPI_Wait(&request, &status);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_ERROR(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 0, world), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Isend(NULL, 0, none, MPI_PROC_NULL, 0, world, &request), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_ERROR(MPI_Ssend(NULL, 0, none, MPI_PROC_NULL, 0, world), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Bsend(NULL, 0, none, MPI_PROC_NULL, 0, world), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Recv_init(NULL, 0, none, MPI_PROC_NULL, 0, world, &request), MPI_SUCCESS);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    EXPECT_ERROR(MPI_Send_init(NULL, 0, none, MPI_PROC_NULL, 0, world, &request), MPI_SUCCESS);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    EXPECT_ERROR(MPI_Sendrecv(NULL, 0, none, MPI_PROC_NULL, 0, NULL, 0, none, MPI_PROC_NULL, 0,
                              world, &status),
                 MPI_SUCCESS);
    EXPECT_ERROR(
        MPI_Sendrecv_replace(NULL, 0, none, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, world, &status),
        MPI_SUCCESS);
    EXPECT_ERROR(MPI_Mrecv(NULL, 0, none, &message, &status), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Send(&x, 1, none, MPI_PROC_NULL, 0, world), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Recv(&x, 1, none, MPI_PROC_NULL, 0, world, &status), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Send(NULL, 0, none, 0, 0, world), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Send(NULL, -1, none, MPI_PROC_NULL, 0, world), MPI_ERR_COUNT);
}

/* A request that nobody gets: nothing is sent, and no receive waits. */
static void test_no_request(void)
{
    int x = 0, y = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Status status;
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank - 1 + expect_size) % expect_size;
    EXPECT_ERROR(MPI_Isend(&x, 1, MPI_INT, right, 7, world, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Irecv(&y, 1, MPI_INT, left, 7, world, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Isendrecv(&x, 1, MPI_INT, right, 7, &y, 1, MPI_INT, left, 7, world, NULL),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Isendrecv_replace(&x, 1, MPI_INT, right, 7, left, 7, world, NULL),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Startall(1, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Startall(0, NULL), MPI_SUCCESS);
    x = expect_rank + 1;
    EXPECT(MPI_Sendrecv(&x, 1, MPI_INT, right, 7, &y, 1, MPI_INT, left, 7, world, &status),
           MPI_SUCCESS);
    EXPECT(y, left + 1);
}

/* Counts whose bytes do not fit 64 bits must not wrap round to small ones. */
static void test_sizes(void)
{
    double x = 0;
    MPI_Count count = ((MPI_Count)1 << 61) + 1;
    MPI_Request request;
    EXPECT_ERROR(MPI_Send_c(&x, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Irecv_c(&x, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Ibsend_c(&x, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request),
                 MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Bcast_c(&x, count, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Allreduce_c(MPI_IN_PLACE, &x, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
                 MPI_ERR_COUNT);
}

static void test_text(void)
{
    char expected[200];
    int x = 0;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&x, 1, MPI_INT, expect_size + 3, 0, MPI_COMM_WORLD);
    EXPECT(class_of(seen_error), MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    (void)expected;
}

/* A message that is too long: the error, the part that fits, and nothing beyond. */
static void test_truncation(int bytes, int room)
{
    static char out[200000], in[200001];
    MPI_Request request;
    MPI_Status status;
    int count;
    memset(out, 1, sizeof(out));
    memset(in, 9, sizeof(in));
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank - 1 + expect_size) % expect_size;
    MPI_Isend(out, bytes, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    int error = MPI_Recv(in, room, MPI_CHAR, left, 0, MPI_COMM_WORLD, &status);
    EXPECT(class_of(error), bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_CHAR, &count);
    EXPECT(count, room < bytes ? room : bytes);
    EXPECT(in[room], 9);
    EXPECT(room == 0 || in[room - 1] == 1 || bytes < room, 1);
}

static void test_truncation_in_waitall(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int two[2] = {1, 2}, one = 0;
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank - 1 + expect_size) % expect_size;
    MPI_Irecv(&one, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(two, 2, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[1]);
    EXPECT(class_of(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
    EXPECT(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
    EXPECT(statuses[1].MPI_ERROR, MPI_SUCCESS);
    EXPECT(one, 1);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 40, 100, 5000, 100000};
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_arguments();
    test_in_place();
    test_no_type();
    test_no_request();
    test_sizes();
    test_text();
    for (int i = 0; i < 5; i++) {
        test_truncation(sizes[i], sizes[i] / 2);
        test_truncation(sizes[i], 0);
        test_truncation(sizes[i], sizes[i] + 10);
    }
    test_truncation_in_waitall();
    return expect_end();
}
