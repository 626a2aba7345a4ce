/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms for allgather and allgatherv that move blocks as bytes: in rounds over all ranks,
 * and in two levels over several nodes; and their costs.
 */
#ifndef WEFT_COLL_ALLGATHER_ALLGATHER_NODES_H
#define WEFT_COLL_ALLGATHER_ALLGATHER_NODES_H

#include "coll/algorithm.h"

/** The block of a rank in recv_buf. */
typedef weft_data_t (*weft_block_fn_t)(const weft_coll_args_t *args, int rank);

/** The data of this rank's block before the collective. */
weft_data_t weft_allgather_own(const weft_coll_args_t *args, weft_block_fn_t block);

/* Allgather in log_k p rounds (Bruck), in p / 2 rounds between neighbours, and by a Bine
 * butterfly. */
void weft_allgather_bruck(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_neighbour(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_bine(weft_plan_t *plan, const weft_coll_args_t *args);

/* A leader on each node gathers the blocks; the leaders exchange them in log_k N rounds or around a
 * ring, and send them to all ranks of their nodes. */
void weft_allgather_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgatherv_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgatherv_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args);

/* Each rank of a node receives the blocks of one rank of every node; then the ranks of the node
 * exchange what they have. */
void weft_allgather_lanes(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_lanes_ring(weft_plan_t *plan, const weft_coll_args_t *args);

/* In the model, `bytes` of an allgatherv are all blocks, of an allgather one block. These functions
 * take both. */
double weft_allgather_bruck_us(const weft_model_t *model);
double weft_allgather_neighbour_us(const weft_model_t *model);
double weft_allgather_bine_us(const weft_model_t *model);
double weft_allgather_ring_us(const weft_model_t *model);
double weft_allgather_two_level_us(const weft_model_t *model);
double weft_allgather_two_level_ring_us(const weft_model_t *model);
double weft_allgather_lanes_us(const weft_model_t *model);
double weft_allgather_lanes_ring_us(const weft_model_t *model);

#endif
