/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce over several nodes, in two levels: algorithms, and what they cost. */
#ifndef WEFT_COLL_ALLREDUCE_ALLREDUCE_NODES_H
#define WEFT_COLL_ALLREDUCE_ALLREDUCE_NODES_H

#include "coll/algorithm.h"

/** To a leader on each node, between the leaders, and back. */
void weft_allreduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args);

/** The same up and down a tree of the leaders: the fewest messages between nodes, which counts
 * where one costs more than its way. */
void weft_allreduce_two_level_tree(weft_plan_t *plan, const weft_coll_args_t *args);

/** The same, with the leader's messages shared by the ranks of its node. */
void weft_allreduce_shared(weft_plan_t *plan, const weft_coll_args_t *args);

/* The ranks of a node reduce a slice each, all slices go between nodes at the same time, and come
 * together on the node again; in pieces, if the plan says so, so that what happens on nodes and
 * between them overlaps. Slices between nodes by recursive multiplying, and by what the names say.
 */
void weft_allreduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allreduce_sliced_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allreduce_sliced_bine(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allreduce_sliced_ring(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_allreduce_two_level_us(const weft_model_t *model);
double weft_allreduce_two_level_tree_us(const weft_model_t *model);
double weft_allreduce_shared_us(const weft_model_t *model);
double weft_allreduce_sliced_us(const weft_model_t *model);
double weft_allreduce_sliced_rabenseifner_us(const weft_model_t *model);
double weft_allreduce_sliced_bine_us(const weft_model_t *model);
double weft_allreduce_sliced_ring_us(const weft_model_t *model);

#endif
