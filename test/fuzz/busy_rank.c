/* SPDX-License-Identifier: BSD-3-Clause */
/* busy_rank SECONDS FILE: exchanges messages of several sizes for so long. Rank 0 makes FILE when
 * all are about to call MPI_Finalize; each rank that has come through it prints "over RANK". */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGEST = 200000 };

static char sent[LARGEST], got[LARGEST];

static void exchange(int rank, int size)
{
    static const int bytes[] = {8, 5000, LARGEST};
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(sent, bytes[i], MPI_CHAR, (rank + 1) % size, i, got, bytes[i], MPI_CHAR,
                     (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size;
    double elapsed = 0;
    if (argc < 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double began = MPI_Wtime();
    while (elapsed < strtod(argv[1], NULL)) {
        exchange(rank, size);
        elapsed = MPI_Wtime() - began;
        MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0)
        fclose(fopen(argv[2], "w"));
    MPI_Finalize();
    printf("over %d\n", rank);
    return 0;
}
