/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce over several nodes, in two levels: the algorithms and their costs. */
#ifndef WEFT_COLL_ALLREDUCE_ALLREDUCE_NODES_H
#define WEFT_COLL_ALLREDUCE_ALLREDUCE_NODES_H

#include "coll/algorithm.h"

/** Operands go to a leader on each node, leaders reduce among themselves, and results go back. */
void weft_allreduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args);

/** The same, but up and down a tree of the leaders. This takes the fewest messages between nodes,
 * which is best where a message costs more processor time than it takes on the wire. */
void weft_allreduce_two_level_tree(weft_plan_t *plan, const weft_coll_args_t *args);

/** The same as two_level, but the ranks of each node share their leader's messages. */
void weft_allreduce_shared(weft_plan_t *plan, const weft_coll_args_t *args);

/* Each rank of a node reduces one slice, all slices are reduced between nodes at the same time, and
 * the node's ranks exchange the results. If the plan asks for it this is done in pieces, so that
 * the work on nodes and between them overlaps. Between nodes the slices are reduced by recursive
 * multiplying, or as the names say. */
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
