/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every blocking collective is a row of `collectives`. Each iteration is timed by itself and
 * followed by an untimed barrier; the mean over the ranks is shown, as in the OSU benchmarks. Sizes
 * are bytes of one rank's block, for reduce_scatter of the whole vector. Reductions add floats.
 */
#include "bench.h"
#include "bench_area.h"

#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT       0
#define NAME_BYTES 32
#define UNTOUCHED  ((float)-1)

/* How much of a buffer a collective uses. */
typedef enum { NOTHING, BLOCK, BLOCKS, ROOT_BLOCKS, SHARE } extent_t;

/* What a rank finds in its receive buffer: from which rank, and which of the sender's blocks. */
typedef enum {
    NO_DATA,
    OF_ROOT,
    FROM_EACH,
    FROM_EACH_MINE,
    FROM_ROOT_MINE,
    SUM_ALL,
    SUM_UP_TO_ME,
    SUM_BELOW_ME
} result_t;

typedef struct coll coll_t;

typedef struct collective {
    const char *name;
    void (*call)(const coll_t *c);
    extent_t send, receive;
    result_t result;
    bool at_root_only; /* the result */
} collective_t;

struct coll {
    const collective_t *which;
    int rank, ranks;
    int count;            /* elements of a block: chars, or floats for reductions */
    int *counts, *displs; /* [ranks] for the vector forms */
    MPI_Datatype *types;  /* [ranks] */
    char *send, *receive; /* what MPI gets */
    bench_area_t *send_area, *receive_area;
};

static void barrier(const coll_t *c)
{
    (void)c;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(const coll_t *c)
{
    MPI_Bcast(c->receive, c->count, MPI_CHAR, ROOT, MPI_COMM_WORLD);
}

static void gather(const coll_t *c)
{
    MPI_Gather(c->send, c->count, MPI_CHAR, c->receive, c->count, MPI_CHAR, ROOT, MPI_COMM_WORLD);
}

static void gatherv(const coll_t *c)
{
    MPI_Gatherv(c->send, c->count, MPI_CHAR, c->receive, c->counts, c->displs, MPI_CHAR, ROOT,
                MPI_COMM_WORLD);
}

static void scatter(const coll_t *c)
{
    MPI_Scatter(c->send, c->count, MPI_CHAR, c->receive, c->count, MPI_CHAR, ROOT, MPI_COMM_WORLD);
}

static void scatterv(const coll_t *c)
{
    MPI_Scatterv(c->send, c->counts, c->displs, MPI_CHAR, c->receive, c->count, MPI_CHAR, ROOT,
                 MPI_COMM_WORLD);
}

static void allgather(const coll_t *c)
{
    MPI_Allgather(c->send, c->count, MPI_CHAR, c->receive, c->count, MPI_CHAR, MPI_COMM_WORLD);
}

static void allgatherv(const coll_t *c)
{
    MPI_Allgatherv(c->send, c->count, MPI_CHAR, c->receive, c->counts, c->displs, MPI_CHAR,
                   MPI_COMM_WORLD);
}

static void alltoall(const coll_t *c)
{
    MPI_Alltoall(c->send, c->count, MPI_CHAR, c->receive, c->count, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoallv(const coll_t *c)
{
    MPI_Alltoallv(c->send, c->counts, c->displs, MPI_CHAR, c->receive, c->counts, c->displs,
                  MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoallw(const coll_t *c)
{
    MPI_Alltoallw(c->send, c->counts, c->displs, c->types, c->receive, c->counts, c->displs,
                  c->types, MPI_COMM_WORLD);
}

static void reduce(const coll_t *c)
{
    MPI_Reduce(c->send, c->receive, c->count, MPI_FLOAT, MPI_SUM, ROOT, MPI_COMM_WORLD);
}

static void allreduce(const coll_t *c)
{
    MPI_Allreduce(c->send, c->receive, c->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(const coll_t *c)
{
    MPI_Reduce_scatter(c->send, c->receive, c->counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(const coll_t *c)
{
    MPI_Reduce_scatter_block(c->send, c->receive, c->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(const coll_t *c)
{
    MPI_Scan(c->send, c->receive, c->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan(const coll_t *c)
{
    MPI_Exscan(c->send, c->receive, c->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static const collective_t collectives[] = {
    {"barrier", barrier, NOTHING, NOTHING, NO_DATA, false},
    {"bcast", bcast, NOTHING, BLOCK, OF_ROOT, false},
    {"gather", gather, BLOCK, ROOT_BLOCKS, FROM_EACH, true},
    {"gatherv", gatherv, BLOCK, ROOT_BLOCKS, FROM_EACH, true},
    {"scatter", scatter, ROOT_BLOCKS, BLOCK, FROM_ROOT_MINE, false},
    {"scatterv", scatterv, ROOT_BLOCKS, BLOCK, FROM_ROOT_MINE, false},
    {"allgather", allgather, BLOCK, BLOCKS, FROM_EACH, false},
    {"allgatherv", allgatherv, BLOCK, BLOCKS, FROM_EACH, false},
    {"alltoall", alltoall, BLOCKS, BLOCKS, FROM_EACH_MINE, false},
    {"alltoallv", alltoallv, BLOCKS, BLOCKS, FROM_EACH_MINE, false},
    {"alltoallw", alltoallw, BLOCKS, BLOCKS, FROM_EACH_MINE, false},
    {"reduce", reduce, BLOCK, BLOCK, SUM_ALL, true},
    {"allreduce", allreduce, BLOCK, BLOCK, SUM_ALL, false},
    {"reduce_scatter", reduce_scatter, BLOCKS, SHARE, SUM_ALL, false},
    {"reduce_scatter_block", reduce_scatter_block, BLOCKS, BLOCK, SUM_ALL, false},
    {"scan", scan, BLOCK, BLOCK, SUM_UP_TO_ME, false},
    {"exscan", exscan, BLOCK, BLOCK, SUM_BELOW_ME, false},
};
#define COLLECTIVES (sizeof(collectives) / sizeof(collectives[0]))

static bool is_reduction(const coll_t *c)
{
    return c->which->result >= SUM_ALL;
}

static size_t element_bytes(const coll_t *c)
{
    return is_reduction(c) ? sizeof(float) : 1;
}

/* Elements in all of the send buffer, or of the receive buffer. */
static size_t elements(const coll_t *c, extent_t extent)
{
    switch (extent) {
    case BLOCK:
        return (size_t)c->count;
    case BLOCKS:
        return (size_t)c->displs[c->ranks - 1] + (size_t)c->counts[c->ranks - 1];
    case ROOT_BLOCKS:
        return c->rank == ROOT ? elements(c, BLOCKS) : 0;
    case SHARE:
        return (size_t)c->counts[c->rank];
    default:
        return 0;
    }
}

/* Small whole numbers: their sums are exact in any order. */
static float term(int rank, size_t at)
{
    return (float)(((size_t)rank * 3 + at) % 8);
}

static unsigned stream(const coll_t *c, int sender, int block)
{
    return (unsigned)(sender * c->ranks + block);
}

static void fill_terms(const coll_t *c, char *send_image, char *receive_image)
{
    float *send = (float *)send_image, *receive = (float *)receive_image;

    for (size_t i = 0; i < elements(c, c->which->send); i++)
        send[i] = term(c->rank, i);
    for (size_t i = 0; i < elements(c, c->which->receive); i++)
        receive[i] = UNTOUCHED;
}

static void fill_streams(const coll_t *c, char *send_image, char *receive_image)
{
    size_t count = (size_t)c->count;
    int blocks = count > 0 ? (int)(elements(c, c->which->send) / count) : 0;

    for (int i = 0; i < blocks; i++)
        bench_fill(send_image + (size_t)i * count, count, stream(c, c->rank, i));
    if (c->which->result == OF_ROOT && c->rank == ROOT)
        bench_fill(receive_image, count, stream(c, ROOT, 0));
}

static void fill(const coll_t *c)
{
    char *send = bench_area_open(c->send_area), *receive = bench_area_open(c->receive_area);

    (is_reduction(c) ? fill_terms : fill_streams)(c, send, receive);
    bench_area_close(c->send_area, send);
    bench_area_close(c->receive_area, receive);
}

/* True if a buffer holds a block for each rank; false for one vector that is divided among them. */
static bool has_blocks(const collective_t *which)
{
    extent_t send = which->send, receive = which->receive;

    return receive != SHARE &&
           (send == BLOCKS || send == ROOT_BLOCKS || receive == BLOCKS || receive == ROOT_BLOCKS);
}

/* Displacements are ints in MPI-3. */
static void check_blocks(const coll_t *c, size_t bytes)
{
    if (!has_blocks(c->which) || bytes <= (size_t)INT_MAX / (size_t)c->ranks)
        return;
    fprintf(stderr, "%s: %d blocks of %zu bytes are more than an int can address\n", c->which->name,
            c->ranks, bytes);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* reduce_scatter divides one vector of `bytes`; for the others a block has `bytes`. */
static void deal_counts(coll_t *c, size_t bytes)
{
    bool is_dealt = c->which->receive == SHARE;
    size_t next = 0;

    c->count = (int)(bytes / element_bytes(c));
    for (int i = 0; i < c->ranks; i++) {
        c->counts[i] = is_dealt ? c->count / c->ranks + (i < c->count % c->ranks) : c->count;
        c->displs[i] = (int)next;
        c->types[i] = MPI_CHAR;
        next += (size_t)c->counts[i];
    }
}

static void prepare(bench_t *bench, size_t bytes)
{
    coll_t *c = bench->own;
    size_t ranks = (size_t)bench->ranks;

    c->rank = bench->rank;
    c->ranks = bench->ranks;
    c->counts = bench_buffer(bench, ranks * sizeof(int), 0);
    c->displs = bench_buffer(bench, ranks * sizeof(int), 0);
    c->types = bench_buffer(bench, ranks * sizeof(MPI_Datatype), 0);
    check_blocks(c, bytes);
    deal_counts(c, bytes);
    c->send_area = bench_area(bench, elements(c, c->which->send) * element_bytes(c), 0);
    c->receive_area = bench_area(bench, elements(c, c->which->receive) * element_bytes(c), 1);
    if (bench->options.is_checked)
        fill(c);
}

static bool has_result(const coll_t *c)
{
    return c->which->result != NO_DATA && (!c->which->at_root_only || c->rank == ROOT);
}

/* With --staged the copies before and after the call are part of the operation. */
static void call_between_copies(const coll_t *c)
{
    bool is_source = c->which->result == OF_ROOT && c->rank == ROOT;

    bench_area_out(is_source ? c->receive_area : c->send_area, 0);
    c->which->call(c);
    if (has_result(c) && !is_source)
        bench_area_in(c->receive_area, 0);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    coll_t *c = bench->own;
    double total_us = 0;

    (void)bytes;
    c->send = bench_area_buffer(c->send_area, 0);
    c->receive = bench_area_buffer(c->receive_area, 0);
    for (int i = 0; i < iterations; i++) {
        double begin_us = bench_now_us();

        call_between_copies(c);
        total_us += bench_now_us() - begin_us;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return total_us;
}

static size_t wrong_sums(const coll_t *c, const char *image)
{
    const float *receive = (const float *)image;
    result_t result = c->which->result;
    int end = result == SUM_ALL ? c->ranks : result == SUM_UP_TO_ME ? c->rank + 1 : c->rank;
    size_t first = c->which->send == BLOCKS ? (size_t)c->displs[c->rank] : 0, wrong = 0;

    if (end == 0) /* exscan leaves rank 0's buffer undefined (MPI 5.0, 6.11.2) */
        return 0;
    for (size_t i = 0; i < elements(c, c->which->receive); i++) {
        float sum = 0;

        for (int rank = 0; rank < end; rank++)
            sum += term(rank, first + i);
        wrong += receive[i] != sum;
    }
    return wrong;
}

static size_t wrong_streams(const coll_t *c, const char *image)
{
    result_t result = c->which->result;
    size_t count = (size_t)c->count, wrong = 0;
    int blocks = count > 0 ? (int)(elements(c, c->which->receive) / count) : 0;
    int part = result == FROM_EACH_MINE || result == FROM_ROOT_MINE ? c->rank : 0;

    for (int i = 0; i < blocks; i++) {
        int sender = result == FROM_EACH || result == FROM_EACH_MINE ? i : ROOT;

        wrong += bench_wrong(image + (size_t)i * count, count, stream(c, sender, part));
    }
    return wrong;
}

static size_t check(bench_t *bench, size_t bytes)
{
    const coll_t *c = bench->own;
    size_t wrong;
    char *image;

    (void)bytes;
    if (!has_result(c))
        return 0;
    image = bench_area_open(c->receive_area);
    wrong = (is_reduction(c) ? wrong_sums : wrong_streams)(c, image);
    bench_area_close(c->receive_area, image);
    return wrong;
}

static const bench_test_t test_of_collectives = {
    .column = "Avg Latency(us)",
    .max_bytes = 1 << 20,
    .min_ranks = 1,
    .iterations = 1000,
    .large_iterations = 100,
    .prepare = prepare,
    .run = run,
    .check = check,
};

/* Fill in the test of one collective. */
static void describe(const collective_t *which, coll_t *own, char *name, bench_test_t *out)
{
    own->which = which;
    *out = test_of_collectives;
    snprintf(name, NAME_BYTES, "weft_%s", which->name);
    out->name = name;
    out->has_no_size = which->result == NO_DATA;
    out->has_blocks = has_blocks(which);
    out->unit = out->min_bytes = element_bytes(own);
    out->own = own;
}

/* "allreduce,bcast" or "all": the collectives of a first argument that names several. */
static bool is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);

    if (strcmp(list, "all") == 0)
        return true;
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const char *names[COLLECTIVES + 1] = {NULL};
    bench_test_t tests[COLLECTIVES];
    coll_t own[COLLECTIVES] = {{0}};
    char test_names[COLLECTIVES][NAME_BYTES];
    bool is_list = argc > 1 && (strcmp(argv[1], "all") == 0 || strchr(argv[1], ',') != NULL);
    int chosen = -1, count = 0;

    for (size_t i = 0; i < COLLECTIVES; i++)
        names[i] = collectives[i].name;
    if (!is_list)
        chosen = bench_choose(names, &argc, &argv);
    if (!is_list && chosen < 0)
        return 2;
    for (int i = 0; i < (int)COLLECTIVES; i++)
        if (is_list ? is_in_list(argv[1], names[i]) : i == chosen) {
            describe(&collectives[i], &own[count], test_names[count], &tests[count]);
            count++;
        }
    return bench_main(tests, count, argc - is_list, argv + is_list);
}
