/* SPDX-License-Identifier: BSD-3-Clause */
/* General and distributed graphs (MPI 5.0, sections 8.5.3 to 8.5.5, 8.5.8). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "object/comm_hints.h"
#include "object/topology.h"
#include "base/fail.h"

#include <string.h>

/* ---- general graphs ---- */

static int check_index(const weft_graph_t *graph, int *edges_out)
{
    int last = 0;
    for (int i = 0; i < graph->nodes; i++) {
        if (graph->index[i] < last)
            return weft_fail(MPI_ERR_ARG, "index[%d] is %d, but must be at least %d", i,
                             graph->index[i], last);
        last = graph->index[i];
    }
    *edges_out = last;
    return MPI_SUCCESS;
}

static int check_edges(const weft_graph_t *graph)
{
    int err = graph->edge_count == 0 ? MPI_SUCCESS : weft_check_input(graph->edges, "edges");
    for (int i = 0; i < graph->edge_count && err == MPI_SUCCESS; i++) {
        if (graph->edges[i] < 0 || graph->edges[i] >= graph->nodes)
            err = weft_fail(MPI_ERR_ARG, "edges[%d] is %d, but the graph has %d nodes", i,
                            graph->edges[i], graph->nodes);
    }
    return err;
}

/* Also finds how many edges there are. */
static int check_graph(const weft_comm_t *comm, weft_graph_t *graph)
{
    if (graph->nodes < 0 || graph->nodes > comm->size)
        return weft_fail(MPI_ERR_ARG, "nnodes is %d, but %s has %d ranks", graph->nodes,
                         weft_comm_label(comm), comm->size);
    int err = graph->nodes == 0 ? MPI_SUCCESS : weft_check_input(graph->index, "index");
    if (err == MPI_SUCCESS)
        err = check_index(graph, &graph->edge_count);
    return err == MPI_SUCCESS ? check_edges(graph) : err;
}

static int make_graph(weft_comm_t *comm, weft_graph_t *graph, bool reorders, MPI_Comm *comm_graph)
{
    weft_comm_t *made;
    int err = check_graph(comm, graph);
    if (err == MPI_SUCCESS && reorders)
        err = weft_comm_attach_graph(comm, graph, &made);
    else if (err == MPI_SUCCESS)
        err = weft_comm_attach_topology(comm, graph->nodes, weft_topology_of_graph(graph), &made);
    if (err == MPI_SUCCESS)
        *comm_graph = weft_give_comm("MPI_Graph_create", made);
    return err;
}

/** Makes a communicator whose ranks are the nodes of a graph that every rank gives whole
 *  (section 8.5.3). Collective over comm_old; the arguments are the same at all ranks. The
 *  neighbours of node i are edges[indx[i - 1]] to edges[indx[i] - 1], of node 0 those from edges[0]
 *  on. A neighbour may come twice, a node may be its own neighbour, and an edge need not lead back.
 *  @param[in] nnodes  how many nodes there are, at most as many as the communicator has ranks
 *  @param[in] indx  nnodes sums: how many neighbours node i and those before it have together
 *  @param[in] edges  indx[nnodes - 1] nodes
 *  @param[in] reorder  0: node i is rank i of comm_old; otherwise the nodes may be given to other
 *      ranks
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_ARG  nnodes is negative or too large, indx or edges is NULL but has entries, indx
 *      decreases, or an entry of edges is no node
 *  @note With reorder neighbours come to ranks of one host, where that makes fewer edges lead from
 *      host to host, and within it to ranks that are bound to one package, NUMA node, cache or
 *      core. Graphs of more than 8192 nodes keep their order.
 *  @see MPI_Dist_graph_create_adjacent, MPI_Graph_map */
WEFT_API(MPI_Graph_create);
int PMPI_Graph_create(MPI_Comm handle, int nnodes, const int indx[], const int edges[], int reorder,
                      MPI_Comm *comm_graph)
{
    weft_call_t call = weft_call_begin("MPI_Graph_create");
    weft_comm_t *comm;
    weft_graph_t graph = {.nodes = nnodes, .index = indx, .edges = edges};
    int err = weft_check_intracomm(&call, handle, "comm_old", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(comm_graph, "comm_graph");
    if (err == MPI_SUCCESS)
        err = make_graph(comm, &graph, reorder != 0, comm_graph);
    return weft_call_end(&call, err);
}

/** The rank that the caller would have in a graph, if MPI_Graph_create were called with reorder
 *  (section 8.5.8). No communicator is made, and none of the ranks' bindings is asked for: where
 *  processes are bound to parts of their host, their order within it may differ.
 *  @param[in] nnodes  how many nodes there are, at most as many as the communicator has ranks
 *  @param[in] indx  nnodes sums: how many neighbours node i and those before it have together
 *  @param[in] edges  indx[nnodes - 1] nodes
 *  @param[out] newrank  the caller's rank in comm, or MPI_UNDEFINED if there is no such node
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_ARG  nnodes is negative or too large, indx or edges is NULL but has entries,
 *      indx decreases, or an entry of edges is no node */
WEFT_API(MPI_Graph_map);
int PMPI_Graph_map(MPI_Comm handle, int nnodes, const int indx[], const int edges[], int *newrank)
{
    weft_call_t call = weft_call_begin("MPI_Graph_map");
    weft_comm_t *comm;
    weft_graph_t graph = {.nodes = nnodes, .index = indx, .edges = edges};
    int err = weft_check_intracomm(&call, handle, "comm", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newrank, "newrank");
    if (err == MPI_SUCCESS)
        err = check_graph(comm, &graph);
    if (err == MPI_SUCCESS)
        err = weft_comm_place_in_graph(comm, &graph, newrank);
    return weft_call_end(&call, err);
}

static int check_graph_comm(weft_call_t *call, MPI_Comm handle, weft_comm_t **comm_out,
                            const weft_graph_t **graph_out)
{
    int err = weft_check_comm(call, handle, comm_out);
    if (err != MPI_SUCCESS)
        return err;
    const weft_topology_t *topology = (*comm_out)->topology;
    if (topology == NULL || topology->kind != MPI_GRAPH)
        return weft_fail(MPI_ERR_TOPOLOGY, "%s has no graph topology", weft_comm_label(*comm_out));
    *graph_out = &topology->graph;
    return MPI_SUCCESS;
}

/** How many nodes and edges the graph of a communicator has (section 8.5.5).
 *  @param[out] nnodes  how many entries indx has in MPI_Graph_get
 *  @param[out] nedges  how many entries edges has there
 *  @error MPI_ERR_TOPOLOGY  comm has no such graph */
WEFT_API(MPI_Graphdims_get);
int PMPI_Graphdims_get(MPI_Comm handle, int *nnodes, int *nedges)
{
    weft_call_t call = weft_call_begin("MPI_Graphdims_get");
    weft_comm_t *comm;
    const weft_graph_t *graph;
    int err = check_graph_comm(&call, handle, &comm, &graph);
    if (err == MPI_SUCCESS)
        err = weft_check_output(nnodes, "nnodes");
    if (err == MPI_SUCCESS)
        err = weft_check_output(nedges, "nedges");
    if (err == MPI_SUCCESS) {
        *nnodes = graph->nodes;
        *nedges = graph->edge_count;
    }
    return weft_call_end(&call, err);
}

/* An array of the program, and how the function's arguments are named. */
typedef struct output_array {
    int *to;
    int most; /* its length */
    const char *name, *most_name;
} output_array_t;

/* All of them must fit. */
static int check_fits(int count, const output_array_t *out)
{
    if (out->most < count)
        return weft_fail(MPI_ERR_ARG, "%s is %d, but there are %d", out->most_name, out->most,
                         count);
    return count == 0 ? MPI_SUCCESS : weft_check_output(out->to, out->name);
}

static void give_numbers(const int *from, int count, int *to)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof(int));
}

/** The graph of a communicator, as MPI_Graph_create was given it (section 8.5.5).
 *  @param[in] maxindex  how many elements indx has
 *  @param[in] maxedges  how many elements edges has
 *  @error MPI_ERR_TOPOLOGY  comm has no such graph
 *  @error MPI_ERR_ARG  maxindex is less than the graph has nodes, or maxedges less than it has
 *      edges
 *  @see MPI_Graphdims_get */
WEFT_API(MPI_Graph_get);
int PMPI_Graph_get(MPI_Comm handle, int maxindex, int maxedges, int indx[], int edges[])
{
    weft_call_t call = weft_call_begin("MPI_Graph_get");
    weft_comm_t *comm;
    const weft_graph_t *graph;
    int err = check_graph_comm(&call, handle, &comm, &graph);
    if (err == MPI_SUCCESS)
        err = check_fits(graph->nodes, &(output_array_t){indx, maxindex, "index", "maxindex"});
    if (err == MPI_SUCCESS)
        err =
            check_fits(graph->edge_count, &(output_array_t){edges, maxedges, "edges", "maxedges"});
    if (err == MPI_SUCCESS) {
        give_numbers(graph->index, graph->nodes, indx);
        give_numbers(graph->edges, graph->edge_count, edges);
    }
    return weft_call_end(&call, err);
}

static int check_node(const weft_comm_t *comm, int rank)
{
    return (unsigned)rank < (unsigned)comm->size ? MPI_SUCCESS : weft_bad_rank(comm, rank, "rank");
}

/** How many neighbours a rank has in a graph (section 8.5.5).
 *  @param[out] nneighbors  those that MPI_Graph_create was given for it, repeated ones included
 *  @error MPI_ERR_TOPOLOGY  comm has no such graph
 *  @error MPI_ERR_RANK  rank is no rank of comm */
WEFT_API(MPI_Graph_neighbors_count);
int PMPI_Graph_neighbors_count(MPI_Comm handle, int rank, int *nneighbors)
{
    weft_call_t call = weft_call_begin("MPI_Graph_neighbors_count");
    weft_comm_t *comm;
    const weft_graph_t *graph;
    int err = check_graph_comm(&call, handle, &comm, &graph);
    if (err == MPI_SUCCESS)
        err = check_node(comm, rank);
    if (err == MPI_SUCCESS)
        err = weft_check_output(nneighbors, "nneighbors");
    if (err == MPI_SUCCESS)
        weft_graph_neighbors(graph, rank, nneighbors);
    return weft_call_end(&call, err);
}

static int give_neighbors(const weft_graph_t *graph, int rank, int most, int neighbors[])
{
    int count;
    const int *found = weft_graph_neighbors(graph, rank, &count);
    int err = check_fits(count, &(output_array_t){neighbors, most, "neighbors", "maxneighbors"});
    if (err == MPI_SUCCESS)
        give_numbers(found, count, neighbors);
    return err;
}

/** The neighbours of a rank in a graph, in the order in which MPI_Graph_create was given them
 *  (section 8.5.5).
 *  @error MPI_ERR_TOPOLOGY  comm has no such graph
 *  @error MPI_ERR_RANK  rank is no rank of comm
 *  @error MPI_ERR_ARG  maxneighbors is less than the rank has neighbours
 *  @see MPI_Graph_neighbors_count */
WEFT_API(MPI_Graph_neighbors);
int PMPI_Graph_neighbors(MPI_Comm handle, int rank, int maxneighbors, int neighbors[])
{
    weft_call_t call = weft_call_begin("MPI_Graph_neighbors");
    weft_comm_t *comm;
    const weft_graph_t *graph;
    int err = check_graph_comm(&call, handle, &comm, &graph);
    if (err == MPI_SUCCESS)
        err = check_node(comm, rank);
    if (err == MPI_SUCCESS)
        err = give_neighbors(graph, rank, maxneighbors, neighbors);
    return weft_call_end(&call, err);
}

/* ---- distributed graphs ---- */

/* Ranks of `comm` in an array that is `name` to the program. */
static int check_ends(const weft_comm_t *comm, const int *ranks, size_t count, const char *name)
{
    int err = count == 0 ? MPI_SUCCESS : weft_check_input(ranks, name);
    for (size_t i = 0; i < count && err == MPI_SUCCESS; i++) {
        if ((unsigned)ranks[i] >= (unsigned)comm->size)
            err = weft_fail(MPI_ERR_RANK, "%s[%zu] is %d, but %s has ranks 0 to %d", name, i,
                            ranks[i], weft_comm_label(comm), comm->size - 1);
    }
    return err;
}

/* The weights as a topology has them: NULL where there are none. */
static int check_weights(const int *weights, size_t count, const char *name, const int **out)
{
    *out = weights == MPI_UNWEIGHTED || count == 0 ? NULL : weights;
    if (count == 0 || weights == MPI_UNWEIGHTED)
        return MPI_SUCCESS;
    if (weights == MPI_WEIGHTS_EMPTY)
        return weft_fail(MPI_ERR_ARG, "%s is MPI_WEIGHTS_EMPTY, but there are %zu edges", name,
                         count);
    int err = weft_check_input(weights, name);
    for (size_t i = 0; i < count && err == MPI_SUCCESS; i++) {
        if (weights[i] < 0)
            err = weft_fail(MPI_ERR_ARG, "%s[%zu] is %d, but must be at least 0", name, i,
                            weights[i]);
    }
    return err;
}

/* The arguments that both ways to make one have, beside the edges. */
typedef struct dist_graph_args {
    const char *function;
    weft_comm_t *comm;
    weft_info_t *info;
    bool reorders;
    MPI_Comm *out;
} dist_graph_args_t;

/* The communicator has been checked. */
static int check_creation(MPI_Info info_handle, dist_graph_args_t *args)
{
    int err = weft_check_output(args->out, "comm_dist_graph");
    return err == MPI_SUCCESS ? weft_check_info(info_handle, &args->info) : err;
}

/* With the hints of the program; the topology is released on failure. */
static int make_dist_graph(const dist_graph_args_t *args, weft_topology_t *topology)
{
    weft_comm_t *made;
    int err = args->reorders
                  ? weft_comm_attach_edges(args->comm, topology, &made)
                  : weft_comm_attach_topology(args->comm, args->comm->size, topology, &made);
    if (err != MPI_SUCCESS)
        return err;
    *args->out = weft_give_comm(args->function, made);
    return weft_comm_set_hints(made, args->info);
}

static int check_adjacent(const weft_comm_t *comm, weft_edges_t *edges)
{
    int err = weft_check_count(edges->in_count, "indegree");
    if (err == MPI_SUCCESS)
        err = weft_check_count(edges->out_count, "outdegree");
    if (err == MPI_SUCCESS)
        err = check_ends(comm, edges->sources, (size_t)edges->in_count, "sources");
    if (err == MPI_SUCCESS)
        err = check_ends(comm, edges->destinations, (size_t)edges->out_count, "destinations");
    /* MPI_UNWEIGHTED is given for both, at all ranks or at none. */
    edges->is_weighted =
        edges->in_weights != MPI_UNWEIGHTED && edges->out_weights != MPI_UNWEIGHTED;
    if (err == MPI_SUCCESS && !edges->is_weighted && edges->in_weights != edges->out_weights)
        err = weft_fail(MPI_ERR_ARG,
                        "MPI_UNWEIGHTED is given for one of sourceweights and destweights alone");
    if (err == MPI_SUCCESS)
        err = check_weights(edges->in_weights, (size_t)edges->in_count, "sourceweights",
                            &edges->in_weights);
    if (err == MPI_SUCCESS)
        err = check_weights(edges->out_weights, (size_t)edges->out_count, "destweights",
                            &edges->out_weights);
    return err;
}

/** Makes a communicator with a graph of which each rank gives the edges that lead to it and away
 *  from it (section 8.5.4). Collective over comm_old. Each edge is given twice, at its source as a
 *  destination and at its destination as a source; several edges may join the same two ranks. The
 *  neighbours keep the order given, in MPI_Dist_graph_neighbors and in neighbourhood collectives.
 *  The result has comm_old's error handler and the hints of info.
 *  @param[in] indegree  how many edges lead to the caller
 *  @param[in] sources  indegree ranks of comm_old, from which they come
 *  @param[in] sourceweights  indegree numbers, at least 0; or MPI_UNWEIGHTED, at all ranks and for
 *      destweights too; or MPI_WEIGHTS_EMPTY, if indegree is 0
 *  @param[in] outdegree  how many edges lead away from the caller
 *  @param[in] destinations  outdegree ranks of comm_old, to which they go
 *  @param[in] destweights  outdegree numbers, as sourceweights
 *  @param[in] reorder  0: processes keep their ranks; otherwise the edges of rank i of comm_old may
 *      become those of rank i in another process
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_COUNT  indegree or outdegree is negative
 *  @error MPI_ERR_RANK  an entry of sources or destinations is no rank of comm_old
 *  @error MPI_ERR_ARG  an array is NULL, a weight is negative, MPI_WEIGHTS_EMPTY stands for edges,
 *      or MPI_UNWEIGHTED is given for one array alone
 *  @note With reorder neighbours come to ranks of one host, where that makes the weight of the
 *      edges from host to host smaller, and so within a host. Graphs of more than 8192 ranks
 *      keep their order.
 *  @note Whether both ends give the same edges is not checked.
 *  @see MPI_Dist_graph_create, MPI_Comm_set_info */
WEFT_API(MPI_Dist_graph_create_adjacent);
int PMPI_Dist_graph_create_adjacent(MPI_Comm handle, int indegree, const int sources[],
                                    const int *sourceweights, int outdegree,
                                    const int destinations[], const int *destweights,
                                    MPI_Info info_handle, int reorder, MPI_Comm *comm_dist_graph)
{
    weft_call_t call = weft_call_begin("MPI_Dist_graph_create_adjacent");
    dist_graph_args_t args = {
        .function = call.name, .reorders = reorder != 0, .out = comm_dist_graph};
    weft_edges_t edges = {.in_count = indegree,
                          .out_count = outdegree,
                          .sources = sources,
                          .in_weights = sourceweights,
                          .destinations = destinations,
                          .out_weights = destweights};
    int err = weft_check_intracomm(&call, handle, "comm_old", &args.comm);
    if (err == MPI_SUCCESS)
        err = check_creation(info_handle, &args);
    if (err == MPI_SUCCESS)
        err = check_adjacent(args.comm, &edges);
    if (err == MPI_SUCCESS)
        err = make_dist_graph(&args, weft_topology_of_edges(&edges));
    return weft_call_end(&call, err);
}

static int sum_degrees(const weft_named_edges_t *named, size_t *sum_out)
{
    *sum_out = 0;
    int err = named->count == 0 ? MPI_SUCCESS : weft_check_input(named->degrees, "degrees");
    for (int i = 0; i < named->count && err == MPI_SUCCESS; i++) {
        if (named->degrees[i] < 0)
            err = weft_fail(MPI_ERR_ARG, "degrees[%d] is %d, but must be at least 0", i,
                            named->degrees[i]);
        else
            *sum_out += (size_t)named->degrees[i];
    }
    return err;
}

static int check_named_edges(const weft_comm_t *comm, weft_named_edges_t *named)
{
    size_t edges = 0;
    int err = weft_check_count(named->count, "n");
    if (err == MPI_SUCCESS)
        err = check_ends(comm, named->sources, (size_t)named->count, "sources");
    if (err == MPI_SUCCESS)
        err = sum_degrees(named, &edges);
    if (err == MPI_SUCCESS)
        err = check_ends(comm, named->destinations, edges, "destinations");
    named->is_weighted = named->weights != MPI_UNWEIGHTED;
    return err == MPI_SUCCESS ? check_weights(named->weights, edges, "weights", &named->weights)
                              : err;
}

/** Makes a communicator with a graph whose edges any ranks may give (section 8.5.4). Collective
 *  over comm_old. Each edge is given once, by any rank, and those of all ranks are put together;
 *  Weft tells each rank its own. The result has comm_old's error handler and the hints of info.
 *  @param[in] n  how many entries sources and degrees have; 0: the caller gives no edges
 *  @param[in] sources  n ranks of comm_old, from which edges come
 *  @param[in] degrees  n numbers: how many edges are given for each source
 *  @param[in] destinations  ranks of comm_old, as many as the sum of degrees: those of the first
 *      source, those of the second, ...
 *  @param[in] weights  one number for each destination, at least 0; or MPI_UNWEIGHTED, at all
 *      ranks; or MPI_WEIGHTS_EMPTY, if the caller gives no edges
 *  @param[in] reorder  0: processes keep their ranks; otherwise the edges of rank i of comm_old may
 *      become those of rank i in another process
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_COUNT  n is negative
 *  @error MPI_ERR_RANK  an entry of sources or destinations is no rank of comm_old
 *  @error MPI_ERR_ARG  an array is NULL, a degree or a weight is negative, or MPI_WEIGHTS_EMPTY
 *      stands for edges
 *  @note The neighbours of a rank are in the order of the ranks that gave the edges, and then in
 *      that of their arrays.
 *  @note With reorder neighbours come to ranks of one host, as in MPI_Dist_graph_create_adjacent.
 *  @see MPI_Dist_graph_create_adjacent */
WEFT_API(MPI_Dist_graph_create);
int PMPI_Dist_graph_create(MPI_Comm handle, int n, const int sources[], const int degrees[],
                           const int destinations[], const int *weights, MPI_Info info_handle,
                           int reorder, MPI_Comm *comm_dist_graph)
{
    weft_call_t call = weft_call_begin("MPI_Dist_graph_create");
    weft_topology_t *topology;
    dist_graph_args_t args = {
        .function = call.name, .reorders = reorder != 0, .out = comm_dist_graph};
    weft_named_edges_t named = {.count = n,
                                .sources = sources,
                                .degrees = degrees,
                                .destinations = destinations,
                                .weights = weights};
    int err = weft_check_intracomm(&call, handle, "comm_old", &args.comm);
    if (err == MPI_SUCCESS)
        err = check_creation(info_handle, &args);
    if (err == MPI_SUCCESS)
        err = check_named_edges(args.comm, &named);
    if (err == MPI_SUCCESS)
        err = weft_comm_gather_edges(args.comm, &named, &topology);
    if (err == MPI_SUCCESS)
        err = make_dist_graph(&args, topology);
    return weft_call_end(&call, err);
}

static int check_dist_graph(weft_call_t *call, MPI_Comm handle, const weft_edges_t **out)
{
    weft_comm_t *comm;
    int err = weft_check_comm(call, handle, &comm);
    if (err != MPI_SUCCESS)
        return err;
    if (comm->topology == NULL || comm->topology->kind != MPI_DIST_GRAPH)
        return weft_fail(MPI_ERR_TOPOLOGY, "%s has no distributed graph topology",
                         weft_comm_label(comm));
    *out = &comm->topology->edges;
    return MPI_SUCCESS;
}

/** How many edges lead to the caller and away from it in a distributed graph (section 8.5.5).
 *  @param[out] indegree  how many edges lead to the caller
 *  @param[out] outdegree  how many edges lead away from it
 *  @param[out] weighted  0 if the graph was made with MPI_UNWEIGHTED, otherwise 1
 *  @error MPI_ERR_TOPOLOGY  comm has no distributed graph */
WEFT_API(MPI_Dist_graph_neighbors_count);
int PMPI_Dist_graph_neighbors_count(MPI_Comm handle, int *indegree, int *outdegree, int *weighted)
{
    weft_call_t call = weft_call_begin("MPI_Dist_graph_neighbors_count");
    const weft_edges_t *edges;
    int err = check_dist_graph(&call, handle, &edges);
    if (err == MPI_SUCCESS)
        err = weft_check_output(indegree, "indegree");
    if (err == MPI_SUCCESS)
        err = weft_check_output(outdegree, "outdegree");
    if (err == MPI_SUCCESS)
        err = weft_check_output(weighted, "weighted");
    if (err == MPI_SUCCESS) {
        *indegree = edges->in_count;
        *outdegree = edges->out_count;
        *weighted = edges->is_weighted;
    }
    return weft_call_end(&call, err);
}

static int check_edge_room(int count, const output_array_t *out)
{
    int err = weft_check_count(out->most, out->most_name);
    return err != MPI_SUCCESS || out->most == 0 || count == 0
               ? err
               : weft_check_output(out->to, out->name);
}

/* As many as there is room for (section 8.5.5); no weights where the graph or the program has none.
 */
static void give_edges(int count, const int *peers, const int *weights, const output_array_t *out,
                       int *weights_out)
{
    int given = out->most < count ? out->most : count;
    give_numbers(peers, given, out->to);
    if (weights != NULL && weights_out != NULL && weights_out != MPI_UNWEIGHTED)
        give_numbers(weights, given, weights_out);
}

/** The neighbours of the caller in a distributed graph, in the order that neighbourhood collectives
 *  take them in (section 8.5.5). If there are more than an array has room for, it gets the first
 *  ones.
 *  @param[out] sourceweights  the weights of the edges from sources, left alone if the graph has
 *      none; or MPI_UNWEIGHTED
 *  @param[out] destweights  the weights of the edges to destinations, likewise
 *  @error MPI_ERR_TOPOLOGY  comm has no distributed graph
 *  @error MPI_ERR_COUNT  maxindegree or maxoutdegree is negative
 *  @see MPI_Dist_graph_neighbors_count */
WEFT_API(MPI_Dist_graph_neighbors);
int PMPI_Dist_graph_neighbors(MPI_Comm handle, int maxindegree, int sources[], int *sourceweights,
                              int maxoutdegree, int destinations[], int *destweights)
{
    weft_call_t call = weft_call_begin("MPI_Dist_graph_neighbors");
    const weft_edges_t *edges;
    const output_array_t in = {sources, maxindegree, "sources", "maxindegree"},
                         out = {destinations, maxoutdegree, "destinations", "maxoutdegree"};
    int err = check_dist_graph(&call, handle, &edges);
    if (err == MPI_SUCCESS)
        err = check_edge_room(edges->in_count, &in);
    if (err == MPI_SUCCESS)
        err = check_edge_room(edges->out_count, &out);
    if (err == MPI_SUCCESS) {
        give_edges(edges->in_count, edges->sources, edges->in_weights, &in, sourceweights);
        give_edges(edges->out_count, edges->destinations, edges->out_weights, &out, destweights);
    }
    return weft_call_end(&call, err);
}
