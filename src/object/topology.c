/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/topology.h"

#include "base/memory.h"
#include "mpi.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- the object ---- */

static weft_topology_t *create_topology(int kind, size_t numbers)
{
    weft_topology_t *topology = weft_alloc(sizeof(*topology) + numbers * sizeof(int));
    if (topology != NULL)
        *topology = (weft_topology_t){.references = 1, .kind = kind};
    return topology;
}

/* Copy an array to *end, which moves behind it; NULL stays NULL. */
static const int *append_numbers(int **end, const int *from, int count)
{
    int *at = *end;
    if (from == NULL)
        return NULL;
    if (count > 0)
        memcpy(at, from, (size_t)count * sizeof(int));
    *end += count;
    return at;
}

/* The array of `count` numbers that begins at *end, which moves behind it. */
static const int *pass_numbers(const int **end, int count)
{
    const int *at = *end;
    *end += count;
    return at;
}

weft_topology_t *weft_topology_of_cart(const weft_cart_t *cart)
{
    weft_topology_t *topology = create_topology(MPI_CART, 2 * (size_t)cart->ndims);
    if (topology == NULL)
        return NULL;
    int *end = topology->numbers;
    topology->cart.ndims = cart->ndims;
    topology->cart.dims = append_numbers(&end, cart->dims, cart->ndims);
    topology->cart.periods = append_numbers(&end, cart->periods, cart->ndims);
    return topology;
}

weft_topology_t *weft_topology_of_graph(const weft_graph_t *graph)
{
    weft_topology_t *topology =
        create_topology(MPI_GRAPH, (size_t)graph->nodes + (size_t)graph->edge_count);
    if (topology == NULL)
        return NULL;
    int *end = topology->numbers;
    topology->graph = *graph;
    topology->graph.index = append_numbers(&end, graph->index, graph->nodes);
    topology->graph.edges = append_numbers(&end, graph->edges, graph->edge_count);
    return topology;
}

weft_topology_t *weft_topology_for_edges(int in_count, int out_count, bool is_weighted)
{
    size_t edges = (size_t)in_count + (size_t)out_count;
    weft_topology_t *topology = create_topology(MPI_DIST_GRAPH, (is_weighted ? 2 : 1) * edges);
    if (topology == NULL)
        return NULL;
    const int *end = topology->numbers;
    topology->edges =
        (weft_edges_t){.in_count = in_count, .out_count = out_count, .is_weighted = is_weighted};
    topology->edges.sources = pass_numbers(&end, in_count);
    topology->edges.in_weights = is_weighted ? pass_numbers(&end, in_count) : NULL;
    topology->edges.destinations = pass_numbers(&end, out_count);
    topology->edges.out_weights = is_weighted ? pass_numbers(&end, out_count) : NULL;
    return topology;
}

weft_topology_t *weft_topology_of_edges(const weft_edges_t *edges)
{
    weft_topology_t *topology =
        weft_topology_for_edges(edges->in_count, edges->out_count, edges->is_weighted);
    if (topology == NULL)
        return NULL;
    int *end = topology->numbers;
    append_numbers(&end, edges->sources, edges->in_count);
    append_numbers(&end, edges->in_weights, edges->in_count);
    append_numbers(&end, edges->destinations, edges->out_count);
    append_numbers(&end, edges->out_weights, edges->out_count);
    return topology;
}

weft_topology_t *weft_topology_retain(weft_topology_t *topology)
{
    if (topology != NULL)
        topology->references++;
    return topology;
}

void weft_topology_release(weft_topology_t *topology)
{
    if (topology != NULL && --topology->references == 0)
        weft_free(topology);
}

/* ---- grids ---- */

int weft_cart_size(const weft_cart_t *cart)
{
    int size = 1;
    for (int i = 0; i < cart->ndims; i++) {
        if (__builtin_mul_overflow(size, cart->dims[i], &size))
            return -1;
    }
    return size;
}

void weft_cart_coords(const weft_cart_t *cart, int rank, int *coords)
{
    for (int i = cart->ndims - 1; i >= 0; i--) {
        coords[i] = rank % cart->dims[i];
        rank /= cart->dims[i];
    }
}

/* The place on a line or a ring; -1: outside. */
static int place_in(const weft_cart_t *cart, int dimension, int64_t coordinate)
{
    int extent = cart->dims[dimension];
    if (cart->periods[dimension])
        return (int)((coordinate % extent + extent) % extent);
    return coordinate >= 0 && coordinate < extent ? (int)coordinate : -1;
}

int weft_cart_rank(const weft_cart_t *cart, const int *coords)
{
    int rank = 0;
    for (int i = 0; i < cart->ndims; i++) {
        int place = place_in(cart, i, coords[i]);
        if (place < 0)
            return MPI_PROC_NULL;
        rank = rank * cart->dims[i] + place;
    }
    return rank;
}

int weft_cart_neighbor(const weft_cart_t *cart, int rank, int dimension, int64_t steps)
{
    int stride = 1; /* from rank to rank along the dimension */
    for (int i = dimension + 1; i < cart->ndims; i++)
        stride *= cart->dims[i];
    int from = rank / stride % cart->dims[dimension];
    int to = place_in(cart, dimension, from + steps);
    return to < 0 ? MPI_PROC_NULL : rank + (to - from) * stride;
}

/* ---- graphs ---- */

const int *weft_graph_neighbors(const weft_graph_t *graph, int node, int *count_out)
{
    int first = node == 0 ? 0 : graph->index[node - 1];
    *count_out = graph->index[node] - first;
    return graph->edges + first;
}

/* ---- neighbours ---- */

static int count_neighbors(const weft_topology_t *topology, int rank)
{
    int count;
    if (topology->kind == MPI_CART)
        return 2 * topology->cart.ndims;
    weft_graph_neighbors(&topology->graph, rank, &count);
    return count;
}

int weft_topology_sources(const weft_topology_t *topology, int rank)
{
    return topology->kind == MPI_DIST_GRAPH ? topology->edges.in_count
                                            : count_neighbors(topology, rank);
}

int weft_topology_destinations(const weft_topology_t *topology, int rank)
{
    return topology->kind == MPI_DIST_GRAPH ? topology->edges.out_count
                                            : count_neighbors(topology, rank);
}

/* In grids and general graphs the same ranks are sources and destinations. */
static int find_neighbor(const weft_topology_t *topology, int rank, int index)
{
    int count;
    if (topology->kind == MPI_CART)
        return weft_cart_neighbor(&topology->cart, rank, index / 2, index % 2 == 0 ? -1 : 1);
    return weft_graph_neighbors(&topology->graph, rank, &count)[index];
}

int weft_topology_source(const weft_topology_t *topology, int rank, int index)
{
    return topology->kind == MPI_DIST_GRAPH ? topology->edges.sources[index]
                                            : find_neighbor(topology, rank, index);
}

int weft_topology_destination(const weft_topology_t *topology, int rank, int index)
{
    return topology->kind == MPI_DIST_GRAPH ? topology->edges.destinations[index]
                                            : find_neighbor(topology, rank, index);
}
