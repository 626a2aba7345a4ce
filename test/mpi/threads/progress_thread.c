/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_PROGRESS_THREAD: operations go on while rank 0 is out of MPI. It begins one, and waits for a
 * signal, which another rank sends when its own part is complete; without the thread that would be
 * never.
 */
#include "../expect.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 300000, MANY = 200, ROUNDS = 3 };

static int pid_of_first;
static MPI_Comm others; /* all but rank 0 */
static int *given, *got;

static void put(int *to, int from)
{
    for (int i = 0; i < LONG; i++)
        to[i] = from * 1000 + i;
}

static int count_wrong(const int *data, int times, int plus)
{
    int wrong = 0;
    for (int i = 0; i < LONG; i++)
        wrong += data[i] != plus * 1000 + times * i;
    return wrong;
}

static void compute(void)
{
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigwait(&signals, &signal);
}

static void end_computing(void)
{
    kill(pid_of_first, SIGUSR1);
}

/* A receive of a long message needs an answer to its sender. */
static void receive_long(void)
{
    if (expect_rank == 0) {
        MPI_Request request;
        MPI_Irecv(got, LONG, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        compute();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(count_wrong(got, 1, 1), 0);
    } else if (expect_rank == 1) {
        MPI_Send(given, LONG, MPI_INT, 0, 1, MPI_COMM_WORLD);
        end_computing();
    }
}

static void send_long(void)
{
    if (expect_rank == 0) {
        MPI_Request request;
        MPI_Isend(given, LONG, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        compute();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (expect_rank == 1) {
        MPI_Recv(got, LONG, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(count_wrong(got, 1, 0), 0);
        end_computing();
    }
}

/* Each synchronous send waits until its receive has it. */
static void receive_many(void)
{
    if (expect_rank == 0) {
        MPI_Request request[MANY];
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &request[i]);
        compute();
        MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++)
            EXPECT(got[i], 1000 + i);
    } else if (expect_rank == 1) {
        for (int i = MANY - 1; i >= 0; i--)
            MPI_Ssend(&given[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        end_computing();
    }
}

/* The others are done, all of them. */
static void leave_first_behind(MPI_Request *request)
{
    if (expect_rank == 0)
        compute();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (expect_rank == 0)
        return;
    MPI_Barrier(others);
    if (expect_rank == 1)
        end_computing();
}

static void add_up(void)
{
    MPI_Request request;
    MPI_Iallreduce(given, got, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    leave_first_behind(&request);
    EXPECT(count_wrong(got, expect_size, expect_size * (expect_size - 1) / 2), 0);
}

/* Its data come to rank 0 last, and from there to others. */
static void pass_on(void)
{
    MPI_Request request;
    int root = expect_size - 1;
    MPI_Ibcast(expect_rank == root ? given : got, LONG, MPI_INT, root, MPI_COMM_WORLD, &request);
    leave_first_behind(&request);
    if (expect_rank != root)
        EXPECT(count_wrong(got, 1, root), 0);
}

static void start_again(void)
{
    MPI_Request request;
    MPI_Allreduce_init(given, got, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < ROUNDS; round++) {
        memset(got, 0, LONG * sizeof(int));
        MPI_Start(&request);
        leave_first_behind(&request);
        EXPECT(count_wrong(got, expect_size, expect_size * (expect_size - 1) / 2), 0);
    }
    MPI_Request_free(&request);
}

static void begin(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

int main(int argc, char **argv)
{
    static void (*const cases[])(void) = {receive_long, send_long, receive_many,
                                          add_up,       pass_on,   start_again};
    begin();
    MPI_Init(&argc, &argv);
    expect_begin();
    pid_of_first = (int)getpid();
    MPI_Bcast(&pid_of_first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank > 0, expect_rank, &others);
    given = malloc(LONG * sizeof(int));
    got = malloc(LONG * sizeof(int));
    put(given, expect_rank);
    for (size_t round = 0; round < ROUNDS * sizeof(cases) / sizeof(cases[0]); round++)
        cases[round % (sizeof(cases) / sizeof(cases[0]))]();
    MPI_Barrier(MPI_COMM_WORLD);
    free(given);
    free(got);
    MPI_Comm_free(&others);
    return expect_end();
}
