/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank goes to which place of a grid, if ranks may be reordered: the ranks of a host fill a
 * block of the grid, so that few edges of the grid lead from host to host; those of a package fill
 * a block of that block, and so on.
 *
 *   4 hosts of 4 ranks, in rows     in blocks
 *         0 0 0 0                    0 0 1 1
 *         1 1 1 1                    0 0 1 1
 *         2 2 2 2                    2 2 3 3
 *         3 3 3 3                    2 2 3 3
 */
#ifndef WEFT_COMM_GRID_PLACEMENT_H
#define WEFT_COMM_GRID_PLACEMENT_H

#include "comm/nearness.h"
#include "object/topology.h"

#include <stdbool.h>

/** Can blocks be made? All hosts have equally many ranks, and all of them are in the grid. */
bool wefti_grid_has_blocks(const weft_cart_t *grid, const weft_nearness_t *nearness);

/**
 * For a grid that has blocks. Levels below the first where parts differ in size are not looked at.
 *
 * ranks_out      [places] the rank for each place of the grid, in row-major order
 * is_better_out  false: the order of the ranks is as good; ranks_out is not valid
 * returns        MPI_SUCCESS, MPI_ERR_NO_MEM
 */
int wefti_grid_place(const weft_cart_t *grid, const weft_nearness_t *nearness, int ranks_out[],
                     bool *is_better_out);

#endif
