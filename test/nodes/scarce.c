/* SPDX-License-Identifier: BSD-3-Clause */
/* scarce files|hard-files|memory: each rank limits its open files or memory after MPI_Init to a
 * little more than it uses, then exchanges numbers with all others. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES_MORE = 2, MEMORY_MORE = 100000 };

static void limit(int resource, rlim_t most, int is_hard)
{
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = most;
    if (is_hard)
        limit.rlim_max = most;
    setrlimit(resource, &limit);
}

static void limit_files(int is_hard)
{
    int lowest = dup(0);
    close(lowest);
    limit(RLIMIT_NOFILE, (rlim_t)lowest + FILES_MORE, is_hard);
}

static void limit_memory(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1)
        exit(1);
    fclose(file);
    limit(RLIMIT_AS, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MORE, 1);
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "memory") == 0)
        limit_memory();
    else
        limit_files(strcmp(what, "hard-files") == 0);
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size, number = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &number, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (number != from)
            printf("rank %d: %d from rank %d, expected %d\n", rank, number, from, from);
    }
    MPI_Finalize();
    return 0;
}
