/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts over several nodes, in two levels: algorithms, and what they cost. */
#ifndef WEFT_COLL_BCAST_BCAST_NODES_H
#define WEFT_COLL_BCAST_BCAST_NODES_H

#include "coll/algorithm.h"

/** From leader to leader, the root being that of its node, and from there on to the node's ranks.
 */
void weft_bcast_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_bcast_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args);

/** From leader to leader, the ranks of a node sharing the messages of its leader. */
void weft_bcast_shared(weft_plan_t *plan, const weft_coll_args_t *args);

/** Pieces go down the chain of nodes one after the other, and on every node to its ranks. */
void weft_bcast_chain(weft_plan_t *plan, const weft_coll_args_t *args);

/* The ranks of the root's node take a slice each and bring it to one rank of every other node,
 * where the slices come together: by a tree, or by scattering the slice and gathering it again. */
void weft_bcast_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_bcast_scatter_allgather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_bcast_scatter_ring(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_bcast_two_level_us(const weft_model_t *model);
double weft_bcast_two_level_bine_us(const weft_model_t *model);
double weft_bcast_chain_us(const weft_model_t *model);
double weft_bcast_sliced_us(const weft_model_t *model);
double weft_bcast_scatter_allgather_us(const weft_model_t *model);
double weft_bcast_scatter_ring_us(const weft_model_t *model);

#endif
