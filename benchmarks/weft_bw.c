/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of messages that are all under way at once.
 *   bw      rank 0 to rank 1; an empty answer after each window
 *   bibw    both ways at once
 *   mbw_mr  rank i to rank i + N/2, for all i < N/2; also messages a second
 * All messages of a window use one buffer, as in other benchmarks: the figures are those of warm
 * caches.
 * Staged messages go through several pinned slots, so that copies and messages overlap.
 */
#include "bench.h"
#include "bench_area.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_TAG   1
#define ANSWER_TAG 2

/* Pinned bytes for one window, if more than two messages fit. */
#define SLOT_BYTES_MAX ((size_t)64 << 20)

typedef struct windows {
    bool both_ways, all_pairs;
    bench_area_t *send, *receive;
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

/* One slot for each message of the window, or fewer if SLOT_BYTES_MAX has less room. */
static int slots_for(const bench_t *bench, size_t bytes)
{
    size_t fitting = bytes > 0 ? SLOT_BYTES_MAX / bytes : SLOT_BYTES_MAX;

    fitting = fitting > 2 ? fitting : 2;
    return fitting < (size_t)bench->options.window ? (int)fitting : bench->options.window;
}

static void prepare(bench_t *bench, size_t bytes)
{
    windows_t *own = bench->own;
    int which = bench->rank >= pair_count(bench);

    bench->slots = slots_for(bench, bytes);
    own->send = bench_area(bench, bytes, which);
    own->receive = bench_area(bench, bytes, which);
    own->requests = bench_buffer(bench, 2 * (size_t)bench->options.window * sizeof(MPI_Request), 0);
    if (bench->options.is_checked)
        bench_area_fill(own->send, (unsigned)bench->rank);
}

static void post_send(const bench_t *bench, int index, MPI_Request *out)
{
    const windows_t *own = bench->own;
    int slot = index % bench->slots; /* ignored where nothing is staged */

    bench_area_out(own->send, slot);
    MPI_Isend(bench_area_buffer(own->send, slot), own->send->count, own->send->type, partner(bench),
              DATA_TAG, MPI_COMM_WORLD, out);
}

static void post_receive(const bench_t *bench, int index, MPI_Request *out)
{
    const windows_t *own = bench->own;
    int slot = index % bench->slots;

    MPI_Irecv(bench_area_buffer(own->receive, slot), own->receive->count, own->receive->type,
              partner(bench), DATA_TAG, MPI_COMM_WORLD, out);
}

/* A window of messages without staging; the rank sends, receives or does both. */
static void direct_window(const bench_t *bench, bool sends, bool receives)
{
    const windows_t *own = bench->own;
    int posted = 0, window = bench->options.window;

    for (int i = 0; receives && i < window; i++)
        post_receive(bench, i, &own->requests[posted++]);
    for (int i = 0; sends && i < window; i++)
        post_send(bench, i, &own->requests[posted++]);
    MPI_Waitall(posted, own->requests, MPI_STATUSES_IGNORE);
}

/* A slot is used again when its message has been sent, or has been copied to the device. */
static void staged_window(const bench_t *bench, bool sends, bool receives)
{
    const windows_t *own = bench->own;
    int window = bench->options.window, slots = bench->slots;
    MPI_Request *out = own->requests, *in = own->requests + window;

    for (int i = 0; receives && i < slots; i++)
        post_receive(bench, i, &in[i]);
    for (int i = 0; i < window; i++) {
        if (sends && i >= slots)
            MPI_Wait(&out[i - slots], MPI_STATUS_IGNORE);
        if (sends)
            post_send(bench, i, &out[i]);
        if (!receives)
            continue;
        MPI_Wait(&in[i], MPI_STATUS_IGNORE);
        bench_area_in(own->receive, i % slots);
        if (i + slots < window)
            post_receive(bench, i + slots, &in[i + slots]);
    }
    if (sends)
        MPI_Waitall(slots, out + window - slots, MPI_STATUSES_IGNORE);
}

static void one_window(const bench_t *bench)
{
    const windows_t *own = bench->own;
    bool is_sender = bench->rank < pair_count(bench);
    bool sends = is_sender || own->both_ways, receives = !is_sender || own->both_ways;

    (bench->is_staged ? staged_window : direct_window)(bench, sends, receives);
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

    (void)bytes;
    if (partner(bench) == MPI_PROC_NULL)
        return BENCH_NO_PART;
    for (int i = 0; i < iterations; i++)
        one_window(bench);
    return bench->rank < pair_count(bench) ? bench_now_us() - begin_us : BENCH_NO_PART;
}

static size_t check(bench_t *bench, size_t bytes)
{
    const windows_t *own = bench->own;
    bool has_received = bench->rank >= pair_count(bench) || own->both_ways;

    (void)bytes;
    if (partner(bench) == MPI_PROC_NULL || !has_received)
        return 0;
    return bench_area_wrong(own->receive, (unsigned)partner(bench));
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
    .takes_vector = true,
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
    test.own = &own;
    return bench_main(&test, 1, argc, argv);
}
