/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/wall_leader.h"

#include "coll/wall/wall.h"
#include "runtime/progress.h"

/* All members have come to the barrier. */
static void leave_barrier(weft_wall_t *wall)
{
    weft_wall_leader_t *leader = &wall->leader;
    if (++leader->barriers != leader->behind)
        return;
    if (leader->member == wall->rank)
        atomic_store_explicit(&wall->strip->state.left, wall->number, memory_order_relaxed);
    else
        weft_progress_give_way(&wall->members[leader->member].strip->state.left, wall->number);
}

/* The root, or in scans the first member; -1: each waits for all. */
static int leader_of(weft_coll_t coll, int root)
{
    switch (coll) {
    case WEFT_BCAST:
    case WEFT_SCATTER:
    case WEFT_SCATTERV:
        return root;
    case WEFT_SCAN:
    case WEFT_EXSCAN:
        return 0;
    default:
        return -1;
    }
}

void weft_wall_leader_note(weft_wall_t *wall, weft_coll_t coll, int root)
{
    weft_wall_leader_t *leader = &wall->leader;
    if (coll == WEFT_BARRIER) {
        leave_barrier(wall);
        return;
    }
    int member = leader_of(coll, root);
    if (member >= 0) {
        leader->member = member;
        leader->behind = leader->barriers;
    }
    leader->barriers = 0;
}
