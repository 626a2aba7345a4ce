/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts over several nodes, in two levels: the algorithms and their costs. */
#ifndef WEFT_COLL_BCAST_BCAST_NODES_H
#define WEFT_COLL_BCAST_BCAST_NODES_H

#include "coll/algorithm.h"

/** The root is the leader of its node. Data go between the leaders, and from each leader to its
 * node's ranks. */
void weft_bcast_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_bcast_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args);

/** The same, but the ranks of a node share their leader's messages. */
void weft_bcast_shared(weft_plan_t *plan, const weft_coll_args_t *args);

/** Pieces go along the chain of nodes one after the other, and on every node to its ranks. */
void weft_bcast_chain(weft_plan_t *plan, const weft_coll_args_t *args);

/* Each rank of the root's node takes a slice and sends it to one rank of every other node, where
 * the slices are put together: by a tree, or by scattering and gathering the slice. */
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
