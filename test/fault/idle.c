/* SPDX-License-Identifier: BSD-3-Clause */
/* idle SECONDS: rank 0 sleeps for so long while all others wait for it in MPI. Prints the processor
 * milliseconds that all ranks together use meanwhile. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static double processor_ms(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return 1e3 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int rank, nothing = 0;
    double used, all = 0;
    if (argc < 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    used = processor_ms();
    if (rank == 0)
        sleep((unsigned)strtol(argv[1], NULL, 10));
    /* Half of them wait for a message, half in a collective. */
    for (int dest = 1, size; rank == 0; dest += 2) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (dest >= size)
            break;
        MPI_Send(&nothing, 1, MPI_INT, dest, 0, MPI_COMM_WORLD);
    }
    if (rank % 2 == 1)
        MPI_Recv(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_WORLD);
    used = processor_ms() - used;
    MPI_Reduce(&used, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.0f\n", all);
    MPI_Finalize();
    return 0;
}
