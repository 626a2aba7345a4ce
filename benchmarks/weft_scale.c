/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job of this size costs each rank: time of MPI_Init, memory of the heap after it, after a
 * dup, and after the first message to every rank. Rank 0 prints the greatest of all ranks as one
 * object of JSON. */
#include <mpi.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { DUPS = 20, FACTS = 5 };

static double heap_bytes(void)
{
    return (double)mallinfo2().uordblks;
}

/* Microseconds and bytes of one dup. */
static void dup_some(double *us_out, double *bytes_out)
{
    MPI_Comm comms[DUPS];
    double bytes = heap_bytes(), start = MPI_Wtime();
    for (int i = 0; i < DUPS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    *us_out = (MPI_Wtime() - start) / DUPS * 1e6;
    *bytes_out = (heap_bytes() - bytes) / DUPS;
    for (int i = 0; i < DUPS; i++)
        MPI_Comm_free(&comms[i]);
}

/* Every rank sends to every rank, so that all connections are made. */
static double talk_to_all(int rank, int size)
{
    double start = MPI_Wtime();
    for (int distance = 1; distance < size; distance++) {
        int sent = rank, got = -1, from = (rank + size - distance) % size;
        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + distance) % size, 0, &got, 1, MPI_INT, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got != from)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return (MPI_Wtime() - start) * 1e3;
}

int main(int argc, char **argv)
{
    int rank, size;
    double own[FACTS], most[FACTS], before = heap_bytes();
    MPI_Init(&argc, &argv);
    own[0] = heap_bytes() - before;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    dup_some(&own[1], &own[2]);
    before = heap_bytes();
    own[3] = talk_to_all(rank, size);
    own[4] = heap_bytes() - before;
    MPI_Reduce(own, most, FACTS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"size\": %d, \"init_heap\": %.0f, \"dup_us\": %.1f, \"dup_heap\": %.0f, "
               "\"all_ms\": %.1f, "
               "\"all_heap\": %.0f}\n",
               size, most[0], most[1], most[2], most[3], most[4]);
    MPI_Finalize();
    return 0;
}
