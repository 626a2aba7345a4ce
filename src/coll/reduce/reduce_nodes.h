/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over several nodes, in two levels: the algorithms and their costs. */
#ifndef WEFT_COLL_REDUCE_REDUCE_NODES_H
#define WEFT_COLL_REDUCE_REDUCE_NODES_H

#include "coll/algorithm.h"

/** Operands go to a leader on each node, and from the leaders by a tree to the root. */
void weft_reduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args);

/* Each rank of a node reduces one slice. The slice goes to the root's node by a tree, or by
 * Rabenseifner's allreduce, which moves as few bytes as a reduction can; on that node the root
 * collects the slices. */
void weft_reduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_reduce_sliced_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_reduce_two_level_us(const weft_model_t *model);
double weft_reduce_sliced_us(const weft_model_t *model);
double weft_reduce_sliced_rabenseifner_us(const weft_model_t *model);

#endif
