/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of graphs on hosts: known cases, and random ones, whose edges between hosts are weighed one
 * by one. */
#include "comm/graph_placement.h"

#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NODES = 60, EDGES = 400, TRIALS = 3000 };

static unsigned seed = 7;

static int random_below(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)below);
}

/* A graph that is being written, node by node. */
typedef struct graph_draft {
    weft_graph_t graph;
    int index[NODES], edges[EDGES], weights[EDGES];
} graph_draft_t;

static void add_node(graph_draft_t *draft)
{
    draft->index[draft->graph.nodes++] = draft->graph.edge_count;
}

static void add_edge(graph_draft_t *draft, int to, int weight)
{
    draft->edges[draft->graph.edge_count] = to;
    draft->weights[draft->graph.edge_count++] = weight;
}

static graph_draft_t *new_draft(void)
{
    graph_draft_t *draft = calloc(1, sizeof(*draft));
    assert_non_null(draft);
    draft->graph.index = draft->index;
    draft->graph.edges = draft->edges;
    return draft;
}

/* Of all edges between hosts; `ranks` NULL: in order, `weights` NULL: 1 each. */
static int weigh(const weft_graph_t *graph, const int *weights, const weft_shape_t *shape,
                 const int *ranks)
{
    int sum = 0;
    for (int node = 0; node < graph->nodes; node++) {
        for (int i = node == 0 ? 0 : graph->index[node - 1]; i < graph->index[node]; i++) {
            int to = graph->edges[i];
            int one = weft_shape_node(shape, ranks == NULL ? node : ranks[node]);
            int two = weft_shape_node(shape, ranks == NULL ? to : ranks[to]);
            sum += one == two ? 0 : weights == NULL ? 1 : weights[i];
        }
    }
    return sum;
}

/* Hosts alone. */
static weft_nearness_t only_hosts(const weft_shape_t *hosts)
{
    return (weft_nearness_t){.count = 1, .levels = {*hosts}};
}

static void expect_permutation(const int ranks[], int count)
{
    bool is_there[NODES] = {false};
    for (int i = 0; i < count; i++) {
        assert_in_range(ranks[i], 0, count - 1);
        assert_false(is_there[ranks[i]]);
        is_there[ranks[i]] = true;
    }
}

/* A ring of 8 on two hosts, which have every other rank: 16 ends between hosts become 4. */
static void brings_a_ring_together(void **state)
{
    graph_draft_t *ring = new_draft();
    weft_shape_t shape = weft_shape_cyclic(2, 4);
    weft_nearness_t nearness = only_hosts(&shape);
    int ranks[8];
    bool is_better = false;
    (void)state;
    for (int i = 0; i < 8; i++) {
        add_edge(ring, (i + 1) % 8, 1);
        add_edge(ring, (i + 7) % 8, 1);
        add_node(ring);
    }
    assert_int_equal(weigh(&ring->graph, NULL, &shape, NULL), 16);
    assert_int_equal(wefti_graph_place(&ring->graph, NULL, &nearness, ranks, &is_better),
                     MPI_SUCCESS);
    assert_true(is_better);
    expect_permutation(ranks, 8);
    assert_int_equal(weigh(&ring->graph, NULL, &shape, ranks), 4);
    free(ring);
}

/* One heavy edge each outweighs three light ones. */
static void heeds_weights(void **state)
{
    graph_draft_t *pairs = new_draft();
    weft_shape_t shape = weft_shape_blocks(2, 2);
    weft_nearness_t nearness = only_hosts(&shape);
    int ranks[4];
    bool is_better = false;
    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3; k++)
            add_edge(pairs, i ^ 1, 1);
        add_edge(pairs, i ^ 2, 10);
        add_node(pairs);
    }
    assert_int_equal(wefti_graph_place(&pairs->graph, NULL, &nearness, ranks, &is_better),
                     MPI_SUCCESS);
    assert_false(is_better);
    assert_int_equal(wefti_graph_place(&pairs->graph, pairs->weights, &nearness, ranks, &is_better),
                     MPI_SUCCESS);
    assert_true(is_better);
    assert_int_equal(weigh(&pairs->graph, pairs->weights, &shape, ranks), 12);
    free(pairs);
}

/* Pairs on one host, whose two packages have every other rank. */
static void brings_pairs_to_a_package(void **state)
{
    graph_draft_t *pairs = new_draft();
    weft_shape_t host = weft_shape_blocks(1, 10);
    weft_nearness_t nearness = only_hosts(&host);
    int package[10], ranks[10];
    bool is_better = false;
    (void)state;
    for (int i = 0; i < 10; i++) {
        package[i] = i % 2;
        add_edge(pairs, (i + 1) % 10, 1);
        add_node(pairs);
    }
    assert_int_equal(wefti_nearness_divide(&nearness, package), MPI_SUCCESS);
    assert_int_equal(wefti_graph_place(&pairs->graph, NULL, &nearness, ranks, &is_better),
                     MPI_SUCCESS);
    assert_true(is_better);
    expect_permutation(ranks, 10);
    assert_int_equal(weigh(&pairs->graph, NULL, &nearness.levels[1], NULL), 10);
    assert_int_equal(weigh(&pairs->graph, NULL, &nearness.levels[1], ranks), 2);
    wefti_nearness_close(&nearness);
    free(pairs);
}

static void one_host_gains_nothing(void **state)
{
    weft_shape_t one_shape = weft_shape_blocks(1, 9), two_shape = weft_shape_blocks(2, 9);
    weft_nearness_t one = only_hosts(&one_shape), two = only_hosts(&two_shape);
    (void)state;
    assert_false(wefti_graph_may_gain(9, &one));
    assert_true(wefti_graph_may_gain(9, &two));
    assert_false(wefti_graph_may_gain(1, &two));
    assert_false(wefti_graph_may_gain(0, &two));
}

/* Up to three levels more. */
static void divide_at_random(weft_nearness_t *nearness)
{
    int number[NODES];
    for (int levels = random_below(4); levels > 0; levels--) {
        int parts = 1 + random_below(4);
        for (int i = 0; i < nearness->levels[0].ranks; i++)
            number[i] = random_below(parts);
        assert_int_equal(wefti_nearness_divide(nearness, number), MPI_SUCCESS);
    }
}

/* On the first level where anything is different. */
static void expect_better(const weft_graph_t *graph, const int *weights,
                          const weft_nearness_t *nearness, const int ranks[])
{
    int level = 0, placed, in_order;
    do {
        assert_true(level < nearness->count);
        placed = weigh(graph, weights, &nearness->levels[level], ranks);
        in_order = weigh(graph, weights, &nearness->levels[level], NULL);
        level++;
    } while (placed == in_order);
    assert_true(placed < in_order);
}

static void write_random_graph(graph_draft_t *draft, int nodes)
{
    int degrees = random_below(6);
    for (int i = 0; i < nodes; i++) {
        for (int k = random_below(degrees + 1); k > 0; k--)
            add_edge(draft, random_below(nodes), random_below(20));
        add_node(draft);
    }
}

/* Any number of ranks on each host, and ranks that are no nodes. */
static void random_graphs_get_no_worse(void **state)
{
    int better = 0;
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        int hosts[NODES], ranks[NODES], size = 2 + random_below(NODES - 1);
        int host_count = 2 + random_below(5);
        weft_shape_t shape;
        graph_draft_t *draft = new_draft();
        bool is_better = false;
        for (int i = 0; i < size; i++)
            hosts[i] = i == 0 ? 0 : random_below(host_count);
        write_random_graph(draft, 2 + random_below(size - 1));
        const int *weights = trial % 2 == 0 ? draft->weights : NULL;
        assert_int_equal(weft_shape_open(hosts, size, host_count, &shape), MPI_SUCCESS);
        weft_nearness_t nearness = only_hosts(&shape);
        divide_at_random(&nearness);
        assert_int_equal(wefti_graph_place(&draft->graph, weights, &nearness, ranks, &is_better),
                         MPI_SUCCESS);
        if (is_better) {
            expect_permutation(ranks, draft->graph.nodes);
            expect_better(&draft->graph, weights, &nearness, ranks);
            better++;
        }
        wefti_nearness_close(&nearness);
        weft_shape_close(&shape);
        free(draft);
    }
    assert_true(better > TRIALS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_a_ring_together),     cmocka_unit_test(heeds_weights),
        cmocka_unit_test(brings_pairs_to_a_package),  cmocka_unit_test(one_host_gains_nothing),
        cmocka_unit_test(random_graphs_get_no_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
