/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce_scatter over several nodes, in two levels; and what it costs. */
#ifndef WEFT_COLL_REDUCE_SCATTER_REDUCE_SCATTER_NODES_H
#define WEFT_COLL_REDUCE_SCATTER_REDUCE_SCATTER_NODES_H

#include "coll/algorithm.h"
#include "coll/team/cut.h"

/* `cut` is the operand of this rank, a part a rank; its result goes to recv_buf. */

/* To a leader on each node; leaders reduce the parts of their nodes, and deal them out. Between
 * leaders straight, or by a Bine butterfly. */
void weft_reduce_scatter_two_level(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_cut_t *cut);
void weft_reduce_scatter_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args,
                                        const weft_cut_t *cut);

/* Each rank of a node reduces what is for its lane (rank i of every node), and then the lanes do
 * so between nodes. Parts of equal size. */
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
