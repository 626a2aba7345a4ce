/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message of a stream from rank 0 to rank 1: --window times MPI_Send, and then an empty answer.
 * Rank 1 receives them
 *   received  by MPI_Recv
 *   probed    by MPI_Probe from any source, and MPI_Recv
 *   any       by as many MPI_Irecv, and MPI_Waitany for each
 *   tested    by MPI_Irecv, and MPI_Test until it is there
 */
#include "bench.h"

#include <mpi.h>

#include <stdio.h>

#define TAG        0
#define ANSWER_TAG 1

typedef struct streams {
    void (*receive)(const bench_t *bench, int bytes); /* a window */
    char *data;                                       /* [bytes] */
    MPI_Request *requests;                            /* [window] */
} streams_t;

static void receive_each(const bench_t *bench, int bytes)
{
    const streams_t *own = bench->own;

    for (int i = 0; i < bench->options.window; i++)
        MPI_Recv(own->data, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_probed(const bench_t *bench, int bytes)
{
    const streams_t *own = bench->own;
    MPI_Status status;

    for (int i = 0; i < bench->options.window; i++) {
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        MPI_Recv(own->data, bytes, MPI_CHAR, status.MPI_SOURCE, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

static void receive_any(const bench_t *bench, int bytes)
{
    const streams_t *own = bench->own;
    int window = bench->options.window, index;

    for (int i = 0; i < window; i++)
        MPI_Irecv(own->data, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &own->requests[i]);
    for (int i = 0; i < window; i++)
        MPI_Waitany(window, own->requests, &index, MPI_STATUS_IGNORE);
}

static void receive_tested(const bench_t *bench, int bytes)
{
    const streams_t *own = bench->own;
    int is_there;

    for (int i = 0; i < bench->options.window; i++) {
        MPI_Irecv(own->data, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &own->requests[0]);
        do {
            MPI_Test(&own->requests[0], &is_there, MPI_STATUS_IGNORE);
        } while (!is_there);
    }
}

static void prepare(bench_t *bench, size_t bytes)
{
    streams_t *own = bench->own;

    own->data = bench_buffer(bench, bytes, 0);
    own->requests = bench_buffer(bench, (size_t)bench->options.window * sizeof(MPI_Request), 0);
}

static void send_window(const bench_t *bench, int bytes)
{
    const streams_t *own = bench->own;

    for (int i = 0; i < bench->options.window; i++)
        MPI_Send(own->data, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_CHAR, 1, ANSWER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    const streams_t *own = bench->own;
    double begin_us = bench_now_us();

    for (int i = 0; i < iterations; i++) {
        if (bench->rank == 0) {
            send_window(bench, (int)bytes);
        } else if (bench->rank == 1) {
            own->receive(bench, (int)bytes);
            MPI_Send(NULL, 0, MPI_CHAR, 0, ANSWER_TAG, MPI_COMM_WORLD);
        }
    }
    return bench->rank == 0 ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static double for_each(const bench_t *bench, size_t bytes, double us)
{
    (void)bytes;
    return us / bench->options.window;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"received", "probed", "any", "tested", NULL};
    static void (*const ways[])(const bench_t *bench, int bytes) = {receive_each, receive_probed,
                                                                    receive_any, receive_tested};
    int chosen = bench_choose(names, &argc, &argv);
    streams_t own = {0};
    char name[32];
    bench_test_t test = {
        .name = name,
        .column = "Time a message(us)",
        .value = for_each,
        .min_bytes = 1,
        .max_bytes = 4 << 10,
        .unit = 1,
        .min_ranks = 2,
        .iterations = 1000,
        .large_iterations = 200,
        .prepare = prepare,
        .run = run,
        .own = &own,
    };

    if (chosen < 0)
        return 2;
    own.receive = ways[chosen];
    snprintf(name, sizeof(name), "weft_%s", names[chosen]);
    return bench_main(&test, 1, argc, argv);
}
