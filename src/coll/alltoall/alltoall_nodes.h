/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall in few rounds, and in two levels over several nodes; and what it costs. */
#ifndef WEFT_COLL_ALLTOALL_ALLTOALL_NODES_H
#define WEFT_COLL_ALLTOALL_ALLTOALL_NODES_H

#include "coll/algorithm.h"
#include "coll/team/pieces.h"

enum { WEFT_ALLTOALL_BATCH = 32 }; /* messages of a rank at a time, where they are many */

/** The blocks of a call as bytes: those to send, and where those that come shall lie, which
 *  weft_alltoall_end() takes to recv_buf when everything is over. */
weft_rank_blocks_t weft_alltoall_begin(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_alltoall_end(weft_plan_t *plan, const weft_coll_args_t *args,
                       const weft_rank_blocks_t *blocks);

/** log_k p rounds, in which each block goes up to log_k p times. */
void weft_alltoall_bruck(weft_plan_t *plan, const weft_coll_args_t *args);

/* The ranks of a node give each other what is for the same lane (rank i of every node), and then
 * each lane exchanges by itself: straight, or in the rounds of Bruck. */
void weft_alltoall_lanes(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_alltoall_lanes_bruck(weft_plan_t *plan, const weft_coll_args_t *args);

/** One message between two nodes each way; the ranks of a node share the other nodes among them. */
void weft_alltoall_node_aware(weft_plan_t *plan, const weft_coll_args_t *args);

double weft_alltoall_bruck_us(const weft_model_t *model);
double weft_alltoall_lanes_us(const weft_model_t *model);
double weft_alltoall_lanes_bruck_us(const weft_model_t *model);
double weft_alltoall_node_aware_us(const weft_model_t *model);
double weft_alltoall_batched_us(const weft_model_t *model);

#endif
