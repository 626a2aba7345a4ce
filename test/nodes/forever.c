/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges small and large messages until it is killed; makes the file argv[1] after the first
 * round. */
#include <mpi.h>

#include <stdio.h>

enum { BYTES = 1 << 20 };

static char sent[BYTES], got[BYTES];

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0;; round++) {
        MPI_Sendrecv(sent, BYTES, MPI_CHAR, (rank + 1) % size, 0, got, BYTES, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (round == 0 && rank == 0 && argc > 1)
            fclose(fopen(argv[1], "w"));
    }
}
