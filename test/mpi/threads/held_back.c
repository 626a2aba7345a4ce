/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets to another host may be held back until the next wait. That may be one for a message of
 * the same host which needs its VCI alone, and after it the program may leave MPI for ever.
 */
#include "../expect.h"

#include <signal.h>
#include <unistd.h>

enum { MESSAGES = 5, ROUNDS = 20, TAG = 3 };

static MPI_Comm pair; /* ranks 0 and 1, which share a host */

static void await(int number)
{
    sigset_t signals;
    int came;
    sigemptyset(&signals);
    sigaddset(&signals, number);
    sigwait(&signals, &came);
}

/* Signals say that rank 1 has sent, and that rank 2 has got all: meanwhile this rank is not in MPI.
 */
static void send_and_leave(void)
{
    int out[MESSAGES] = {0}, in = 0;
    MPI_Request requests[MESSAGES];
    await(SIGUSR2);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(&out[i], 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv(&in, 1, MPI_INT, 1, TAG, pair, MPI_STATUS_IGNORE);
    EXPECT(in, 7);
    await(SIGUSR1);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void receive_and_tell(pid_t process)
{
    int in;
    for (int i = 0; i < MESSAGES; i++)
        MPI_Recv(&in, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kill(process, SIGUSR1);
}

static void send_and_tell(pid_t process)
{
    int seven = 7;
    MPI_Send(&seven, 1, MPI_INT, 0, TAG, pair);
    kill(process, SIGUSR2);
}

static void test_round(pid_t process)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == 0)
        send_and_leave();
    else if (expect_rank == 1)
        send_and_tell(process);
    else
        receive_and_tell(process);
}

int main(int argc, char **argv)
{
    int provided;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* in all threads */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    EXPECT(expect_size, 3);
    long long process = getpid();
    MPI_Bcast(&process, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank / 2, expect_rank, &pair);
    for (int round = 0; round < ROUNDS; round++)
        test_round((pid_t)process);
    MPI_Comm_free(&pair);
    return expect_end();
}
