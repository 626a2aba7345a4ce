/* SPDX-License-Identifier: BSD-3-Clause */
/* Small and large messages between all ranks; each rank prints "rank N: right", or the error. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 3 };

static const int counts[SIZES] = {1, 5000, 400000};

static int check(int count, int rank, int size)
{
    int wrong = 0;
    int *own = malloc((size_t)count * sizeof(int)), *got = malloc((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        own[i] = rank + i;
    MPI_Sendrecv(own, count, MPI_INT, (rank + 1) % size, 0, got, count, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        wrong += got[i] != (rank + size - 1) % size + i;
    MPI_Allreduce(own, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        wrong += got[i] != size * (size - 1) / 2 + size * i;
    free(own);
    free(got);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < SIZES; i++)
        wrong += check(counts[i], rank, size);
    if (wrong == 0)
        printf("rank %d: right\n", rank);
    else
        printf("rank %d: %d elements are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
