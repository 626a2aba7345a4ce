/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call has sent by the time that it returns arrives, though the sender leaves MPI for as
 * long as it likes: rank 0 waits for the others outside MPI, at a pipe with a name, until they have
 * everything. All ranks are on one machine, perhaps on several simulated hosts.
 */
#include "expect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAG = 5, MESSAGES = 4, ROUNDS = 20 };

typedef enum way { TWO_BCASTS, WAITALL, WAITANY, TEST, SENDS, WAYS } way_t;

static char path[200];

/* Rank 0 has heard of all others just before: so packets to them may wait for more. */
static void hear_all(void)
{
    int own = expect_rank, *all = malloc((size_t)expect_size * sizeof(int));
    MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(all);
}

static void send_to_all(way_t way)
{
    MPI_Request requests[MESSAGES];
    int values[MESSAGES] = {0}, index, is_done = 0;
    for (int to = 1; to < expect_size; to++) {
        for (int i = 0; i < MESSAGES && way != SENDS; i++)
            MPI_Isend(&values[i], 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < MESSAGES && way == SENDS; i++)
            MPI_Send(&values[i], 1, MPI_INT, to, TAG, MPI_COMM_WORLD);
        if (way == WAITALL)
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MESSAGES && way == WAITANY; i++)
            MPI_Waitany(MESSAGES, requests, &index, MPI_STATUS_IGNORE);
        for (int i = 0; i < MESSAGES && way == TEST; i++) {
            for (is_done = 0; !is_done;)
                MPI_Test(&requests[i], &is_done, MPI_STATUS_IGNORE);
        }
    }
}

static void take_all(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void move(way_t way)
{
    int value = 0;
    hear_all();
    if (way == TWO_BCASTS) {
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (expect_rank == 0) {
        send_to_all(way);
    } else {
        take_all();
    }
}

/* Rank 0 reads a byte of each other rank, and calls nothing of MPI meanwhile. */
static void meet_outside(int fd)
{
    char byte = 1;
    for (int i = 1; expect_rank == 0 && i < expect_size; i++)
        EXPECT(read(fd, &byte, 1), 1);
    if (expect_rank != 0)
        EXPECT(write(fd, &byte, 1), 1);
}

static int open_pipe(void)
{
    const char *folder = getenv("TMPDIR");
    if (expect_rank == 0) {
        snprintf(path, sizeof(path), "%.150s/weft-leaves-%d", folder == NULL ? "/tmp" : folder,
                 (int)getpid());
        EXPECT(mkfifo(path, 0600), 0);
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    int fd = open(path, O_RDWR); /* no end waits for the other to be opened */
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == 0)
        unlink(path);
    return fd;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    int fd = open_pipe();
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            move((way_t)way);
            meet_outside(fd);
        }
    }
    close(fd);
    return expect_end();
}
