/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server and its clients: rank 0 receives a request from each other rank, from whichever comes
 * first, and answers it with a few bytes. What is shown is the time of one request.
 */
#include "bench.h"

#include <mpi.h>

enum { REQUEST = 1, ANSWER = 2, ANSWER_BYTES = 8 };

typedef struct serve {
    char *data;
    char answer[ANSWER_BYTES];
    size_t wrong;
} serve_t;

static void prepare(bench_t *bench, size_t bytes)
{
    serve_t *own = bench->own;

    own->data = bench_buffer(bench, bytes, (unsigned char)bench->rank);
    own->wrong = 0;
}

/* Of a request of `source`: its first and its last byte. */
static void look_at_request(serve_t *own, size_t bytes, int source)
{
    if (bytes > 0)
        own->wrong += own->data[0] != (char)source || own->data[bytes - 1] != (char)source;
}

static void serve(const bench_t *bench, size_t bytes)
{
    serve_t *own = bench->own;
    MPI_Status status;

    for (int i = 1; i < bench->ranks; i++) {
        MPI_Recv(own->data, (int)bytes, MPI_CHAR, MPI_ANY_SOURCE, REQUEST, MPI_COMM_WORLD, &status);
        if (bench->options.is_checked)
            look_at_request(own, bytes, status.MPI_SOURCE);
        own->answer[0] = (char)status.MPI_SOURCE;
        MPI_Send(own->answer, ANSWER_BYTES, MPI_CHAR, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD);
    }
}

static void request(const bench_t *bench, size_t bytes)
{
    serve_t *own = bench->own;

    MPI_Send(own->data, (int)bytes, MPI_CHAR, 0, REQUEST, MPI_COMM_WORLD);
    MPI_Recv(own->answer, ANSWER_BYTES, MPI_CHAR, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own->wrong += own->answer[0] != (char)bench->rank;
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    double begin_us = bench_now_us();

    for (int i = 0; i < iterations; i++) {
        if (bench->rank == 0)
            serve(bench, bytes);
        else
            request(bench, bytes);
    }
    return bench->rank == 0 ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static double of_each_client(const bench_t *bench, size_t bytes, double us)
{
    (void)bytes;
    return us / (bench->ranks - 1);
}

static size_t check(bench_t *bench, size_t bytes)
{
    const serve_t *own = bench->own;

    (void)bytes;
    return own->wrong;
}

int main(int argc, char **argv)
{
    serve_t own;
    bench_test_t test = {
        .name = "weft_serve",
        .column = "Time of a request(us)",
        .value = of_each_client,
        .min_bytes = 0,
        .max_bytes = 64 << 10,
        .unit = 1,
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
