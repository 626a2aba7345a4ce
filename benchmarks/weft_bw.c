/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of messages that are all under way at once.
 *   bw      rank 0 to rank 1; an empty answer after each window
 *   bibw    both ways at once
 *   mbw_mr  rank i to rank i + N/2, for all i < N/2; also messages a second
 * All messages of a window use one buffer, as is the custom: the figures are of warm caches.
 */
#include "bench.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_TAG   1
#define ANSWER_TAG 2

typedef struct windows {
    bool both_ways, all_pairs;
    void *send, *receive;
    MPI_Request *requests; /* [2 * window] */
} windows_t;

static int pair_count(const bench_t *bench)
{
    const windows_t *own = bench->own;

    return own->all_pairs ? bench->ranks / 2 : 1;
}

/* The other rank of the pair; MPI_PROC_NULL where there is none. */
static int partner(const bench_t *bench)
{
    int pairs = pair_count(bench);

    if (bench->rank >= 2 * pairs)
        return MPI_PROC_NULL;
    return bench->rank < pairs ? bench->rank + pairs : bench->rank - pairs;
}

static void prepare(bench_t *bench, size_t bytes)
{
    windows_t *own = bench->own;

    own->send = bench_buffer(bench, bytes, 'a');
    own->receive = bench_buffer(bench, bytes, 'b');
    own->requests = bench_buffer(bench, 2 * (size_t)bench->options.window * sizeof(MPI_Request), 0);
    if (bench->options.is_checked)
        bench_fill(own->send, bytes, (unsigned)bench->rank);
}

static int post_sends(const bench_t *bench, int count, MPI_Request *to)
{
    const windows_t *own = bench->own;

    for (int i = 0; i < bench->options.window; i++)
        MPI_Isend(own->send, count, MPI_CHAR, partner(bench), DATA_TAG, MPI_COMM_WORLD, &to[i]);
    return bench->options.window;
}

static int post_receives(const bench_t *bench, int count, MPI_Request *to)
{
    const windows_t *own = bench->own;

    for (int i = 0; i < bench->options.window; i++)
        MPI_Irecv(own->receive, count, MPI_CHAR, partner(bench), DATA_TAG, MPI_COMM_WORLD, &to[i]);
    return bench->options.window;
}

static void one_window(const bench_t *bench, int count)
{
    const windows_t *own = bench->own;
    bool is_sender = bench->rank < pair_count(bench);
    int posted = 0;

    if (!is_sender || own->both_ways)
        posted += post_receives(bench, count, own->requests);
    if (is_sender || own->both_ways)
        posted += post_sends(bench, count, own->requests + posted);
    MPI_Waitall(posted, own->requests, MPI_STATUSES_IGNORE);
    if (own->both_ways)
        return;
    if (is_sender)
        MPI_Recv(NULL, 0, MPI_CHAR, partner(bench), ANSWER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_CHAR, partner(bench), ANSWER_TAG, MPI_COMM_WORLD);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    double begin_us = bench_now_us();

    if (partner(bench) == MPI_PROC_NULL)
        return BENCH_NO_PART;
    for (int i = 0; i < iterations; i++)
        one_window(bench, (int)bytes);
    return bench->rank < pair_count(bench) ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static size_t check(bench_t *bench, size_t bytes)
{
    const windows_t *own = bench->own;
    bool has_received = bench->rank >= pair_count(bench) || own->both_ways;

    if (partner(bench) == MPI_PROC_NULL || !has_received)
        return 0;
    return bench_wrong(own->receive, bytes, (unsigned)partner(bench));
}

static double messages_per_s(const bench_t *bench, size_t bytes, double us)
{
    const windows_t *own = bench->own;
    double messages = (double)bench->options.window * pair_count(bench) * (own->both_ways ? 2 : 1);

    (void)bytes;
    return messages / us * 1e6;
}

static double megabytes_per_s(const bench_t *bench, size_t bytes, double us)
{
    return messages_per_s(bench, bytes, us) * (double)bytes / 1e6;
}

static const bench_test_t test_of_windows = {
    .column = "Bandwidth (MB/s)",
    .value = megabytes_per_s,
    .min_bytes = 1,
    .max_bytes = 4 << 20,
    .unit = 1,
    .min_ranks = 2,
    .iterations = 100,
    .large_iterations = 20,
    .prepare = prepare,
    .run = run,
    .check = check,
};

int main(int argc, char **argv)
{
    static const char *const names[] = {"bw", "bibw", "mbw_mr", NULL};
    bench_test_t test = test_of_windows;
    int chosen = bench_choose(names, &argc, &argv);
    windows_t own = {.both_ways = chosen == 1, .all_pairs = chosen == 2};
    char name[32];

    if (chosen < 0)
        return 2;
    snprintf(name, sizeof(name), "weft_%s", names[chosen]);
    test.name = name;
    if (own.all_pairs) {
        test.second = messages_per_s;
        test.second_column = "Messages/s";
    }
    return bench_main(&test, &own, argc, argv);
}
