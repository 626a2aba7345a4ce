/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What leaders do with each other where every rank of a node takes some of the leader's messages:
 * with m ranks a node sends m times as many in the same time, so the radix may be m times as large,
 * and one or two rounds reach all. For small messages.
 *
 * `nodes` is the team of leaders as weft_team_lane() or weft_team_with() make it, for every rank;
 * `node` the team of the rank's node, whose member 0 is the leader.
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

/** `from` of the leaders, to `to` on all ranks. The operation commutes. */
void weft_shared_allreduce(weft_plan_t *plan, const weft_sharing_t *sharing, weft_place_t from,
                           weft_data_t to);

/** The leaders have heard of each other, when all ranks of a node have told their leader before. */
void weft_shared_barrier(weft_plan_t *plan, const weft_sharing_t *sharing);

/* What they cost. */
double weft_shared_allreduce_us(const weft_model_t *model);
double weft_shared_barrier_us(const weft_model_t *model);
double weft_shared_bcast_us(const weft_model_t *model);

/** Data of the leader of the first node, `nodes` and its `node` being turned to it, to all ranks.
 */
void weft_shared_bcast(weft_plan_t *plan, const weft_sharing_t *sharing, weft_data_t data);

#endif
