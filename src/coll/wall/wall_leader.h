/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who leaves a barrier first, where ranks share cores.
 *
 * A bcast, scatter or scan moves on when one member has its turn on a core, and everybody who has
 * left a barrier before that member waits for it. So where the last collective of this kind came
 * right behind so many barriers, its leader leaves the next barrier that has this place first. The
 * others give way for a few turns at most: no barrier depends on this, and little is lost if the
 * program calls something else next.
 */
#ifndef WEFT_COLL_WALL_WALL_LEADER_H
#define WEFT_COLL_WALL_WALL_LEADER_H

#include "coll/plan.h"

/** The same on all members; zeros at first, where nobody leads. */
typedef struct weft_wall_leader {
    int member;   /* the last collective's that had one */
    int behind;   /* barriers in a row right before it; 0: no barrier has a leader */
    int barriers; /* in a row, so far */
} weft_wall_leader_t;

/** A blocking collective with this root (if it has one) has succeeded on an oversubscribed host. */
void weft_wall_leader_note(weft_wall_t *wall, weft_coll_t coll, int root);

#endif
