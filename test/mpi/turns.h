/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the first two ranks, which run on one host: a rank that waits for its turn is out of
 * MPI, and so makes no progress. */
#ifndef TEST_MPI_TURNS_H
#define TEST_MPI_TURNS_H

#include "expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int turn_of[2]; /* pipes: a byte in one says that it is the turn of that rank */

/* Collective over MPI_COMM_WORLD. */
static inline void turns_open(void)
{
    char folder[] = "/tmp/weft-turns-XXXXXX", path[64];
    if (expect_rank == 0)
        EXPECT(mkdtemp(folder) != NULL, 1);
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        if (expect_rank == 0)
            EXPECT(mkfifo(path, 0600), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        turn_of[i] = open(path, O_RDWR);
        EXPECT(turn_of[i] >= 0, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (expect_rank == 0)
            unlink(path);
    }
    if (expect_rank == 0)
        rmdir(folder);
}

static inline void turn_give(int rank)
{
    EXPECT((int)write(turn_of[rank], "", 1), 1);
}

static inline void turn_await(int rank)
{
    char byte;
    EXPECT((int)read(turn_of[rank], &byte, 1), 1);
}

#endif
