/* SPDX-License-Identifier: BSD-3-Clause */
/* Half of a round trip between ranks 0 and 1; further ranks wait. */
#include "bench.h"
#include "bench_area.h"

#include <mpi.h>

#define TAG 1

typedef struct latency {
    bench_area_t *send, *receive;
} latency_t;

static void prepare(bench_t *bench, size_t bytes)
{
    latency_t *own = bench->own;
    int which = bench->rank > 0;

    own->send = bench_area(bench, bytes, which);
    own->receive = bench_area(bench, bytes, which);
    if (bench->options.is_checked)
        bench_area_fill(own->send, (unsigned)bench->rank);
}

static void send(const bench_area_t *from, int peer)
{
    bench_area_out(from, 0);
    MPI_Send(bench_area_buffer(from, 0), from->count, from->type, peer, TAG, MPI_COMM_WORLD);
}

static void receive(const bench_area_t *to, int peer)
{
    MPI_Recv(bench_area_buffer(to, 0), to->count, to->type, peer, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    bench_area_in(to, 0);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    const latency_t *own = bench->own;
    int peer = 1 - bench->rank;
    double begin_us = bench_now_us();

    (void)bytes;
    if (bench->rank > 1)
        return BENCH_NO_PART;
    for (int i = 0; i < iterations; i++) {
        if (bench->rank == 0)
            send(own->send, peer);
        receive(own->receive, peer);
        if (bench->rank == 1)
            send(own->send, peer);
    }
    return bench->rank == 0 ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static size_t check(bench_t *bench, size_t bytes)
{
    const latency_t *own = bench->own;

    (void)bytes;
    return bench->rank > 1 ? 0 : bench_area_wrong(own->receive, 1 - (unsigned)bench->rank);
}

int main(int argc, char **argv)
{
    latency_t own;
    bench_test_t test = {
        .name = "weft_latency",
        .column = "Avg Latency(us)",
        .value = bench_half,
        .min_bytes = 0,
        .max_bytes = 4 << 20,
        .unit = 1,
        .takes_vector = true,
        .min_ranks = 2,
        .iterations = 10000,
        .large_iterations = 1000,
        .prepare = prepare,
        .run = run,
        .check = check,
        .own = &own,
    };

    return bench_main(&test, 1, argc, argv);
}
