/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread uses a communicator alone for long, and then stays out of MPI: messages that come for
 * the other thread of the rank must be found all the same, by calls that wait and by loops of calls
 * that do not.
 */
#include "../expect.h"

#include <pthread.h>

enum { PINGS = 5000, PING = 1, LATE = 2 };

static MPI_Comm comm; /* of ranks 0 and 1 */
static pthread_barrier_t is_idle, may_end;

static void ping(int number)
{
    int got = -1, peer = 1 - expect_rank;
    if (expect_rank == 0)
        MPI_Send(&number, 1, MPI_INT, peer, PING, comm);
    MPI_Recv(&got, 1, MPI_INT, peer, PING, comm, MPI_STATUS_IGNORE);
    if (expect_rank == 1)
        MPI_Send(&got, 1, MPI_INT, peer, PING, comm);
    EXPECT(got, number);
}

static void *use_and_stay_out(void *unused)
{
    for (int i = 0; i < PINGS; i++)
        ping(i);
    pthread_barrier_wait(&is_idle);
    pthread_barrier_wait(&may_end);
    return unused;
}

static void test_wait(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void test_test(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void test_testall(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
}

static void test_testany(MPI_Request *request)
{
    for (int flag = 0, index = -1; !flag;)
        MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
}

static void test_testsome(MPI_Request *request)
{
    for (int count = 0, index = -1; count == 0;)
        MPI_Testsome(1, request, &count, &index, MPI_STATUSES_IGNORE);
}

static void test_waitany(MPI_Request *request)
{
    int index = -1;
    MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
    EXPECT(index, 0);
}

static void test_status(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

typedef void (*complete_fn_t)(MPI_Request *request);

static const complete_fn_t ways[] = {test_wait,     test_test,    test_testall, test_testany,
                                     test_testsome, test_waitany, test_status};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* The request is older than the other thread's use of the communicator. */
static void receive_late(int way)
{
    MPI_Request request;
    pthread_t thread;
    int got = -1;
    MPI_Irecv(&got, 1, MPI_INT, 1, LATE, comm, &request);
    pthread_create(&thread, NULL, use_and_stay_out, NULL);
    pthread_barrier_wait(&is_idle);
    MPI_Send(&way, 1, MPI_INT, 1, LATE, MPI_COMM_WORLD);
    ways[way](&request);
    EXPECT(request == MPI_REQUEST_NULL, 1);
    EXPECT(got, way);
    pthread_barrier_wait(&may_end);
    pthread_join(thread, NULL);
}

/* Rank 1 has one thread, which sends the late message when it is asked to. */
static void send_late(void)
{
    int asked = -1;
    for (int i = 0; i < PINGS; i++)
        ping(i);
    MPI_Recv(&asked, 1, MPI_INT, 0, LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&asked, 1, MPI_INT, 0, LATE, comm);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank < 2, 0, &comm);
    pthread_barrier_init(&is_idle, NULL, 2);
    pthread_barrier_init(&may_end, NULL, 2);
    for (int way = 0; way < WAYS && expect_rank < 2; way++) {
        if (expect_rank == 0)
            receive_late(way);
        else
            send_late();
    }
    MPI_Comm_free(&comm);
    return expect_end();
}
