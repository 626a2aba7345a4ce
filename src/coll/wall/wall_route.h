/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long moves and allreduces of a pair of ranks, over their wall or as messages (route_choice.h).
 * Messages may be read from the sender's memory, by both ranks at once (shm/shared_copy.h): on a
 * Cascade Lake a bcast of 1 MiB takes 91 us over the wall and 43 so.
 *
 * The first member decides for both, by collective and size. Each shows when it began and ended its
 * last move; a move took the time from the later beginning to the later end. A change holds from a
 * number of posts on that the other one has not come to when it is shown: no member makes a post
 * before all have made the one WEFT_WALL_POSTS before it. So both take the same route for each
 * call; one that goes by messages makes an empty post.
 */
#ifndef WEFT_COLL_WALL_WALL_ROUTE_H
#define WEFT_COLL_WALL_WALL_ROUTE_H

#include "coll/coll.h"
#include "coll/plan.h"
#include "coll/wall/route_choice.h"
#include "runtime/wall_place.h"

/** A move, seen by one member. */
typedef struct weft_move {
    uint64_t mark; /* the same at both members, and no other move's; 0: none */
    int kind;      /* its collective and size */
    weft_route_t route;
    size_t bytes;
    int64_t began_ns, ended_ns;
} weft_move_t;

/** What the first member has learnt. */
typedef struct weft_wall_routes {
    bool prefer_messages; /* known to all members, since both read large messages best */
    weft_route_choice_t kinds[WEFT_ROUTE_KINDS];
    weft_move_t last; /* without a mark once it has been counted */
} weft_wall_routes_t;

void weft_wall_routes_open(weft_wall_routes_t *routes, bool prefer_messages);

/** Show none, when nobody reads this member's strip any more. */
void weft_wall_routes_clear(weft_strip_t *strip);

/** Run a collective of two ranks that moves long data; `over_wall` is the one of the two routes.
 * Its error. */
int weft_wall_route(weft_wall_t *wall, weft_coll_t coll, const weft_coll_args_t *args,
                    weft_on_wall_t over_wall);

/** By the first member: calls of a kind (below WEFT_ROUTE_KINDS) take another route, from a number
 * of posts on that no member has come to. */
void weft_wall_show_route(weft_wall_t *wall, int kind, weft_route_t route);

/** The route of the call that begins; `first`: before any was shown. */
weft_route_t weft_wall_route_now(const weft_wall_t *wall, int kind, weft_route_t first);

#endif
