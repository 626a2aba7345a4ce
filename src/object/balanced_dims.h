/* SPDX-License-Identifier: BSD-3-Clause */
/* The extents of a grid, as MPI_Dims_create wants them (MPI 5.0, section 8.5.2). */
#ifndef WEFT_OBJECT_BALANCED_DIMS_H
#define WEFT_OBJECT_BALANCED_DIMS_H

/**
 * Write `nodes` (at least 1) as a product of `count` factors (at least 1), in descending order,
 * that are as close to each other as possible: no other product has a smaller difference between
 * its first factor and its last, nor a smaller first factor with the same difference.
 *
 * factors  [count], written
 */
void weft_balance_dims(int nodes, int count, int *factors);

#endif
