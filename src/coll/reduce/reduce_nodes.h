/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over several nodes, in two levels: algorithms, and what they cost. */
#ifndef WEFT_COLL_REDUCE_REDUCE_NODES_H
#define WEFT_COLL_REDUCE_REDUCE_NODES_H

#include "coll/algorithm.h"

/** To a leader on each node, and by a tree of leaders to the root. */
void weft_reduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args);

/* The ranks of a node reduce a slice each, which goes to the root's node by a tree, or by
 * Rabenseifner's allreduce, which moves as little as a reduction can; there the root collects. */
void weft_reduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_reduce_sliced_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_reduce_two_level_us(const weft_model_t *model);
double weft_reduce_sliced_us(const weft_model_t *model);
double weft_reduce_sliced_rabenseifner_us(const weft_model_t *model);

#endif
