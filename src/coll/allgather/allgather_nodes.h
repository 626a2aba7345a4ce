/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and allgatherv beyond the plain ones: as bytes in rounds over all ranks, and in two
 * levels over several nodes; and what they cost.
 */
#ifndef WEFT_COLL_ALLGATHER_ALLGATHER_NODES_H
#define WEFT_COLL_ALLGATHER_ALLGATHER_NODES_H

#include "coll/algorithm.h"

/** The block of a rank in recv_buf. */
typedef weft_data_t (*weft_block_fn_t)(const weft_coll_args_t *args, int rank);

/** Where this rank's block comes from. */
weft_data_t weft_allgather_own(const weft_coll_args_t *args, weft_block_fn_t block);

/* Allgather in log_k p rounds, in p / 2 rounds between neighbours, and by a Bine butterfly. */
void weft_allgather_bruck(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_neighbour(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_bine(weft_plan_t *plan, const weft_coll_args_t *args);

/* Blocks get together at a leader on each node, go between leaders in log_k N rounds or around a
 * ring, and to all ranks of each node. */
void weft_allgather_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgatherv_two_level(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgatherv_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args);

/* Each rank of a node gets the blocks of one rank of every node, and then they share. */
void weft_allgather_lanes(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_allgather_lanes_ring(weft_plan_t *plan, const weft_coll_args_t *args);

/* Allgatherv's bytes are the whole; these take both for allgather's. */
double weft_allgather_bruck_us(const weft_model_t *model);
double weft_allgather_neighbour_us(const weft_model_t *model);
double weft_allgather_bine_us(const weft_model_t *model);
double weft_allgather_ring_us(const weft_model_t *model);
double weft_allgather_two_level_us(const weft_model_t *model);
double weft_allgather_two_level_ring_us(const weft_model_t *model);
double weft_allgather_lanes_us(const weft_model_t *model);
double weft_allgather_lanes_ring_us(const weft_model_t *model);

#endif
