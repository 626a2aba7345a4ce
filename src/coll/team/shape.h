/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes: which of the ranks of a communicator share a node. Nodes are numbered from 0 by their
 * lowest rank, and the ranks of a node count from 0 in ascending order (`local`).
 *
 * The two placements that launchers make by themselves need no memory:
 *
 *   blocks   0 0 0 1 1 1 2 2 2      cyclic   0 1 2 0 1 2 0 1 2      anyhow   0 1 1 0 2 (tables)
 */
#ifndef WEFT_COLL_TEAM_SHAPE_H
#define WEFT_COLL_TEAM_SHAPE_H

#include <stdbool.h>

typedef enum weft_placing {
    WEFT_BLOCKS,
    WEFT_CYCLIC,
    WEFT_ANYHOW,
} weft_placing_t;

typedef struct weft_shape {
    int ranks, nodes;
    int least, most;     /* the smallest and largest number of ranks on a node */
    bool is_consecutive; /* the order of nodes is the order of ranks */
    weft_placing_t placing;
    /* Only for WEFT_ANYHOW: */
    int *node_of; /* [ranks] */
    int *members; /* [ranks], node by node */
    int *starts;  /* [nodes + 1]: where the ranks of a node begin in members */
} weft_shape_t;

/** `nodes` nodes of `per_node` ranks each, in blocks. The shape owns no memory. */
weft_shape_t weft_shape_blocks(int nodes, int per_node);

/** Like weft_shape_blocks(), with rank i on node i modulo `nodes`. */
weft_shape_t weft_shape_cyclic(int nodes, int per_node);

/**
 * hosts    [ranks] numbers from 0 to hosts_end - 1, in any order; the shape does not keep it
 * out      pass it to weft_shape_close() at the end
 * returns  MPI_SUCCESS, MPI_ERR_NO_MEM
 */
int weft_shape_open(const int *hosts, int ranks, int hosts_end, weft_shape_t *out);
void weft_shape_close(weft_shape_t *shape);

/** The node of a rank. */
int weft_shape_node(const weft_shape_t *shape, int rank);
/** The number of ranks on a node. */
int weft_shape_count(const weft_shape_t *shape, int node);
/** The rank with number `local` on a node. */
int weft_shape_rank(const weft_shape_t *shape, int node, int local);
/** The number of a rank on its node. Takes at most O(log) of the node's ranks. */
int weft_shape_local(const weft_shape_t *shape, int rank);
/** The number of ranks on all nodes before this one. */
int weft_shape_before(const weft_shape_t *shape, int node);

#endif
