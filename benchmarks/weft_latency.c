/* SPDX-License-Identifier: BSD-3-Clause */
/* Half of a round trip between ranks 0 and 1; further ranks wait. */
#include "bench.h"

#include <mpi.h>

#define TAG 1

typedef struct latency {
    void *send, *receive;
} latency_t;

static void prepare(bench_t *bench, size_t bytes)
{
    latency_t *own = bench->own;

    own->send = bench_buffer(bench, bytes, 'a');
    own->receive = bench_buffer(bench, bytes, 'b');
    if (bench->options.is_checked)
        bench_fill(own->send, bytes, (unsigned)bench->rank);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    const latency_t *own = bench->own;
    int peer = 1 - bench->rank, count = (int)bytes;
    double begin_us = bench_now_us();

    if (bench->rank > 1)
        return BENCH_NO_PART;
    for (int i = 0; i < iterations; i++) {
        if (bench->rank == 0)
            MPI_Send(own->send, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(own->receive, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench->rank == 1)
            MPI_Send(own->send, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
    }
    return bench->rank == 0 ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static size_t check(bench_t *bench, size_t bytes)
{
    const latency_t *own = bench->own;

    return bench->rank > 1 ? 0 : bench_wrong(own->receive, bytes, 1 - (unsigned)bench->rank);
}

static double half(const bench_t *bench, size_t bytes, double us)
{
    (void)bench;
    (void)bytes;
    return us / 2;
}

int main(int argc, char **argv)
{
    static const bench_test_t test = {
        .name = "weft_latency",
        .column = "Avg Latency(us)",
        .value = half,
        .min_bytes = 0,
        .max_bytes = 4 << 20,
        .unit = 1,
        .min_ranks = 2,
        .iterations = 10000,
        .large_iterations = 1000,
        .prepare = prepare,
        .run = run,
        .check = check,
    };
    latency_t own;

    return bench_main(&test, &own, argc, argv);
}
