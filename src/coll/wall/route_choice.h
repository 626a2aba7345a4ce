/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of two routes calls on a wall take: the long moves of two members go over the wall or as
 * messages (wall_route.h), short calls of many on one level or by groups (wall_groups.h). One is
 * taken as long as it is the faster by what calls took. The other is tried when the calls so far
 * have taken four times as long as a first try may (messages touch large rings, and learn their
 * ways), and then now and then, each time for a few calls, after a pause that doubles while it is
 * in vain. One of these belongs to the first member of a wall; no thread safety.
 */
#ifndef WEFT_COLL_WALL_ROUTE_CHOICE_H
#define WEFT_COLL_WALL_ROUTE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_route { WEFT_ROUTE_WALL, WEFT_ROUTE_OTHER } weft_route_t;

typedef struct weft_route_choice {
    weft_route_t route; /* of calls from now on */
    bool is_try;        /* of `route`: */
    float usual;        /* it has to be faster than the other one's last round, ns per KiB */
    int settling;       /* calls that do not count yet */
    int samples;        /* of this round or try; */
    float least;        /* ns per KiB of the fastest of them, as others were disturbed */
    uint32_t calls, next_try, gap;
    uint32_t next_round; /* calls before it do not count */
    int64_t spent_ns;    /* in all calls, as if each were as fast as the fastest of its round, */
    int64_t try_ns;      /* and before the first try */
} weft_route_choice_t;

/** What a first try of messages may cost, four times. */
enum { WEFT_ROUTE_TRY_NS = 8000000 };

/** This route comes first, for `try_ns` and a round at least. */
void weft_route_open(weft_route_choice_t *choice, weft_route_t first, int64_t try_ns);

/** A call begins. Is what it takes to be noted? */
bool weft_route_begin(weft_route_choice_t *choice);

/** A call of `bytes` bytes that took `route` took `ns`. True: choice->route is another one now. */
bool weft_route_note(weft_route_choice_t *choice, weft_route_t route, int64_t ns, size_t bytes);

#endif
