/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective on a wall, as a number of steps. In each step a member makes one post, waits for the
 * posts of some members (or of none), and takes what they have for it:
 *
 *   begin, then for each step: post, wait for members `first` to `end` - 1, take; then end
 *
 * Only the wait takes time that others decide about, so steps can be done one after the other by a
 * blocking call, or whenever their posts are there.
 */
#ifndef WEFT_COLL_WALL_WALL_CALL_H
#define WEFT_COLL_WALL_WALL_CALL_H

#include "coll/wall/wall.h"
#include "base/memory.h"

typedef struct weft_wall_call {
    weft_wall_t *wall;
    const weft_coll_args_t *args;
    size_t step, steps; /* the one to be done, and how many there are, as far as is known */
    size_t total, most; /* of what the call moves, and in one step: bytes or elements */
    int first, end;     /* the members whose posts of a step are awaited; equal: none */
    const char *own;    /* of reduce_scatter: this member's block of its input */
    struct weft_wall_streams *streams; /* of alltoallv and the like; NULL: others */
    char *packed;                      /* all that this member sends; NULL: packed post by post */
    bool may_turn;                     /* it is blocking, so long streams may become messages: */
    bool has_turned;                   /* they do, at all members */
} weft_wall_call_t;

/** The algorithm. `begin` sets everything from `steps` on. post and take: false is wall->error. */
typedef struct weft_wall_steps {
    void (*begin)(weft_wall_call_t *call);
    bool (*post)(weft_wall_call_t *call);
    bool (*take)(weft_wall_call_t *call);
    size_t streams_bytes; /* of the memory that call->streams needs */
} weft_wall_steps_t;

static inline void weft_wall_end_call(weft_wall_call_t *call)
{
    weft_free(call->packed);
}

static inline bool weft_wall_is_root(const weft_wall_call_t *call)
{
    return call->wall->rank == call->args->root;
}

/** All members' posts are awaited, */
static inline void weft_wall_await_others(weft_wall_call_t *call)
{
    call->first = 0;
    call->end = call->wall->size;
}

/** or one member's. */
static inline void weft_wall_await_member(weft_wall_call_t *call, int member)
{
    call->first = member;
    call->end = member + 1;
}

/** The call takes as many steps as `total` needs with `most` in each. */
static inline void weft_wall_divide(weft_wall_call_t *call, size_t total, size_t most)
{
    call->total = total;
    call->most = most;
    call->steps = total <= most ? total > 0 : (total + most - 1) / most;
}

/** The members after this one, i = 1, 2, ... size - 1, in a circle. */
static inline int weft_wall_next(const weft_wall_t *wall, int i)
{
    int member = wall->rank + i;
    return member < wall->size ? member : member - wall->size;
}

/** Where a piece of a post lies that would be `place` bytes behind its beginning among those of all
 * members. Of two, only the other one's is there: so what both write has the same place. */
static inline size_t weft_wall_place_of(const weft_wall_t *wall, size_t place)
{
    return wall->size == 2 ? 0 : place;
}

/** Where this step begins, of `total`. */
static inline size_t weft_wall_done(const weft_wall_call_t *call)
{
    return call->step * call->most;
}

/** What this step has of a block or vector of this size. */
static inline size_t weft_wall_part_of(const weft_wall_call_t *call, size_t whole)
{
    size_t done = weft_wall_done(call);
    return whole > done ? weft_least(whole - done, call->most) : 0;
}

/** Has the call long data, and do all members know how long? */
static inline bool weft_wall_is_long(const weft_wall_call_t *call)
{
    return weft_stamp_bytes(call->wall->stamp) >= WEFT_STORE_LONG && call->streams == NULL;
}

/** The steps of a blocking call; inline, so that those of each algorithm are. */
static inline __attribute__((always_inline)) int weft_wall_do_steps(const weft_wall_steps_t *its,
                                                                    weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    its->begin(call);
    if (weft_wall_is_long(call))
        weft_wall_begin_long(wall);
    weft_wall_work_begins(wall);
    for (; call->step < call->steps; call->step++) {
        if (!its->post(call) ||
            (call->first < call->end && !weft_wall_await(wall, call->first, call->end)) ||
            !its->take(call))
            break;
    }
    weft_wall_work_ends(wall);
    if (__builtin_expect(wall->timing.is_on, 0))
        weft_wall_end_long(wall);
    return wall->error;
}

#endif
