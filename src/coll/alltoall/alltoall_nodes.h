/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall in few rounds, and in two levels over several nodes; and their costs. */
#ifndef WEFT_COLL_ALLTOALL_ALLTOALL_NODES_H
#define WEFT_COLL_ALLTOALL_ALLTOALL_NODES_H

#include "coll/algorithm.h"
#include "coll/team/pieces.h"

/* the messages of a rank under way at a time, where there are many */
enum { WEFT_ALLTOALL_BATCH = 32 };

/** Prepare the blocks of a call as bytes: those to send, and room for those that arrive.
 * weft_alltoall_end() copies the latter to recv_buf when everything is over. */
weft_rank_blocks_t weft_alltoall_begin(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_alltoall_end(weft_plan_t *plan, const weft_coll_args_t *args,
                       const weft_rank_blocks_t *blocks);

/** log_k p rounds, in which a block is sent up to log_k p times. */
void weft_alltoall_bruck(weft_plan_t *plan, const weft_coll_args_t *args);

/* The ranks of a node first exchange their blocks so that each has those for its lane (rank i of
 * every node); then each lane exchanges by itself: directly, or in the rounds of Bruck. */
void weft_alltoall_lanes(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_alltoall_lanes_bruck(weft_plan_t *plan, const weft_coll_args_t *args);

/** One message in each direction between two nodes; the ranks of a node divide the other nodes
 * among themselves. */
void weft_alltoall_node_aware(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_alltoall_bruck_us(const weft_model_t *model);
double weft_alltoall_lanes_us(const weft_model_t *model);
double weft_alltoall_lanes_bruck_us(const weft_model_t *model);
double weft_alltoall_node_aware_us(const weft_model_t *model);
double weft_alltoall_batched_us(const weft_model_t *model);

#endif
