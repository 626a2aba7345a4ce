/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that are begun first and completed later, on MPI_COMM_WORLD.
 *
 *   ibarrier, ibcast, iallgather, ialltoall, iallreduce
 *       With as much computing between the call and MPI_Wait as the call and MPI_Wait take together
 *       when they follow each other. First column: the time of all three. Second: how much of the
 *       communication was hidden, in percent, as the OSU benchmarks define it.
 *   allreduce_init
 *       MPI_Start and MPI_Wait of a persistent allreduce; of MPI 4.0.
 *   neighbor_alltoall, neighbor_messages
 *       A halo exchange on a periodic grid of two dimensions: by MPI_Neighbor_alltoall, and by
 *       messages to and from the same four neighbours.
 *
 * Sizes are bytes of a block; reductions add floats.
 */
#include "bench.h"

#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_BYTES = 32, NEIGHBORS = 4 };

typedef struct form form_t;

typedef struct kind {
    const char *name;
    void (*begin)(form_t *f, MPI_Request *request); /* NULL: `call` does all */
    void (*call)(form_t *f);
    bool has_blocks, has_no_size, needs_grid;
} kind_t;

struct form {
    const kind_t *which;
    int count; /* bytes of a block */
    char *send, *receive;
    MPI_Comm grid;
    int neighbors[NEIGHBORS];
    MPI_Request prepared;
    double pure_us, compute_us; /* of one iteration: communication alone, computing alone */
};

/* ---- nonblocking ---- */

static void ibarrier(form_t *f, MPI_Request *request)
{
    (void)f;
    MPI_Ibarrier(MPI_COMM_WORLD, request);
}

static void ibcast(form_t *f, MPI_Request *request)
{
    MPI_Ibcast(f->receive, f->count, MPI_CHAR, 0, MPI_COMM_WORLD, request);
}

static void iallgather(form_t *f, MPI_Request *request)
{
    MPI_Iallgather(f->send, f->count, MPI_CHAR, f->receive, f->count, MPI_CHAR, MPI_COMM_WORLD,
                   request);
}

static void ialltoall(form_t *f, MPI_Request *request)
{
    MPI_Ialltoall(f->send, f->count, MPI_CHAR, f->receive, f->count, MPI_CHAR, MPI_COMM_WORLD,
                  request);
}

static void iallreduce(form_t *f, MPI_Request *request)
{
    MPI_Iallreduce(f->send, f->receive, f->count / (int)sizeof(float), MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, request);
}

/* ---- persistent, and halos ---- */

static void start_and_wait(form_t *f)
{
    MPI_Start(&f->prepared);
    MPI_Wait(&f->prepared, MPI_STATUS_IGNORE);
}

static void exchange_by_collective(form_t *f)
{
    MPI_Neighbor_alltoall(f->send, f->count, MPI_CHAR, f->receive, f->count, MPI_CHAR, f->grid);
}

/* What goes down in a dimension comes from above, and the other way round. */
static void exchange_by_messages(form_t *f)
{
    MPI_Request requests[2 * NEIGHBORS];
    for (int i = 0; i < NEIGHBORS; i++)
        MPI_Irecv(f->receive + (size_t)i * (size_t)f->count, f->count, MPI_CHAR, f->neighbors[i],
                  i ^ 1, f->grid, &requests[i]);
    for (int i = 0; i < NEIGHBORS; i++)
        MPI_Isend(f->send + (size_t)i * (size_t)f->count, f->count, MPI_CHAR, f->neighbors[i], i,
                  f->grid, &requests[NEIGHBORS + i]);
    MPI_Waitall(2 * NEIGHBORS, requests, MPI_STATUSES_IGNORE);
}

static const kind_t kinds[] = {
    {.name = "ibarrier", .begin = ibarrier, .has_no_size = true},
    {.name = "ibcast", .begin = ibcast},
    {.name = "iallgather", .begin = iallgather, .has_blocks = true},
    {.name = "ialltoall", .begin = ialltoall, .has_blocks = true},
    {.name = "iallreduce", .begin = iallreduce},
    {.name = "allreduce_init", .call = start_and_wait},
    {.name = "neighbor_alltoall", .call = exchange_by_collective, .needs_grid = true},
    {.name = "neighbor_messages", .call = exchange_by_messages, .needs_grid = true},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- preparing ---- */

static void make_grid(form_t *f, int ranks)
{
    int dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &f->grid);
    for (int i = 0; i < 2; i++)
        MPI_Cart_shift(f->grid, i, 1, &f->neighbors[2 * i], &f->neighbors[2 * i + 1]);
}

/* False: the library is older than MPI 4.0. */
static bool prepare_persistent(form_t *f)
{
#if MPI_VERSION >= 4
    MPI_Allreduce_init(f->send, f->receive, f->count / (int)sizeof(float), MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &f->prepared);
    return true;
#else
    (void)f;
    return false;
#endif
}

static void prepare(bench_t *bench, size_t bytes)
{
    form_t *f = bench->own;
    size_t blocks = f->which->needs_grid ? NEIGHBORS : (size_t)bench->ranks;
    f->count = (int)bytes;
    f->send = bench_buffer(bench, blocks * bytes, 1);
    f->receive = bench_buffer(bench, blocks * bytes, 2);
    if (f->which->needs_grid)
        make_grid(f, bench->ranks);
    if (f->which->call != start_and_wait)
        return;
    if (!prepare_persistent(f)) {
        fprintf(stderr, "%s: this library has no persistent collectives\n", f->which->name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void release(bench_t *bench)
{
    form_t *f = bench->own;
    if (f->prepared != MPI_REQUEST_NULL)
        MPI_Request_free(&f->prepared);
    if (f->grid != MPI_COMM_NULL)
        MPI_Comm_free(&f->grid);
}

/* ---- running ---- */

/* Work that no compiler leaves out. */
static void compute_for(double us)
{
    static volatile double sink;
    double end_us = bench_now_us() + us, value = sink;
    while (bench_now_us() < end_us)
        for (int i = 0; i < 50; i++)
            value = value * 0.999 + 1;
    sink = value;
}

static void sleep_for(double us)
{
    const struct timespec time = {.tv_sec = (time_t)(us / 1e6),
                                  .tv_nsec = (long)(us * 1e3) % 1000000000};
    nanosleep(&time, NULL);
}

/* The mean of one iteration, with some computing before the end. */
static double time_begun(const bench_t *bench, double compute_us, int iterations)
{
    form_t *f = bench->own;
    double total_us = 0;
    for (int i = 0; i < iterations; i++) {
        MPI_Request request;
        double begin_us = bench_now_us();
        f->which->begin(f, &request);
        if (compute_us > 0 && bench->options.computes_elsewhere)
            sleep_for(compute_us);
        else if (compute_us > 0)
            compute_for(compute_us);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        total_us += bench_now_us() - begin_us;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return total_us / iterations;
}

/* All ranks compute for the same time: the mean of what they need for the communication alone. */
static double run_with_computing(const bench_t *bench, int iterations)
{
    form_t *f = bench->own;
    double own_us = time_begun(bench, 0, iterations), sum_us;
    MPI_Allreduce(&own_us, &sum_us, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    f->pure_us = f->compute_us = sum_us / bench->ranks;
    return time_begun(bench, f->compute_us, iterations) * iterations;
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    form_t *f = bench->own;
    (void)bytes;
    if (f->which->begin != NULL)
        return run_with_computing(bench, iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin_us = bench_now_us();
    for (int i = 0; i < iterations; i++)
        f->which->call(f);
    return bench_now_us() - begin_us;
}

static double value_us(const bench_t *bench, size_t bytes, double us)
{
    (void)bench, (void)bytes;
    return us;
}

static double overlap_percent(const bench_t *bench, size_t bytes, double us)
{
    const form_t *f = bench->own;
    double percent = 100 * (1 - (us - f->compute_us) / f->pure_us);
    (void)bytes;
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

int main(int argc, char **argv)
{
    const char *names[KINDS + 1] = {NULL};
    form_t own = {.grid = MPI_COMM_NULL, .prepared = MPI_REQUEST_NULL};
    char name[NAME_BYTES];
    for (int i = 0; i < KINDS; i++)
        names[i] = kinds[i].name;
    int chosen = bench_choose(names, &argc, &argv);
    if (chosen < 0)
        return 2;
    own.which = &kinds[chosen];
    snprintf(name, sizeof(name), "weft_%s", own.which->name);
    bool is_begun = own.which->begin != NULL;
    bench_test_t test = {.name = name,
                         .column = is_begun ? "Overall(us)" : "Avg Latency(us)",
                         .second_column = is_begun ? "Overlap(%)" : NULL,
                         .value = value_us,
                         .second = is_begun ? overlap_percent : NULL,
                         .min_bytes = sizeof(float),
                         .max_bytes = 1 << 20,
                         .unit = sizeof(float),
                         .has_no_size = own.which->has_no_size,
                         .has_blocks = own.which->has_blocks,
                         .min_ranks = 1,
                         .iterations = 1000,
                         .large_iterations = 100,
                         .prepare = prepare,
                         .run = run,
                         .release = release,
                         .own = &own};
    return bench_main(&test, 1, argc, argv);
}
