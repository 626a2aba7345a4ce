/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of the processor ranks use while they are blocked: all but rank 0 wait for two seconds
 * in MPI_Recv; 100 % is one core.
 */
#include "bench.h"

#include <mpi.h>

#include <sys/resource.h>
#include <time.h>

#define BLOCKED_S 2
#define TAG       1

static void prepare(bench_t *bench, size_t bytes)
{
    (void)bench;
    (void)bytes;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static double processor_us(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (seconds(&used.ru_utime) + seconds(&used.ru_stime)) * 1e6;
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    const struct timespec pause = {.tv_sec = BLOCKED_S};
    double before_us;

    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    before_us = processor_us();
    for (int i = 0; i < iterations; i++) {
        if (bench->rank > 0)
            MPI_Recv(NULL, 0, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            nanosleep(&pause, NULL);
        for (int rank = 1; bench->rank == 0 && rank < bench->ranks; rank++)
            MPI_Send(NULL, 0, MPI_CHAR, rank, TAG, MPI_COMM_WORLD);
    }
    return processor_us() - before_us;
}

/* `us` is the mean of the ranks. */
static double percent_of_core(const bench_t *bench, size_t bytes, double us)
{
    (void)bytes;
    return us * bench->ranks / (BLOCKED_S * 1e6) * 100;
}

int main(int argc, char **argv)
{
    bench_test_t test = {
        .name = "weft_idle",
        .column = "Processor(%)",
        .value = percent_of_core,
        .has_no_size = true,
        .min_ranks = 2,
        .iterations = 1,
        .large_iterations = 1,
        .prepare = prepare,
        .run = run,
    };

    return bench_main(&test, 1, argc, argv);
}
