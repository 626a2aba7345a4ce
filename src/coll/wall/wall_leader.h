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

#include "coll/coll.h"

#include <stdbool.h>

typedef struct weft_wall weft_wall_t;

/** The same on all members. */
typedef struct weft_wall_leader {
    bool is_used; /* some members may share a core */
    int member;   /* the last collective's that had one */
    int behind;   /* barriers in a row right before it */
    int barriers; /* in a row, so far */
} weft_wall_leader_t;

void weft_wall_leader_open(weft_wall_leader_t *leader);

/** A blocking collective with this root (if it has one) has succeeded; for a wall whose leader
 * is_used. */
void weft_wall_leader_note(weft_wall_t *wall, weft_coll_t coll, int root);

#endif
