/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank goes to which place of a grid, if ranks may be reordered: the ranks of a node fill a
 * block of the grid, so that few edges of the grid lead from node to node.
 *
 *   4 nodes of 4 ranks, in rows     in blocks
 *         0 0 0 0                    0 0 1 1
 *         1 1 1 1                    0 0 1 1
 *         2 2 2 2                    2 2 3 3
 *         3 3 3 3                    2 2 3 3
 */
#ifndef WEFT_COMM_GRID_PLACEMENT_H
#define WEFT_COMM_GRID_PLACEMENT_H

#include "coll/team/shape.h"
#include "object/topology.h"

#include <stdbool.h>

/** The rank for each place of the grid, in row-major order: ranks_out[places]. False, and nothing
 * is written: no order is better than that of the ranks, or not all nodes have the same number of
 * ranks, all of them in the grid. */
bool wefti_grid_place(const weft_cart_t *grid, const weft_shape_t *shape, int ranks_out[]);

#endif
