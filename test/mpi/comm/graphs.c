/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs and distributed graphs on any number of ranks: every rank knows its neighbours, whoever
 * named the edges. */
#define _GNU_SOURCE
#include "expect.h"

#include "bound.h"

#include <stdlib.h>

static int rank_in(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/* ---- general graphs: node i has edges to i + 1 and, if even, to all others ---- */

static int degree_of(int node, int nodes)
{
    return node % 2 == 0 ? nodes : 1;
}

static int neighbor_of(int node, int nodes, int which)
{
    return which == 0 ? (node + 1) % nodes : which - 1 < node ? which - 1 : which;
}

static int fill_graph(int nodes, int index[], int edges[])
{
    int count = 0;
    for (int i = 0; i < nodes; i++) {
        for (int k = 0; k < degree_of(i, nodes); k++)
            edges[count++] = neighbor_of(i, nodes, k) % nodes;
        index[i] = count;
    }
    return count;
}

static void expect_graph(MPI_Comm graph, int nodes, const int index[], const int edges[], int count)
{
    int kind, got_nodes, got_edges;
    int *got_index = malloc(sizeof(int) * (size_t)(nodes + 1));
    int *got = malloc(sizeof(int) * (size_t)(count + 1));
    MPI_Topo_test(graph, &kind);
    EXPECT(kind, MPI_GRAPH);
    MPI_Graphdims_get(graph, &got_nodes, &got_edges);
    EXPECT(got_nodes, nodes);
    EXPECT(got_edges, count);
    MPI_Graph_get(graph, nodes, count, got_index, got);
    EXPECT(memcmp(got_index, index, sizeof(int) * (size_t)nodes), 0);
    EXPECT(memcmp(got, edges, sizeof(int) * (size_t)count), 0);
    for (int i = 0; i < nodes; i++) {
        int degree;
        MPI_Graph_neighbors_count(graph, i, &degree);
        EXPECT(degree, degree_of(i, nodes));
        MPI_Graph_neighbors(graph, i, degree, got);
        for (int k = 0; k < degree; k++)
            EXPECT(got[k], neighbor_of(i, nodes, k) % nodes);
    }
    free(got_index);
    free(got);
}

static void try_graph(int nodes)
{
    int *index = malloc(sizeof(int) * (size_t)(nodes + 1));
    int *edges = malloc(sizeof(int) * (size_t)(nodes * (nodes + 1) + 1));
    int count = fill_graph(nodes, index, edges), place, is_bound = is_any_rank_bound();
    MPI_Comm graph, copy;
    MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 1, &graph);
    EXPECT(graph == MPI_COMM_NULL, expect_rank >= nodes);
    MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &place);
    EXPECT(place == MPI_UNDEFINED, expect_rank >= nodes);
    if (graph != MPI_COMM_NULL) {
        if (!is_bound) /* MPI_Graph_map knows of hosts alone */
            EXPECT(place, rank_in(graph));
        expect_graph(graph, nodes, index, edges, count);
        MPI_Comm_dup(graph, &copy);
        MPI_Comm_free(&graph);
        expect_graph(copy, nodes, index, edges, count);
        MPI_Comm_free(&copy);
    }
    free(index);
    free(edges);
}

/* ---- distributed graphs: edges from i to i + 1 of weight i, and from i to 2 i of weight 100 + i
 * ---- */

typedef struct edge {
    int from, to, weight;
} edge_t;

static edge_t edge_number(int number)
{
    int from = number / 2;
    return number % 2 == 0 ? (edge_t){from, (from + 1) % expect_size, from}
                           : (edge_t){from, 2 * from % expect_size, 100 + from};
}

/* How often the edges of the graph lead from `from` to `to` with that weight. */
static int count_edges(int from, int to, int weight)
{
    int found = 0;
    for (int i = 0; i < 2 * expect_size; i++) {
        edge_t edge = edge_number(i);
        found += edge.from == from && edge.to == to && (weight < 0 || edge.weight == weight);
    }
    return found;
}

static int count_named(const int peers[], const int weights[], int count, int peer, int weight)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += peers[i] == peer && (weight < 0 || weights[i] == weight);
    return found;
}

static void expect_dist_graph(MPI_Comm graph, int is_weighted)
{
    int rank = rank_in(graph), kind, in_count, out_count, got_weighted, most = 2 * expect_size;
    int *sources = malloc(sizeof(int) * 4 * (size_t)most);
    int *dests = sources + most, *in_weights = dests + most, *out_weights = in_weights + most;
    MPI_Topo_test(graph, &kind);
    EXPECT(kind, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in_count, &out_count, &got_weighted);
    EXPECT(got_weighted != 0, is_weighted);
    EXPECT(out_count, 2);
    MPI_Dist_graph_neighbors(graph, most, sources, is_weighted ? in_weights : MPI_UNWEIGHTED, most,
                             dests, is_weighted ? out_weights : MPI_UNWEIGHTED);
    int in_expected = 0;
    for (int i = 0; i < 2 * expect_size; i++) {
        edge_t edge = edge_number(i);
        int weight = is_weighted ? edge.weight : -1;
        in_expected += edge.to == rank;
        if (edge.to == rank)
            EXPECT(count_named(sources, in_weights, in_count, edge.from, weight),
                   count_edges(edge.from, edge.to, weight));
        if (edge.from == rank)
            EXPECT(count_named(dests, out_weights, out_count, edge.to, weight),
                   count_edges(edge.from, edge.to, weight));
    }
    EXPECT(in_count, in_expected);
    free(sources);
}

/* Edge i is named by rank (i + shift) modulo size; with `lumped`, rank 0 names them all. */
static void try_dist_graph(int shift, int is_lumped, int is_weighted)
{
    int most = 2 * expect_size, count = 0;
    int *sources = malloc(sizeof(int) * 4 * (size_t)most);
    int *degrees = sources + most, *dests = degrees + most, *weights = dests + most;
    for (int i = 0; i < most; i++) {
        if ((is_lumped ? 0 : (i + shift) % expect_size) != expect_rank)
            continue;
        edge_t edge = edge_number(i);
        sources[count] = edge.from;
        degrees[count] = 1;
        dests[count] = edge.to;
        weights[count++] = edge.weight;
    }
    MPI_Comm graph, copy;
    const int *given = !is_weighted ? MPI_UNWEIGHTED : count == 0 ? MPI_WEIGHTS_EMPTY : weights;
    MPI_Dist_graph_create(MPI_COMM_WORLD, count, sources, degrees, dests, given, MPI_INFO_NULL,
                          shift, &graph);
    expect_dist_graph(graph, is_weighted);
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    expect_dist_graph(copy, is_weighted);
    MPI_Comm_free(&copy);
    free(sources);
}

/* The edges at one rank, in descending order. */
typedef struct ends {
    int in_count, out_count;
    int *sources, *dests, *in_weights, *out_weights; /* one allocation */
} ends_t;

static ends_t edges_at(int rank)
{
    size_t most = 2 * (size_t)expect_size;
    ends_t ends = {.sources = malloc(sizeof(int) * 4 * most)};
    ends.dests = ends.sources + most;
    ends.in_weights = ends.dests + most;
    ends.out_weights = ends.in_weights + most;
    for (int i = (int)most - 1; i >= 0; i--) {
        edge_t edge = edge_number(i);
        if (edge.to == rank) {
            ends.sources[ends.in_count] = edge.from;
            ends.in_weights[ends.in_count++] = edge.weight;
        }
        if (edge.from == rank) {
            ends.dests[ends.out_count] = edge.to;
            ends.out_weights[ends.out_count++] = edge.weight;
        }
    }
    return ends;
}

static MPI_Comm make_adjacent(const ends_t *ends, int is_weighted, int reorder)
{
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ends->in_count, ends->sources,
                                   !is_weighted          ? MPI_UNWEIGHTED
                                   : ends->in_count == 0 ? MPI_WEIGHTS_EMPTY
                                                         : ends->in_weights,
                                   ends->out_count, ends->dests,
                                   is_weighted ? ends->out_weights : MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   reorder, &graph);
    return graph;
}

/* Each rank names the edges at itself; who has its rank at last has them, in the order given. */
static void try_adjacent(int is_weighted, int reorder)
{
    ends_t given = edges_at(expect_rank);
    MPI_Comm graph = make_adjacent(&given, is_weighted, reorder);
    ends_t own = edges_at(rank_in(graph));
    int got[64], got_weights[64];
    expect_dist_graph(graph, is_weighted);
    EXPECT(reorder || rank_in(graph) == expect_rank, 1);
    MPI_Dist_graph_neighbors(graph, 64, got, is_weighted ? got_weights : MPI_UNWEIGHTED, 0, NULL,
                             NULL);
    EXPECT(memcmp(got, own.sources, sizeof(int) * (size_t)own.in_count), 0);
    if (is_weighted)
        EXPECT(memcmp(got_weights, own.in_weights, sizeof(int) * (size_t)own.in_count), 0);
    MPI_Comm_free(&graph);
    free(given.sources);
    free(own.sources);
}

/* ---- neighbours come to one host ---- */

/* Of a rank of MPI_COMM_WORLD, out of WEFT_SIMULATE_HOSTS (0,1,0,1 for example). */
static int node_of(int rank)
{
    const char *at = getenv("WEFT_SIMULATE_HOSTS");
    for (; at != NULL && rank > 0; rank--)
        at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1;
    return at == NULL ? 0 : atoi(at);
}

/* Is the process with the rank that the caller's partner has in `graph` on the caller's node? */
static int is_partner_here(MPI_Comm graph)
{
    int own = node_of(expect_rank), other = -1, partner = rank_in(graph) ^ 1;
    MPI_Sendrecv(&own, 1, MPI_INT, partner, 0, &other, 1, MPI_INT, partner, 0, graph,
                 MPI_STATUS_IGNORE);
    return own == other;
}

/* Ranks 2 i and 2 i + 1 talk much, and all talk little in a ring; nodes have an even number. */
static void try_pairs(void)
{
    int partner = expect_rank ^ 1, next = (expect_rank + 1) % expect_size, degree = 2;
    int peers[] = {partner, next}, weights[] = {100, 1}, edges[64], index[64];
    MPI_Comm graph;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &expect_rank, &degree, peers, weights, MPI_INFO_NULL,
                          1, &graph);
    EXPECT(is_partner_here(graph), 1);
    MPI_Comm_free(&graph);
    for (int i = 0; i < expect_size; i++) {
        edges[i] = i ^ 1;
        index[i] = i + 1;
    }
    MPI_Graph_create(MPI_COMM_WORLD, expect_size, index, edges, 1, &graph);
    EXPECT(is_partner_here(graph), 1);
    MPI_Comm_free(&graph);
}

/* A graph without edges, and one in which MPI is told of the ranks' edges by nobody. */
static void try_empty(void)
{
    MPI_Comm graph;
    int in_count, out_count, is_weighted;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in_count, &out_count, &is_weighted);
    EXPECT(in_count + out_count, 0);
    EXPECT(is_weighted != 0, 1);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &graph);
    MPI_Dist_graph_neighbors_count(graph, &in_count, &out_count, &is_weighted);
    EXPECT(in_count + out_count, 0);
    EXPECT(is_weighted, 0);
    MPI_Comm_free(&graph);
    MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph);
    EXPECT(graph == MPI_COMM_NULL, 1);
}

static void try_graph_errors(void)
{
    int index[] = {1}, edges[] = {0}, far[] = {1}, down[] = {2, 1}, minus[] = {-1}, got;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Graph_create(self, 2, index, edges, 0, &graph), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_create(self, -1, index, edges, 0, &graph), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_create(self, 1, NULL, edges, 0, &graph), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_create(self, 1, index, far, 0, &graph), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_create(self, 1, minus, edges, 0, &graph), MPI_ERR_ARG);
    if (expect_size > 1)
        EXPECT_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 2, down, edges, 0, &graph), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_create(self, 1, index, edges, 0, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_get(self, 1, 1, index, edges), MPI_ERR_TOPOLOGY);
    MPI_Graph_create(self, 1, index, edges, 0, &graph);
    EXPECT_ERROR(MPI_Graph_neighbors(graph, 1, 1, &got), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Graph_neighbors(graph, 0, 0, &got), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Graph_get(graph, 1, 0, index, edges), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dist_graph_neighbors_count(graph, &got, &got, &got), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&graph);
}

static void try_dist_errors(void)
{
    int here[] = {0}, far[] = {1}, minus[] = {-1};
    MPI_Comm graph = MPI_COMM_NULL, self = MPI_COMM_SELF;
    const MPI_Info none = MPI_INFO_NULL;
    int *no = MPI_UNWEIGHTED;
    EXPECT_ERROR(MPI_Dist_graph_create_adjacent(self, -1, here, no, 0, here, no, none, 0, &graph),
                 MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Dist_graph_create_adjacent(self, 1, far, no, 0, here, no, none, 0, &graph),
                 MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Dist_graph_create_adjacent(self, 1, here, no, 1, minus, no, none, 0, &graph),
                 MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Dist_graph_create_adjacent(self, 1, here, here, 1, here, no, none, 0, &graph),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dist_graph_create_adjacent(self, 1, here, MPI_WEIGHTS_EMPTY, 1, here, here,
                                                none, 0, &graph),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dist_graph_create(self, 1, here, minus, here, no, none, 0, &graph),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dist_graph_create(self, 1, far, far, here, no, none, 0, &graph), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Dist_graph_create(self, 1, here, far, far, no, none, 0, &graph), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Dist_graph_create(self, 1, here, far, here, minus, none, 0, &graph),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dist_graph_create(self, 1, here, far, NULL, no, none, 0, &graph), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    try_graph(expect_size);
    try_graph(1);
    for (int is_weighted = 0; is_weighted <= 1; is_weighted++) {
        try_dist_graph(0, 0, is_weighted);
        try_dist_graph(1, 0, is_weighted);
        try_dist_graph(0, 1, is_weighted);
        try_adjacent(is_weighted, 0);
        try_adjacent(is_weighted, 1);
    }
    if (argc > 1 && strcmp(argv[1], "pairs") == 0)
        try_pairs();
    try_empty();
    try_graph_errors();
    try_dist_errors();
    return expect_end();
}
