/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges between leaders in which every rank of a node takes some of its leader's messages: with
 * m ranks a node sends m times as many in the same time, so the radix may be m times as large, and
 * one or two rounds reach all nodes. For small messages.
 *
 * `nodes` is the team of leaders, which every rank makes by weft_team_lane() or weft_team_with();
 * `node` is the team of the rank's node, whose member 0 is the leader.
 */
#ifndef WEFT_COLL_TEAM_SHARED_H
#define WEFT_COLL_TEAM_SHARED_H

#include "coll/team/cut.h"

typedef struct weft_sharing {
    const weft_shape_t *shape;
    weft_team_t nodes, node;
    int radix;
} weft_sharing_t;

weft_sharing_t weft_sharing_of(const weft_plan_t *plan, int rank);

/** Reduces `from` of the leaders to `to` on all ranks. The operation must commute. */
void weft_shared_allreduce(weft_plan_t *plan, const weft_sharing_t *sharing, weft_place_t from,
                           weft_data_t to);

/** A barrier among the leaders. The ranks of each node must have signalled their leader before. */
void weft_shared_barrier(weft_plan_t *plan, const weft_sharing_t *sharing);

/* Their costs. */
double weft_shared_allreduce_us(const weft_model_t *model);
double weft_shared_barrier_us(const weft_model_t *model);
double weft_shared_bcast_us(const weft_model_t *model);

/** Sends data of the first node's leader to all ranks; `nodes` and that node's `node` are turned so
 * that both begin with it. */
void weft_shared_bcast(weft_plan_t *plan, const weft_sharing_t *sharing, weft_data_t data);

#endif
