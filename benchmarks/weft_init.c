/* SPDX-License-Identifier: BSD-3-Clause */
/* How long MPI_Init and MPI_Finalize take: mean, least and greatest of all ranks. --json prints
 * JSON, as in the other benchmarks. */
#include "bench.h"

#include <mpi.h>

#include <stdio.h>
#include <string.h>

static void print(int ranks, const char *library, const double mean_min_max_ms[3], bool is_json)
{
    const double *ms = mean_min_max_ms;

    if (is_json) {
        printf("{\"benchmark\": \"weft_init\", \"ranks\": %d, \"library\": \"%s\"}\n", ranks,
               library);
        printf("{\"bytes\": 0, \"value\": %.3f, \"unit\": \"ms\", \"min\": %.3f, \"max\": %.3f}\n",
               ms[0], ms[1], ms[2]);
    } else {
        printf("# weft_init, %d ranks, %s\n#%20s%20s%20s\n", ranks, library, "Avg Init(ms)", "Min",
               "Max");
        printf(" %20.2f%20.2f%20.2f\n", ms[0], ms[1], ms[2]);
    }
}

int main(int argc, char **argv)
{
    double begin_us = bench_now_us(), ms, out[3] = {0, 0, 0};
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, ranks;

    MPI_Init(&argc, &argv);
    ms = (bench_now_us() - begin_us) * 1e-3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&ms, &out[0], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&ms, &out[1], 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&ms, &out[2], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    out[0] /= ranks;
    bench_library(library, sizeof(library));
    if (rank == 0)
        print(ranks, library, out, argc > 1 && strcmp(argv[1], "--json") == 0);
    MPI_Finalize();
    return 0;
}
