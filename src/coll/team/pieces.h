/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of collectives, written for a team: each appends what this rank does to a plan. The first
 * messages go out at once, whatever else is on its way; the last receives of a piece may still be
 * on their way at its end, so what uses its results waits first (weft_plan_wait).
 *
 * p members, n bytes, radix k (2 and more; members at once beside oneself are k - 1). Member 0 is
 * the root of what has one. Reductions keep the order of the team unless they say that they need an
 * operation that commutes, and all members get the same bits.
 */
#ifndef WEFT_COLL_TEAM_PIECES_H
#define WEFT_COLL_TEAM_PIECES_H

#include "coll/team/cut.h"

/* ---- trees (knomial.c) ---- */

/** ceil(log_k p) rounds; k >= p: the root sends to all. */
void weft_team_bcast(weft_plan_t *plan, const weft_team_t *team, weft_data_t data, int radix);

/** The same in the order of negabinary numbers, whose edges are a third shorter on average than a
 *  binomial tree's (Bine trees, De Sensi et al. 2025, arXiv 2508.17311). */
void weft_team_bcast_bine(weft_plan_t *plan, const weft_team_t *team, weft_data_t data);

/** The operands at `from` of all members; the result at `to` on member 0, on the others `to` says
 *  count and type. */
void weft_team_reduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from, weft_data_t to,
                      int radix);

/** Part i of `cut`, which lies at `own` on member i, gets to member 0, where `cut` is. */
void weft_team_gather(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                      const weft_cut_t *cut, int radix);

/** Part i of `cut` on member 0 gets to `own` on member i. */
void weft_team_scatter(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                       const weft_cut_t *cut, int radix);

/** Member 0 hears from all, and all hear from member 0. */
void weft_team_arrive(weft_plan_t *plan, const weft_team_t *team, int radix);
void weft_team_leave(weft_plan_t *plan, const weft_team_t *team, int radix);

/* ---- all to all by recursive multiplying (butterfly.c) ---- */

/** Dissemination: ceil(log_k p) rounds. */
void weft_team_barrier(weft_plan_t *plan, const weft_team_t *team, int radix);

/** Recursive multiplying: one round for each factor of p, or of a number next below it (then two
 *  more), of n bytes to each of the others of a group. `from` may be where `to` is. */
void weft_team_allreduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to, int radix);

/** Rabenseifner 2004, of any radix: as many rounds twice, 2 n bytes. */
void weft_team_allreduce_halving(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                 weft_data_t to, int radix);

/** By a Bine reduce_scatter and allgather: 2 log2 p rounds, 2 n bytes. The operation commutes. */
void weft_team_allreduce_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to);

/** Around a ring: 2 (p - 1) rounds, 2 n bytes. The operation commutes. */
void weft_team_allreduce_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to);

/* ---- parts ---- */

/** Each member sends each other its part and reduces its own: member i has part i at its place in
 *  `cut` at the end. 1 round, p - 1 messages, n bytes. */
void weft_team_reduce_scatter(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              const weft_cut_t *cut);

/** The same in p - 1 rounds around a ring. The operation commutes. */
void weft_team_reduce_scatter_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut);

/** The same by halving, in log2 p rounds, in the order of Bine butterflies. The operation commutes.
 *  `cut` is scratch as a whole. */
void weft_team_reduce_scatter_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut);

/* Member i has part i in its place at the beginning; all have all at the end. */

/** 1 round, p - 1 messages. */
void weft_team_allgather(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);
/** p - 1 rounds around a ring. */
void weft_team_allgather_ring(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);
/** ceil(log_k p) rounds (Bruck et al. 1997), straight into place. */
void weft_team_allgather_bruck(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                               int radix);
/** p / 2 rounds between neighbours (Chen and Yuan 2005); an odd p takes the ring. */
void weft_team_allgather_neighbour(weft_plan_t *plan, const weft_team_t *team,
                                   const weft_cut_t *cut);
/** log2 p rounds in the order of Bine butterflies. */
void weft_team_allgather_bine(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut);

/* ---- rows and columns (transpose.c) ---- */

/** What an exchange of blocks works on: block i is for, and at the end from, member i. */
typedef struct weft_rank_blocks {
    weft_place_t from, to; /* they do not overlap */
    size_t bytes;          /* of a block */
} weft_rank_blocks_t;

/** Radix-k Bruck: ceil(log_k p) rounds of k - 1 messages of p / k blocks. */
void weft_team_alltoall_bruck(weft_plan_t *plan, const weft_team_t *team,
                              const weft_rank_blocks_t *blocks, int radix);

/** All at once, `batch` at a time. */
void weft_team_alltoall(weft_plan_t *plan, const weft_team_t *team,
                        const weft_rank_blocks_t *blocks, int batch);

#endif
