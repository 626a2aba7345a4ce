/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives with blocks of all lengths, some in posts and some as messages
 * (src/coll/wall/wall_neighbors.c): many edges between two ranks, edges in one direction, blocks
 * whose lengths differ from edge to edge and from call to call, derived types, ranks that run
 * ahead, other collectives in between, and ranks that disagree.
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

enum {
    EDGES_MOST = 1024,
    ROUNDS = 60,
    AHEAD = 50,
    CALLS_BEFORE_WALL = 4,
    COPIES = 12,
    MANY = 450,
    FEW = 3
};

static const int lengths[] = {0,    1,    8,     100,   240,   241,   2000,  4095,
                              4096, 4097, 16383, 16384, 16385, 40000, 70000, 300001};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LONGEST = 300001 };

/* Edge `copy` of rank `from` leads to rank `to`. */
typedef struct edge {
    int from, to, copy;
} edge_t;

typedef struct graph {
    MPI_Comm comm;
    int in, out;
    edge_t sources[EDGES_MOST], dests[EDGES_MOST];
} graph_t;

static int lengths_in_use = LENGTHS; /* of those above */
static unsigned char *given, *gotten;
static int out_counts[EDGES_MOST], out_displs[EDGES_MOST], in_counts[EDGES_MOST],
    in_displs[EDGES_MOST];

static void create(graph_t *its)
{
    int sources[EDGES_MOST], dests[EDGES_MOST];
    for (int i = 0; i < its->in; i++)
        sources[i] = its->sources[i].from;
    for (int i = 0; i < its->out; i++)
        dests[i] = its->dests[i].to;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, its->in, sources, MPI_UNWEIGHTED, its->out,
                                   dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &its->comm);
}

static void add(graph_t *its, int from, int to, int copy)
{
    if (from == expect_rank)
        its->dests[its->out++] = (edge_t){from, to, copy};
    if (to == expect_rank)
        its->sources[its->in++] = (edge_t){from, to, copy};
}

/* From each rank to the next one, but not from the last to the first. */
static graph_t make_chain(void)
{
    graph_t its = {.comm = MPI_COMM_NULL};
    for (int i = 0; i + 1 < expect_size; i++)
        add(&its, i, i + 1, 0);
    create(&its);
    return its;
}

/* To the next two ranks and to the rank itself, several times each. */
static graph_t make_bundles(int copies)
{
    graph_t its = {.comm = MPI_COMM_NULL};
    for (int from = 0; from < expect_size; from++) {
        for (int i = 0; i < copies; i++) {
            add(&its, from, (from + 1) % expect_size, 2 * i);
            add(&its, from, (from + 2) % expect_size, 2 * i + 1);
        }
        add(&its, from, from, 2 * copies);
    }
    create(&its);
    return its;
}

static int length_of(const edge_t *edge, int round)
{
    return lengths[(edge->from * 3 + edge->copy * 5 + round) % lengths_in_use];
}

static unsigned char byte_of(const edge_t *edge, int index, int round)
{
    return (unsigned char)(edge->from * 31 + edge->copy * 17 + index * 7 + round);
}

static void give(unsigned char *at, const edge_t *edge, int bytes, int round)
{
    for (int i = 0; i < bytes; i++)
        at[i] = byte_of(edge, i, round);
}

static void expect_block(const unsigned char *at, const edge_t *edge, int bytes, int round)
{
    int wrong = 0;
    for (int i = 0; i < bytes; i++)
        wrong += at[i] != byte_of(edge, i, round);
    EXPECT(wrong, 0);
}

/* Behind each other, with gaps. */
static size_t lay_out(int count, const edge_t *edges, int round, int *counts, int *displs)
{
    int end = 0;
    for (int i = 0; i < count; i++) {
        counts[i] = length_of(&edges[i], round);
        displs[i] = end + 3;
        end = displs[i] + counts[i];
    }
    return (size_t)end;
}

static void prepare(const graph_t *its, int round)
{
    size_t out = lay_out(its->out, its->dests, round, out_counts, out_displs);
    size_t in = lay_out(its->in, its->sources, round, in_counts, in_displs);
    given = malloc(2 * out + 1);
    gotten = malloc(2 * in + 1);
    memset(gotten, 0xaa, 2 * in + 1);
    for (int i = 0; i < its->out; i++)
        give(given + out_displs[i], &its->dests[i], out_counts[i], round);
}

static void check(const graph_t *its, int round)
{
    for (int i = 0; i < its->in; i++) {
        expect_block(gotten + in_displs[i], &its->sources[i], in_counts[i], round);
        for (int gap = 1; gap <= 3; gap++)
            EXPECT(gotten[in_displs[i] - gap], 0xaa);
    }
    free(given);
    free(gotten);
}

static void exchange_slices(const graph_t *its, int round)
{
    prepare(its, round);
    MPI_Neighbor_alltoallv(given, out_counts, out_displs, MPI_BYTE, gotten, in_counts, in_displs,
                           MPI_BYTE, its->comm);
    check(its, round);
}

/* The receiver takes every second byte. */
static void exchange_typed(const graph_t *its, int round)
{
    MPI_Datatype out_types[EDGES_MOST], in_types[EDGES_MOST], every_second;
    MPI_Aint out_at[EDGES_MOST], in_at[EDGES_MOST];
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_second);
    MPI_Type_commit(&every_second);
    prepare(its, round);
    for (int i = 0; i < its->out; i++) {
        out_types[i] = MPI_BYTE;
        out_at[i] = out_displs[i];
    }
    for (int i = 0; i < its->in; i++) {
        in_types[i] = every_second;
        in_at[i] = 2 * (MPI_Aint)in_displs[i];
    }
    MPI_Neighbor_alltoallw(given, out_counts, out_at, out_types, gotten, in_counts, in_at, in_types,
                           its->comm);
    for (int i = 0; i < its->in; i++) {
        for (int k = 0; k < in_counts[i]; k++)
            gotten[in_displs[i] + k] = gotten[in_at[i] + 2 * k];
        memset(gotten + in_displs[i] - 3, 0xaa, 3);
    }
    check(its, round);
    MPI_Type_free(&every_second);
}

/* Of one length, by both operations without arrays. */
static void exchange_blocks(const graph_t *its, int round)
{
    int bytes = lengths[round % lengths_in_use];
    unsigned char *out = malloc((size_t)bytes * (size_t)(its->out + 1));
    unsigned char *in = malloc((size_t)bytes * (size_t)(its->in + 1));
    const edge_t own = {.from = expect_rank};
    for (int i = 0; i < its->out; i++)
        give(out + (size_t)i * (size_t)bytes, &its->dests[i], bytes, round);
    MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, its->comm);
    for (int i = 0; i < its->in; i++)
        expect_block(in + (size_t)i * (size_t)bytes, &its->sources[i], bytes, round);
    give(out, &own, bytes, round);
    MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, its->comm);
    for (int i = 0; i < its->in; i++) {
        const edge_t from = {.from = its->sources[i].from};
        expect_block(in + (size_t)i * (size_t)bytes, &from, bytes, round);
    }
    free(out);
    free(in);
}

/* Each rank gives blocks of a length of its own: along a chain both sides of an edge agree. */
static void gather_slices(const graph_t *its, int round)
{
    const edge_t own = {.from = expect_rank};
    int bytes = length_of(&own, round);
    unsigned char *out = malloc((size_t)bytes + 1);
    int end = 0;
    for (int i = 0; i < its->in; i++) {
        const edge_t from = {.from = its->sources[i].from};
        in_counts[i] = length_of(&from, round);
        in_displs[i] = end;
        end += in_counts[i];
    }
    unsigned char *in = malloc((size_t)end + 1);
    give(out, &own, bytes, round);
    MPI_Neighbor_allgatherv(out, bytes, MPI_BYTE, in, in_counts, in_displs, MPI_BYTE, its->comm);
    for (int i = 0; i < its->in; i++) {
        const edge_t from = {.from = its->sources[i].from};
        expect_block(in + in_displs[i], &from, in_counts[i], round);
    }
    free(out);
    free(in);
}

/* Other collectives and messages in between use the same wall and the same tags. */
static void test_graph(graph_t its, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int one = 1, sum = 0;
        exchange_slices(&its, round);
        if (round % 3 == 0)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, its.comm);
        EXPECT(sum, round % 3 == 0 ? expect_size : 0);
        exchange_blocks(&its, round);
        gather_slices(&its, round);
        exchange_typed(&its, round);
    }
    MPI_Comm_free(&its.comm);
}

/* The first rank of a chain waits for nobody, and frees its communicator. */
static void test_ahead(void)
{
    graph_t its = make_chain();
    int number, from = -1;
    for (int i = 0; i < AHEAD; i++) {
        number = expect_rank * 1000 + i;
        MPI_Neighbor_allgather(&number, 1, MPI_INT, &from, 1, MPI_INT, its.comm);
        EXPECT(from, expect_rank == 0 ? -1 : number - 1000);
    }
    MPI_Comm_free(&its.comm);
}

/* A rank that expects another length is told so, whether the block is short or long. */
static void test_disagreement(int sent, int expected)
{
    graph_t its = make_chain();
    int class, is_wrong = expect_rank == 1;
    unsigned char *out = calloc(1, LONGEST), *in = calloc(1, LONGEST);
    MPI_Comm_set_errhandler(its.comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < CALLS_BEFORE_WALL; i++)
        MPI_Barrier(its.comm);
    in_counts[0] = is_wrong ? expected : sent;
    in_displs[0] = 0;
    MPI_Error_class(
        MPI_Neighbor_allgatherv(out, sent, MPI_BYTE, in, in_counts, in_displs, MPI_BYTE, its.comm),
        &class);
    EXPECT(class == MPI_ERR_TRUNCATE || !is_wrong, 1);
    MPI_Comm_free(&its.comm);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    test_graph(make_chain(), ROUNDS);
    test_graph(make_bundles(1), ROUNDS);
    test_graph(make_bundles(COPIES), LENGTHS);
    lengths_in_use = FEW; /* a post has no room for so many edges, whose blocks are messages then */
    test_graph(make_bundles(MANY), FEW);
    lengths_in_use = LENGTHS;
    test_ahead();
    if (argc > 1 && strcmp(argv[1], "disagree") == 0 && expect_size > 1) {
        test_disagreement(100, 8);
        test_disagreement(100, 240);
        test_disagreement(4000, 100);
    }
    return expect_end();
}
