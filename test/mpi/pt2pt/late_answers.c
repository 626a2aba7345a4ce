/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that find no room keep their order: those that say that a message has been fetched come
 * before those to the MPI_Cancel of its send. The first two ranks; pipes keep each of them out of
 * MPI while the other one works. */
#include "../turns.h"

enum {
    SENDS = 8,
    BYTES = 20000,
    FLOOD = 20000, /* more messages than there is room for */
    ROUNDS = 3000, /* of progress: more than a message waits before it is fetched */
    ANNOUNCED = 1,
    SMALL,
    LAST,
    NEVER_SENT
};

static void make_progress(int peer)
{
    for (int i = 0, flag; i < ROUNDS; i++)
        MPI_Iprobe(peer, NEVER_SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Its ring is full when the messages have been fetched, and empty when it cancels them. */
static void send_and_cancel(void)
{
    static char content[SENDS][BYTES];
    MPI_Request requests[SENDS];
    int value;
    for (int i = 0; i < SENDS; i++)
        MPI_Isend(content[i], BYTES, MPI_BYTE, 1, ANNOUNCED, MPI_COMM_WORLD, &requests[i]);
    turn_give(1);
    turn_await(0);
    for (int i = SENDS - 1; i >= 0; i--)
        MPI_Cancel(&requests[i]);
    make_progress(1);
    turn_give(1);
    for (int i = SENDS - 1; i >= 0; i--) {
        MPI_Status status;
        int is_cancelled = 0;
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        EXPECT(is_cancelled, 1);
    }
    for (int i = 0; i < FLOOD; i++) {
        MPI_Recv(&value, 1, MPI_INT, 1, SMALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(value, i);
    }
    MPI_Send(NULL, 0, MPI_INT, 1, LAST, MPI_COMM_WORLD);
}

static void answer(void)
{
    static MPI_Request requests[FLOOD];
    static int values[FLOOD];
    int flag;
    turn_await(1);
    for (int i = 0; i < FLOOD; i++) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, 0, SMALL, MPI_COMM_WORLD, &requests[i]);
    }
    make_progress(0);
    turn_give(0);
    turn_await(1);
    MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(NULL, 0, MPI_INT, 0, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(0, ANNOUNCED, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    if (expect_size > 1) {
        turns_open();
        if (expect_rank == 0)
            send_and_cancel();
        else if (expect_rank == 1)
            answer();
    }
    return expect_end();
}
