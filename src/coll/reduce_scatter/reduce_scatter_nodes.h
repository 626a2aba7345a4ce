/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce_scatter over several nodes, in two levels: the algorithms and their costs. */
#ifndef WEFT_COLL_REDUCE_SCATTER_REDUCE_SCATTER_NODES_H
#define WEFT_COLL_REDUCE_SCATTER_REDUCE_SCATTER_NODES_H

#include "coll/algorithm.h"
#include "coll/team/cut.h"

/* `cut` is this rank's operand, with one part for each rank. The result goes to recv_buf. */

/* Operands go to a leader on each node; leaders reduce the parts of their nodes' ranks, and send
 * them out. Leaders exchange parts directly, or by a Bine butterfly. */
void weft_reduce_scatter_two_level(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_cut_t *cut);
void weft_reduce_scatter_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args,
                                        const weft_cut_t *cut);

/* Each rank of a node reduces the parts for its lane (rank i of every node); then each lane reduces
 * them between nodes. Parts must have equal size. */
void weft_reduce_scatter_lanes(weft_plan_t *plan, const weft_coll_args_t *args,
                               const weft_cut_t *cut);
void weft_reduce_scatter_lanes_bine(weft_plan_t *plan, const weft_coll_args_t *args,
                                    const weft_cut_t *cut);

double weft_reduce_scatter_direct_us(const weft_model_t *model);
double weft_reduce_scatter_ring_us(const weft_model_t *model);
double weft_reduce_scatter_bine_us(const weft_model_t *model);
double weft_reduce_scatter_two_level_us(const weft_model_t *model);
double weft_reduce_scatter_two_level_bine_us(const weft_model_t *model);
double weft_reduce_scatter_lanes_us(const weft_model_t *model);
double weft_reduce_scatter_lanes_bine_us(const weft_model_t *model);

#endif
