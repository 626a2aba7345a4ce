/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of collectives, written for a team: each appends to a plan what this rank does. Its first
 * messages begin at once, whatever else is under way. Its last receives may not be over at its end,
 * so a step that uses the results must wait first (weft_plan_wait).
 *
 * Costs are for p members, n bytes and radix k, at least 2: a member exchanges with k - 1 others at
 * a time. Member 0 is the root of pieces that have one. Reductions keep the order of the team
 * unless they say that the operation must commute, and all members get the same bits.
 */
#ifndef WEFT_COLL_TEAM_PIECES_H
#define WEFT_COLL_TEAM_PIECES_H

#include "coll/team/cut.h"

/* ---- trees (knomial.c) ---- */

/** ceil(log_k p) rounds; k >= p: the root sends to all. */
void weft_team_bcast(weft_plan_t *plan, const weft_team_t *team, weft_data_t data, int radix);

/** The same with the tree's edges in the order of negabinary numbers, which are a third shorter on
 * average than a binomial tree's (Bine trees, De Sensi et al. 2025, arXiv 2508.17311). */
void weft_team_bcast_bine(weft_plan_t *plan, const weft_team_t *team, weft_data_t data);

/** Reduces the operands at `from` of all members. Member 0 has the result at `to`; on the others
 * `to` only gives count and type. */
void weft_team_reduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from, weft_data_t to,
                      int radix);

/** Part i of `cut`, which lies at `own` on member i, goes to member 0, where `cut` is. */
void weft_team_gather(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                      const weft_cut_t *cut, int radix);

/** Part i of `cut` on member 0 goes to `own` on member i. */
void weft_team_scatter(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                       const weft_cut_t *cut, int radix);

/** Arrive: member 0 receives a signal from all. Leave: all receive one from member 0. */
void weft_team_arrive(weft_plan_t *plan, const weft_team_t *team, int radix);
void weft_team_leave(weft_plan_t *plan, const weft_team_t *team, int radix);

/* ---- all to all by recursive multiplying (butterfly.c) ---- */

/** Dissemination: ceil(log_k p) rounds. */
void weft_team_barrier(weft_plan_t *plan, const weft_team_t *team, int radix);

/** Recursive multiplying: one round for each factor of p, in which a member sends n bytes to each
 * other member of its group. If p has no such factors, those of the next smaller number that has,
 * and two more rounds. `from` may be where `to` is. */
void weft_team_allreduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to, int radix);

/** Rabenseifner 2004, for any radix: twice as many rounds, 2 n bytes. */
void weft_team_allreduce_halving(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                 weft_data_t to, int radix);

/** By a Bine reduce_scatter and allgather: 2 log2 p rounds, 2 n bytes. The operation must
 * commute. */
void weft_team_allreduce_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to);

/** Around a ring: 2 (p - 1) rounds, 2 n bytes. The operation must commute. */
void weft_team_allreduce_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to);

/* ---- parts ---- */

/** Each member sends each other member its part and reduces its own: at the end member i has part i
 * at its place in `cut`. 1 round, p - 1 messages, n bytes. */
void weft_team_reduce_scatter(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              const weft_cut_t *cut);

/** The same in p - 1 rounds around a ring. The operation must commute. */
void weft_team_reduce_scatter_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut);

/** The same by halving, in log2 p rounds, in the order of Bine butterflies. The operation must
 * commute. All of `cut` is used as scratch. */
void weft_team_reduce_scatter_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut);

/* At the beginning member i has part i in its place; at the end all members have all parts. */

/** 1 round, p - 1 messages. */
void weft_team_allgather(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);
/** p - 1 rounds around a ring. */
void weft_team_allgather_ring(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);
/** ceil(log_k p) rounds (Bruck et al. 1997), straight into place. */
void weft_team_allgather_bruck(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                               int radix);
/** p / 2 rounds between neighbours (Chen and Yuan 2005); for an odd p the ring is used. */
void weft_team_allgather_neighbour(weft_plan_t *plan, const weft_team_t *team,
                                   const weft_cut_t *cut);
/** log2 p rounds in the order of Bine butterflies. */
void weft_team_allgather_bine(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);

/* ---- rows and columns (transpose.c) ---- */

/** The data of an exchange of blocks: block i is for member i, and at the end from member i. */
typedef struct weft_rank_blocks {
    weft_place_t from, to; /* they do not overlap */
    size_t bytes;          /* of a block */
} weft_rank_blocks_t;

/** Radix-k Bruck: ceil(log_k p) rounds of k - 1 messages of p / k blocks. */
void weft_team_alltoall_bruck(weft_plan_t *plan, const weft_team_t *team,
                              const weft_rank_blocks_t *blocks, int radix);

/** All blocks directly, `batch` of them at a time. */
void weft_team_alltoall(weft_plan_t *plan, const weft_team_t *team,
                        const weft_rank_blocks_t *blocks, int batch);

#endif
