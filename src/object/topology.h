/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual topologies (MPI 5.0 chapter 8): what a communicator knows of the neighbours of its ranks.
 * Cartesian and general graphs are known whole at every rank, of a distributed graph each rank
 * knows its own edges alone. A topology does not change, so copies of a communicator share it.
 */
#ifndef WEFT_OBJECT_TOPOLOGY_H
#define WEFT_OBJECT_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

/** Ranks go through the grid in row-major order: the last coordinate changes fastest. */
typedef struct weft_cart {
    int ndims;
    const int *dims, *periods; /* [ndims]; a period that is not 0: that dimension is a ring */
} weft_cart_t;

/** Node i's neighbours are edges[index[i - 1]] to edges[index[i] - 1]; those of node 0 begin at 0.
 */
typedef struct weft_graph {
    int nodes, edge_count;
    const int *index; /* [nodes] */
    const int *edges; /* [edge_count] */
} weft_graph_t;

/** Edges that lead to this rank and away from it. */
typedef struct weft_edges {
    int in_count, out_count;
    const int *sources, *in_weights;       /* [in_count] */
    const int *destinations, *out_weights; /* [out_count] */
    bool is_weighted;                      /* otherwise the weights are NULL */
} weft_edges_t;

typedef struct weft_topology {
    int references;
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    union {
        weft_cart_t cart;
        weft_graph_t graph;
        weft_edges_t edges;
    };
    int numbers[]; /* all arrays, one behind the other */
} weft_topology_t;

/** Copies, with one reference; NULL: no memory. */
weft_topology_t *weft_topology_of_cart(const weft_cart_t *cart);
weft_topology_t *weft_topology_of_graph(const weft_graph_t *graph);
weft_topology_t *weft_topology_of_edges(const weft_edges_t *edges);

/** Without its numbers yet: sources, their weights, destinations, their weights, one behind the
 * other; no weights if it has none. NULL: no memory. */
weft_topology_t *weft_topology_for_edges(int in_count, int out_count, bool is_weighted);

/** Both take NULL, for a communicator without topology. */
weft_topology_t *weft_topology_retain(weft_topology_t *topology);
void weft_topology_release(weft_topology_t *topology);

/** Ranks of the grid; 1 if it has no dimensions, -1 if they are more than an int holds. */
int weft_cart_size(const weft_cart_t *cart);

/** Where a rank of the grid lies: coords[ndims]. */
void weft_cart_coords(const weft_cart_t *cart, int rank, int *coords);

/** The rank at coords[ndims]; MPI_PROC_NULL: they are outside, in a dimension that is no ring. */
int weft_cart_rank(const weft_cart_t *cart, const int *coords);

/** The rank that lies `steps` further in a dimension; MPI_PROC_NULL: that is outside. */
int weft_cart_neighbor(const weft_cart_t *cart, int rank, int dimension, int64_t steps);

/** The neighbours of a node; their number goes to *count_out. */
const int *weft_graph_neighbors(const weft_graph_t *graph, int node, int *count_out);

/**
 * The neighbours of a rank in the order of neighbourhood collectives (section 8.6): those that send
 * to it and those that it sends to. Of a grid both are two for each dimension, the one below first;
 * MPI_PROC_NULL where there is none. `rank` is the caller's own where the graph is distributed.
 */
int weft_topology_sources(const weft_topology_t *topology, int rank);
int weft_topology_destinations(const weft_topology_t *topology, int rank);
int weft_topology_source(const weft_topology_t *topology, int rank, int index);
int weft_topology_destination(const weft_topology_t *topology, int rank, int index);

#endif
