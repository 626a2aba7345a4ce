/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs whose ranks may be reordered. A general graph is known whole at every rank. Of a
 * distributed one each rank knows the edges of one node: all ranks hear of all edges, find the same
 * order, and the lists of edges move to the ranks that get their nodes. They do so only if some are
 * nearer to each other than others: on several hosts, or bound to different parts of one.
 */
#include "comm/comm_make.h"

#include "comm/comm_topology_private.h"
#include "comm/graph_placement.h"
#include "coll/coll.h"
#include "base/fail.h"
#include "base/memory.h"

#include <limits.h>

static int fail_for_graph(void)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for an order of the ranks of a graph");
}

/* *ranks_out is from weft_alloc; NULL: ranks keep their order. All ranks find the same. */
static int place_nodes_of(const weft_graph_t *graph, const int *weights,
                          const weft_nearness_t *nearness, int **ranks_out)
{
    *ranks_out = NULL;
    if (!wefti_graph_may_gain(graph->nodes, nearness))
        return MPI_SUCCESS;
    int *ranks = weft_alloc_array((size_t)graph->nodes, sizeof(int));
    bool is_better = false;
    int err = ranks == NULL ? fail_for_graph()
                            : wefti_graph_place(graph, weights, nearness, ranks, &is_better);
    if (err == MPI_SUCCESS && is_better)
        *ranks_out = ranks;
    else
        weft_free(ranks);
    return err;
}

int weft_comm_attach_graph(weft_comm_t *comm, const weft_graph_t *graph, weft_comm_t **out)
{
    int *ranks;
    weft_nearness_t nearness;
    int err = wefti_nearness_within_hosts(comm, &nearness);
    if (err != MPI_SUCCESS)
        return err;
    err = place_nodes_of(graph, NULL, &nearness, &ranks);
    wefti_nearness_close(&nearness);
    if (err != MPI_SUCCESS)
        return err;
    err = wefti_comm_attach(comm, graph->nodes, ranks, weft_topology_of_graph(graph), out);
    weft_free(ranks);
    return err;
}

int weft_comm_place_in_graph(const weft_comm_t *comm, const weft_graph_t *graph, int *rank_out)
{
    int *ranks;
    weft_nearness_t nearness;
    int err = wefti_nearness_of_hosts(comm, &nearness);
    if (err == MPI_SUCCESS)
        err = place_nodes_of(graph, NULL, &nearness, &ranks);
    if (err != MPI_SUCCESS)
        return err;
    int rank = wefti_find_rank(ranks, graph->nodes, comm->rank);
    *rank_out = rank < graph->nodes ? rank : MPI_UNDEFINED;
    weft_free(ranks);
    return MPI_SUCCESS;
}

/* ---- distributed graphs ---- */

/* How many edges the node of a rank has. */
typedef struct degrees {
    int in, out;
} degrees_t;

/* A distributed graph as all ranks hear of it. */
typedef struct whole_graph {
    weft_comm_t *comm;
    bool is_weighted;
    degrees_t *degrees; /* [comm->size] */
    int *counts, *index,
        *starts; /* [comm->size]: edges of a node, and before its end and its start */
    int *destinations, *weights; /* [index[comm->size - 1]] */
} whole_graph_t;

static void free_whole(whole_graph_t *whole)
{
    weft_free(whole->degrees);
    weft_free(whole->counts);
    weft_free(whole->destinations);
}

static int gather_degrees(whole_graph_t *whole, const weft_edges_t *edges)
{
    degrees_t own = {edges->in_count, edges->out_count};
    weft_type_t *type = weft_type_of(MPI_BYTE);
    whole->degrees = weft_alloc_array((size_t)whole->comm->size, sizeof(*whole->degrees));
    whole->counts = weft_alloc_array(3 * (size_t)whole->comm->size, sizeof(int));
    if (whole->degrees == NULL || whole->counts == NULL)
        return fail_for_graph();
    whole->index = whole->counts + whole->comm->size;
    whole->starts = whole->index + whole->comm->size;
    weft_coll_args_t args = {.comm = whole->comm,
                             .send_buf = &own,
                             .send_count = sizeof(own),
                             .send_type = type,
                             .recv_buf = whole->degrees,
                             .recv_count = sizeof(own),
                             .recv_type = type};
    return weft_coll_run(WEFT_ALLGATHER, &args);
}

/* False: there are more edges than an int counts. */
static bool add_up_degrees(whole_graph_t *whole)
{
    int sum = 0;
    for (int node = 0; node < whole->comm->size; node++) {
        whole->counts[node] = whole->degrees[node].out;
        whole->starts[node] = sum;
        if (__builtin_add_overflow(sum, whole->counts[node], &sum))
            return false;
        whole->index[node] = sum;
    }
    return sum <= INT_MAX / 2;
}

/* One number for each edge that leads away from this rank's node; all[] gets those of all. */
static int gather_numbers(const whole_graph_t *whole, const int *own, int *all)
{
    weft_type_t *type = weft_type_of(MPI_INT);
    weft_coll_args_t args = {.comm = whole->comm,
                             .send_buf = own,
                             .send_count = whole->counts[whole->comm->rank],
                             .send_type = type,
                             .recv_buf = all,
                             .recv_counts = weft_counts_int(whole->counts),
                             .recv_displs = weft_counts_int(whole->starts),
                             .recv_type = type};
    return weft_coll_run(WEFT_ALLGATHERV, &args);
}

static int gather_all_edges(whole_graph_t *whole, const weft_edges_t *edges)
{
    size_t count = (size_t)whole->index[whole->comm->size - 1];
    whole->destinations = weft_alloc_array((whole->is_weighted ? 2 : 1) * count, sizeof(int));
    if (whole->destinations == NULL)
        return fail_for_graph();
    int err = gather_numbers(whole, edges->destinations, whole->destinations);
    if (err != MPI_SUCCESS || !whole->is_weighted)
        return err;
    whole->weights = whole->destinations + count;
    return gather_numbers(whole, edges->out_weights, whole->weights);
}

/* *ranks_out as of place_nodes_of(). */
static int place_edges(whole_graph_t *whole, const weft_edges_t *edges,
                       const weft_nearness_t *nearness, int **ranks_out)
{
    int nodes = whole->comm->size;
    *ranks_out = NULL;
    int err = gather_degrees(whole, edges);
    if (err != MPI_SUCCESS || !add_up_degrees(whole))
        return err;
    err = gather_all_edges(whole, edges);
    if (err != MPI_SUCCESS)
        return err;
    weft_graph_t graph = {.nodes = nodes,
                          .edge_count = whole->index[nodes - 1],
                          .index = whole->index,
                          .edges = whole->destinations};
    return place_nodes_of(&graph, whole->weights, nearness, ranks_out);
}

/* The numbers of a topology of edges. */
static MPI_Count numbers_of(degrees_t degrees, bool is_weighted)
{
    return (is_weighted ? 2 : 1) * ((MPI_Count)degrees.in + degrees.out);
}

/* Each rank sends its node's edges to one rank, and receives those of one. */
static int exchange_edges(const whole_graph_t *whole, const int *ranks, const int *own, int *to)
{
    size_t nodes = (size_t)whole->comm->size;
    int node = wefti_find_rank(ranks, whole->comm->size, whole->comm->rank);
    weft_type_t *type = weft_type_of(MPI_INT);
    MPI_Count *counts = weft_alloc_zeroed(3 * nodes, sizeof(MPI_Count));
    if (counts == NULL)
        return fail_for_graph();
    counts[ranks[whole->comm->rank]] =
        numbers_of(whole->degrees[whole->comm->rank], whole->is_weighted);
    (counts + nodes)[node] = numbers_of(whole->degrees[node], whole->is_weighted);
    weft_coll_args_t args = {.comm = whole->comm,
                             .send_buf = own,
                             .send_counts = weft_counts_wide(counts),
                             .send_displs = weft_counts_wide(counts + 2 * nodes),
                             .send_type = type,
                             .recv_buf = to,
                             .recv_counts = weft_counts_wide(counts + nodes),
                             .recv_displs = weft_counts_wide(counts + 2 * nodes),
                             .recv_type = type};
    int err = weft_coll_run(WEFT_ALLTOALLV, &args);
    weft_free(counts);
    return err;
}

/* *topology becomes that of the node that this rank gets. */
static int move_edges(const whole_graph_t *whole, const int *ranks, weft_topology_t **topology)
{
    int node = wefti_find_rank(ranks, whole->comm->size, whole->comm->rank);
    degrees_t degrees = whole->degrees[node];
    weft_topology_t *moved = weft_topology_for_edges(degrees.in, degrees.out, whole->is_weighted);
    if (moved == NULL)
        return fail_for_graph();
    int err = exchange_edges(whole, ranks, (*topology)->numbers, moved->numbers);
    weft_topology_release(*topology);
    *topology = moved;
    return err;
}

/* Also moves the edges. *ranks_out as of place_nodes_of(). */
static int reorder_edges(weft_comm_t *comm, const weft_nearness_t *nearness,
                         weft_topology_t **topology, int **ranks_out)
{
    whole_graph_t whole = {.comm = comm, .is_weighted = (*topology)->edges.is_weighted};
    *ranks_out = NULL;
    if (!wefti_graph_may_gain(comm->size, nearness))
        return MPI_SUCCESS;
    int err = place_edges(&whole, &(*topology)->edges, nearness, ranks_out);
    if (err == MPI_SUCCESS && *ranks_out != NULL)
        err = move_edges(&whole, *ranks_out, topology);
    free_whole(&whole);
    return err;
}

static int place_ranks_by_edges(weft_comm_t *comm, weft_topology_t **topology, int **ranks_out)
{
    weft_nearness_t nearness;
    int err = wefti_nearness_within_hosts(comm, &nearness);
    if (err != MPI_SUCCESS)
        return err;
    err = reorder_edges(comm, &nearness, topology, ranks_out);
    wefti_nearness_close(&nearness);
    return err;
}

int weft_comm_attach_edges(weft_comm_t *comm, weft_topology_t *topology, weft_comm_t **out)
{
    int *ranks;
    int err = topology == NULL ? fail_for_graph() : place_ranks_by_edges(comm, &topology, &ranks);
    if (err != MPI_SUCCESS) {
        weft_topology_release(topology);
        return err;
    }
    err = wefti_comm_attach(comm, comm->size, ranks, topology, out);
    weft_free(ranks);
    return err;
}
