/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that find no room keep their order: those that say that a message has been fetched come
 * before those to the MPI_Cancel of its send. The first two ranks; pipes keep each of them out of
 * MPI while the other one works. */
#include "../expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int turn_of[2]; /* pipes: a byte in one says that it is the turn of that rank */

static void open_pipes(int rank)
{
    char folder[] = "/tmp/weft-late-answers-XXXXXX", path[64];
    if (rank == 0)
        EXPECT(mkdtemp(folder) != NULL, 1);
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        if (rank == 0)
            EXPECT(mkfifo(path, 0600), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        turn_of[i] = open(path, O_RDWR);
        EXPECT(turn_of[i] >= 0, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            unlink(path);
    }
    if (rank == 0)
        rmdir(folder);
}

static void give_turn(int rank)
{
    EXPECT((int)write(turn_of[rank], "", 1), 1);
}

static void await_turn(int rank)
{
    char byte;
    EXPECT((int)read(turn_of[rank], &byte, 1), 1);
}

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
    give_turn(1);
    await_turn(0);
    for (int i = SENDS - 1; i >= 0; i--)
        MPI_Cancel(&requests[i]);
    make_progress(1);
    give_turn(1);
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
    await_turn(1);
    for (int i = 0; i < FLOOD; i++) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, 0, SMALL, MPI_COMM_WORLD, &requests[i]);
    }
    make_progress(0);
    give_turn(0);
    await_turn(1);
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
        open_pipes(expect_rank);
        if (expect_rank == 0)
            send_and_cancel();
        else if (expect_rank == 1)
            answer();
    }
    return expect_end();
}
