/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank for the tests without a launcher: it adds up the ranks, and does what its arguments say.
 *   abort R      rank R calls MPI_Abort with 7          kill R    rank R kills itself
 *   leave R      rank R exits with 0 amid the program   run TEXT  each rank runs a command
 * In the first three the other ranks wait to be ended.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int act(const char *action, const char *argument, int rank)
{
    if (strcmp(action, "run") == 0)
        return system(argument) != 0;
    if (atoi(argument) == rank) {
        if (strcmp(action, "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 7);
        if (strcmp(action, "kill") == 0)
            raise(SIGKILL);
        exit(0);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int rank, size, sum, code = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2)
        code = 1;
    if (argc > 2)
        code = act(argv[1], argv[2], rank);
    MPI_Finalize();
    return code;
}
