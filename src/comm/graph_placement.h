/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank goes to which node of a graph, if ranks may be reordered: neighbours share a host
 * where that is possible, and then a package, a cache and so on. Hosts are filled one after the
 * other, then the parts of each. Each begins at a node with few neighbours, and always takes the
 * node next that has most links to it.
 */
#ifndef WEFT_COMM_GRAPH_PLACEMENT_H
#define WEFT_COMM_GRAPH_PLACEMENT_H

#include "comm/nearness.h"
#include "object/topology.h"

#include <stdbool.h>

/** Larger graphs are not looked at: the work grows with the square of the nodes. */
enum { WEFT_PLACED_NODES_MAX = 8192 };

/** Can another order of that many ranks be better at all? */
bool wefti_graph_may_gain(int nodes, const weft_nearness_t *nearness);

/**
 * weights        [edge_count] of the edges, at least 0; NULL: all are alike
 * ranks_out      [nodes] the rank for each node: the first `nodes` ranks, in another order
 * is_better_out  false: no order was found that is better, and ranks_out is not valid
 * returns        MPI_SUCCESS, MPI_ERR_NO_MEM
 */
int wefti_graph_place(const weft_graph_t *graph, const int *weights,
                      const weft_nearness_t *nearness, int ranks_out[], bool *is_better_out);

#endif
