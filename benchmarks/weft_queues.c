/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half of a round trip between ranks 0 and 1, where each message has to find its receive among many
 * others.
 *   posted      each rank has posted --depth receives for other messages of the peer before
 *   unexpected  each rank has got --depth messages of the peer that nothing is posted for
 */
#include "bench.h"

#include <mpi.h>

#include <stdio.h>

#define TAG       0
#define FIRST_TAG 1 /* of the others: FIRST_TAG to FIRST_TAG + depth - 1 */

typedef struct queues {
    bool are_posted;
    char *data, *others;   /* [bytes], [depth] */
    MPI_Request *requests; /* [depth] */
} queues_t;

static void post_others(const bench_t *bench)
{
    const queues_t *own = bench->own;

    for (int i = 0; i < bench->options.depth; i++)
        MPI_Irecv(&own->others[i], 1, MPI_CHAR, 1 - bench->rank, FIRST_TAG + i, MPI_COMM_WORLD,
                  &own->requests[i]);
}

static void send_others(const bench_t *bench)
{
    const queues_t *own = bench->own;

    for (int i = 0; i < bench->options.depth; i++)
        MPI_Send(&own->others[i], 1, MPI_CHAR, 1 - bench->rank, FIRST_TAG + i, MPI_COMM_WORLD);
}

static void prepare(bench_t *bench, size_t bytes)
{
    queues_t *own = bench->own;
    size_t depth = (size_t)bench->options.depth;

    own->data = bench_buffer(bench, bytes, 0);
    own->others = bench_buffer(bench, depth, 0);
    own->requests = bench_buffer(bench, depth * sizeof(MPI_Request), 0);
    if (bench->rank > 1)
        return;
    if (own->are_posted)
        post_others(bench);
    else
        send_others(bench);
}

static void release(bench_t *bench)
{
    const queues_t *own = bench->own;

    if (bench->rank > 1)
        return;
    if (own->are_posted)
        send_others(bench);
    else
        post_others(bench);
    MPI_Waitall(bench->options.depth, own->requests, MPI_STATUSES_IGNORE);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    const queues_t *own = bench->own;
    int peer = 1 - bench->rank, count = (int)bytes;
    double begin_us = bench_now_us();

    if (bench->rank > 1)
        return BENCH_NO_PART;
    for (int i = 0; i < iterations; i++) {
        if (bench->rank == 0)
            MPI_Send(own->data, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(own->data, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench->rank == 1)
            MPI_Send(own->data, count, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
    }
    return bench->rank == 0 ? bench_now_us() - begin_us : BENCH_NO_PART;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"posted", "unexpected", NULL};
    int chosen = bench_choose(names, &argc, &argv);
    queues_t own = {.are_posted = chosen == 0};
    char name[32];
    bench_test_t test = {
        .name = name,
        .column = "Avg Latency(us)",
        .value = bench_half,
        .min_bytes = 1,
        .max_bytes = 4 << 10,
        .unit = 1,
        .min_ranks = 2,
        .iterations = 2000,
        .large_iterations = 1000,
        .prepare = prepare,
        .run = run,
        .release = release,
        .own = &own,
    };

    if (chosen < 0)
        return 2;
    snprintf(name, sizeof(name), "weft_%s", names[chosen]);
    return bench_main(&test, 1, argc, argv);
}
