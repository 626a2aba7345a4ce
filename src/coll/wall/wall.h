/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walls: collectives of the ranks of one host directly in shared memory. A blocking collective on a
 * wall is a number of posts: each member puts data into its own memory on the wall, and then the
 * number of the post into one cache line, where the others find both.
 *
 *   member 0   | post 4 | post 5 | post 6 |   |   its ring, for longer data  . . . .
 *   member 1   | post 4 | post 5 |   |   |
 *   member 2   | post 4 | post 5 | post 6 |   |
 *
 * Every member makes the same posts in the same order, with data or without. So a post also tells
 * that its author has read what it needed of the posts before. A member may write over its post
 * number n when all have made their post n + 1, and so its ring is used again. That is all the
 * synchronisation there is: there is no atomic read-modify-write, and nobody waits longer than the
 * collective needs. A root that broadcasts may be several posts ahead of the slowest member.
 *
 * A post carries a stamp of the call (which collective, how many bytes), so ranks that call
 * different collectives get an error instead of each other's data.
 *
 * After a failure (a member dies, calls MPI_Finalize, or disagrees) a wall is of no use any more:
 * the collectives on its communicator fail.
 *
 * An algorithm is a number of steps, a post each (wall_call.h).
 */
#ifndef WEFT_COLL_WALL_WALL_H
#define WEFT_COLL_WALL_WALL_H

#include "coll/coll.h"
#include "coll/failure.h"
#include "coll/plan.h"
#include "coll/wall/wall_leader.h"
#include "coll/wall/wall_route.h"
#include "runtime/ring_loss.h"
#include "runtime/store_choice.h"
#include "runtime/wall_place.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/cpu.h"
#include "base/least.h"
#include "base/list.h"
#include "base/own_symbol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_WALL_MEMBERS_MOST = 512,
    WEFT_WALL_CHUNKS = 4, /* the part of a ring that is in use holds at least so many posts */
    /* What is lost before the whole ring is used, whose pages take 0.2 to 1 ms to be touched. It
     * is larger than the caches of a core (runtime/wall_place.c). On a Zen 4 a bcast of 1 MiB then
     * takes 31 us instead of 50, an allreduce 68 instead of 90. Where `rep movsb` writes past
     * those caches anyway (Zen 5), nothing is lost, and a small ring leaves more room in them:
     * bcasts of 1 MiB take half of the time. */
    WEFT_WALL_LOST_NS = 1000000,
    /* Of what a member sends to all others together, one piece for each. On 4 to 24 ranks of two
     * cores an alltoall of more takes 0.8 (16 ranks, 64 KiB) to 5 times as long as messages do. */
    WEFT_WALL_STREAM_MOST = 256 * 1024,
    WEFT_SWAP_FROM = 4096, /* bytes of a call whose data may lie in swaps, and how many at most: */
    WEFT_SWAP_MOST = 1 << 20, /* an allreduce of 4 MiB between far cores takes a third more so */
    WEFT_STAMP_SHIFT = 56,    /* of the collective in a stamp, above the bytes */
};

typedef struct weft_wall_neighbors weft_wall_neighbors_t;
typedef struct weft_wall_groups weft_wall_groups_t;

typedef struct weft_wall_member {
    const weft_strip_t *strip;
    char *ring;
    char *swap;
    struct weft_doorbell *doorbell;
    const atomic_uint *leaving;
} weft_wall_member_t;

/** Some calls are measured: what of their work was not writing is reading. */
typedef struct weft_wall_timing {
    bool is_on; /* for the call under way, without its waits: */
    int64_t work_ns, wrote_ns;
    size_t wrote_bytes;
    uint64_t last_long; /* number of the last post before the last long call */
    /* of the first member: */
    uint64_t number;            /* before the last call that was measured; 0: none is looked at */
    uint64_t stamp;             /* of that call, */
    weft_store_t way;           /* in which its data were stored, */
    uint64_t round_stamp;       /* and of those whose costs are compared */
    int others;                 /* measured calls with another stamp since then */
    weft_store_choice_t choice; /* for all members */
} weft_wall_timing_t;

/** Where the data of two members that have some for each other lie (wall_swap.c). */
typedef struct weft_wall_swaps {
    bool are_on;
    bool is_taken;                /* by the post under way */
    unsigned count;               /* posts of exchanges so far */
    uint64_t numbers[WEFT_SWAPS]; /* of the last one of each piece */
} weft_wall_swaps_t;

struct weft_wall {
    weft_comm_t *comm;   /* NULL: it uses the wall no more */
    bool owes_post;      /* then: the last post has not been made yet */
    bool takes_all;      /* nonblocking calls, too: no member will ever have device memory */
    bool is_idle;        /* no nonblocking call is under way */
    bool is_trying;      /* weft_wall_room() does not wait: it is no error if there is none */
    int index;           /* in weft_wall_place */
    int size, rank;      /* the communicator's */
    int spins;           /* looks at a post before the wait becomes one of progress.h */
    int error;           /* of the collective that failed; MPI_SUCCESS: none has */
    uint64_t number;     /* of this member's last post */
    uint64_t all_have;   /* all members have made the posts up to this one */
    uint64_t stamp;      /* of the call under way */
    weft_strip_t *strip; /* this member's */
    char *ring;          /* this member's */
    size_t ring_bytes;   /* in use, a power of two */
    uint64_t ring_at;    /* where the next data go, counted on when the ring begins again */
    uint64_t begins[WEFT_WALL_POSTS]; /* ring_at before the data of the last posts */
    size_t chunk;                     /* the most bytes of a post, a multiple of 64 */
    weft_ring_loss_t loss;            /* while a part of the ring is in use; */
    int64_t lost_ns;                  /* so far */
    bool is_untouched;                /* the rings of a host's only pair, before much data; */
    bool is_touched;                  /* all of them, by this member; */
    int undecided;                    /* samples that may have the whole ring used afterwards */
    weft_wall_leader_t leader;
    weft_wall_timing_t timing;
    weft_wall_swaps_t swaps;
    weft_wall_routes_t routes;        /* of the first member of a pair */
    weft_wall_neighbors_t *neighbors; /* NULL: its communicator has no topology */
    weft_wall_groups_t *groups;       /* of members that are near each other */
    uint64_t lacks;                   /* posts of this number, for room, while it is_trying */
    weft_list_t pending;              /* the nonblocking calls, in their order */
    weft_link_t busy;                 /* in the list of walls with such calls */
    weft_wall_member_t members[];
};

/** Called at start-up; MPI_ERR_INTERN with a text. */
int weft_walls_open(void);
void weft_walls_close(void);

/** What is kept with a communicator that has begun a blocking collective. */
typedef struct weft_wall_use {
    weft_wall_t *wall; /* NULL: it has none (now) */
    uint32_t calls;    /* of blocking collectives that looked for a wall */
    uint32_t next_try; /* the call that tries to agree on one; 0: none will */
} weft_wall_use_t;

/** The slot of communicators. */
extern WEFT_OWN_SYMBOL int weft_wall_slot;

/** Count a call, and at some of them agree on a wall with the other members, all of which make the
 * same call. *out: NULL if there is none. Returns MPI_SUCCESS, or the error of the agreement. */
int weft_wall_find(weft_comm_t *comm, weft_wall_t **out);

/** Try to agree on a wall now, whatever has been called so far; returns as weft_wall_find. */
int weft_wall_prepare(weft_comm_t *comm);

/** The wall for the blocking collective that all members of `comm` begin now; as weft_wall_find. */
static inline int weft_wall_of(weft_comm_t *comm, weft_wall_t **out)
{
    const weft_wall_use_t *use = comm->slot[weft_wall_slot];
    weft_wall_t *wall = use != NULL ? use->wall : NULL;
    if (__builtin_expect(wall != NULL, 1)) {
        uint64_t down_at = atomic_load_explicit(&wall->members[0].strip->state.taken_down_at,
                                                memory_order_relaxed);
        if (__builtin_expect(down_at == 0 || wall->number < down_at, 1)) {
            *out = wall;
            return MPI_SUCCESS;
        }
    }
    weft_wall_t *found; /* by itself, so that *out may be a register */
    int err = weft_wall_find(comm, &found);
    *out = found;
    return err;
}

/** Agree with the other members, all of which make the same call, on a wall for a persistent
 * collective alone; its starts have no order among those of other calls. *out: NULL if a member
 * does not want one, or if there is none. Returns MPI_SUCCESS, or the error of the agreement. */
int weft_wall_take(weft_comm_t *comm, bool is_wanted, weft_wall_t **out);

/** This member begins no more on the wall: the request or communicator that has it goes. */
void weft_wall_give(weft_wall_t *wall);

/** All members will do without the wall soon, since this one has memory that does not suit it; all
 * of them from the same collective on. */
void weft_wall_take_down(weft_wall_t *wall);

/** Begin a plan that has no steps as a nonblocking call, behind those that have begun.
 * MPI_ERR_NO_MEM with a text. */
int weft_wall_begin(weft_wall_t *wall, weft_plan_t *plan, const weft_coll_args_t *args,
                    weft_request_t **out);

/** Make an inactive request that runs such a plan at each start, on a wall of its own, which it
 * gives back when it is freed. MPI_ERR_NO_MEM with a text: then the wall is the caller's. */
int weft_wall_request_prepare(weft_wall_t *wall, weft_plan_t *plan, const weft_coll_args_t *args,
                              weft_request_t **out);

/** The wall for a nonblocking collective that all members of `comm` begin now; NULL: there is
 * none. */
weft_wall_t *weft_wall_for_request(const weft_comm_t *comm);

/** This member cannot do its part of a collective: all others fail as well. Returns `error`, whose
 * text is that of weft_fail. */
int weft_wall_refuse(weft_wall_t *wall, int error);

/** The call under way fails with `error`, whose text is that of weft_fail, and so it does at all
 * members that still wait for a post of this one. */
void weft_wall_give_up(weft_wall_t *wall, int error);

/** Nonblocking calls are begun here, and blocking ones wait for them. */
void weft_wall_await_idle(weft_wall_t *wall);
void weft_wall_requests_close(void);

/** The error of a call that comes after a failure, with a text. */
int weft_wall_fail_again(const weft_wall_t *wall);

/** The line of this member's next post is fetched to be written. All others have read it long ago,
 * so it comes while the program works, and the post need not wait for it: on an Emerald Rapids a
 * barrier of two bare loops that look at a clock in between takes 95 ns so, and 140 without. */
static inline void weft_wall_fetch_next(const weft_wall_t *wall)
{
    weft_cpu_fetch_to_write(&wall->strip->posts[(wall->number + 1) % WEFT_WALL_POSTS]);
}

/** Run a plan that has no steps; its error, with a text. */
static inline int weft_wall_run(weft_wall_t *wall, const weft_plan_t *plan,
                                const weft_coll_args_t *args)
{
    if (__builtin_expect(wall->error != MPI_SUCCESS, 0))
        return weft_wall_fail_again(wall);
    if (__builtin_expect(!wall->is_idle, 0))
        weft_wall_await_idle(wall);
    wall->stamp = (uint64_t)plan->coll << WEFT_STAMP_SHIFT;
    int err = plan->on_wall(wall, args);
    weft_wall_fetch_next(wall);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        weft_coll_explain_error(wall->comm, err);
    return err;
}

/** The first from `first` to `end` - 1 whose post of this number is not there; `end`: none. */
int weft_wall_missing(const weft_wall_t *wall, int first, int end, uint64_t number);

/** Will a member's post that is not there never come? Then the wall has given up. */
bool weft_wall_is_in_vain(weft_wall_t *wall, int member, uint64_t number);

/** Have all members made their posts up to this number? */
bool weft_wall_has_all(const weft_wall_t *wall, uint64_t number);

/** How long data are to be stored now, as the first member shows. */
weft_store_t weft_wall_stores(const weft_wall_t *wall);

/** What weft_wall_copy_in() does for WEFT_STORE_LONG bytes and more. */
void weft_wall_copy_long(weft_wall_t *wall, void *room, const void *from, size_t bytes);

/** The wall has its members. */
void weft_wall_store_open(weft_wall_t *wall);

/** This member's ring has grown, so what was learnt holds no more. */
void weft_wall_store_renew(weft_wall_t *wall);

/** The bytes in a stamp. */
static inline size_t weft_stamp_bytes(uint64_t stamp)
{
    return stamp & ((UINT64_C(1) << WEFT_STAMP_SHIFT) - 1);
}

/** Have the two members of a wall long data for each other in the call under way, whose stamp is
 * complete? Both come to the same answer. */
static inline bool weft_wall_is_exchange(const weft_wall_t *wall)
{
    const uint64_t colls = UINT64_C(1) << WEFT_ALLGATHER | UINT64_C(1) << WEFT_ALLGATHERV |
                           UINT64_C(1) << WEFT_ALLTOALL | UINT64_C(1) << WEFT_ALLREDUCE;
    size_t bytes = weft_stamp_bytes(wall->stamp);
    return __builtin_expect(bytes >= WEFT_SWAP_FROM, 0) && bytes <= WEFT_SWAP_MOST &&
           wall->swaps.are_on && (colls >> (wall->stamp >> WEFT_STAMP_SHIFT) & 1) != 0;
}

/** The wall has its members, and weft_wall_store_open() has been called. */
void weft_wall_swaps_open(weft_wall_t *wall);

/** Room for WEFT_SWAP_BYTES of post `number` of such a call; NULL: as weft_wall_room. */
void *weft_wall_room_in_swap(weft_wall_t *wall, uint64_t number);

/** A post of such a call has its room, in a swap or elsewhere, and its number. */
void weft_wall_count_swap(weft_wall_t *wall);

/** Have all made their posts up to this number? Waits, unless the wall is_trying; false then, or
 * wall->error. */
bool weft_wall_have_all(weft_wall_t *wall, uint64_t number);

/** A call with long data begins, of which all members know the size: it may be measured. */
void weft_wall_begin_long(weft_wall_t *wall);

/** Touch and map the pages of all rings, so that this member's can be used as a whole as soon as a
 * part of it is found slow. */
void weft_wall_touch_rings(weft_wall_t *wall);

/** What comes now is work for the call under way, */
static inline void weft_wall_work_begins(weft_wall_t *wall)
{
    if (__builtin_expect(wall->timing.is_on, 0))
        wall->timing.work_ns -= weft_clock_ns();
}

/** or was. */
static inline void weft_wall_work_ends(weft_wall_t *wall)
{
    if (__builtin_expect(wall->timing.is_on, 0))
        wall->timing.work_ns += weft_clock_ns();
}

/** The call under way ends; if it is measured, the first member will know what it took. */
void weft_wall_end_long(weft_wall_t *wall);

/* ---- for algorithms ---- */

/** Begin a post with room for `bytes` bytes, at most wall->chunk. NULL: wall->error, or, while it
 * is_trying, there is no room yet. */
void *weft_wall_room(weft_wall_t *wall, size_t bytes);

/** Copy contiguous data of `bytes` bytes into the room of a post. */
static inline void weft_wall_copy_in(weft_wall_t *wall, void *room, const void *from, size_t bytes)
{
    if (bytes <= WEFT_COPY_SMALL)
        weft_copy_small(room, from, bytes);
    else if (bytes >= WEFT_STORE_LONG)
        weft_wall_copy_long(wall, room, from, bytes);
    else
        weft_copy_write(room, from, bytes);
}

/** Make the post. */
void weft_wall_post(weft_wall_t *wall);

/** The same for a post that only list[count] may wait for, before one for all in the same call. */
void weft_wall_post_for(weft_wall_t *wall, const int *list, int count);

/** The stamp of a member's post is another one: its call, or its bytes, are unlike this rank's. */
void weft_wall_disagree(weft_wall_t *wall, int member) __attribute__((cold));

static inline const weft_post_t *weft_wall_post_of(const weft_wall_t *wall, int member)
{
    return &wall->members[member].strip->posts[wall->number % WEFT_WALL_POSTS];
}

/** Leave the lines of `bytes` bytes at `data`, in that member's ring, dirty. */
void weft_wall_leave_dirty(const weft_wall_t *wall, int member, const void *data, size_t bytes);

/** Say in a post of long data whether its lines are to be left dirty. */
void weft_wall_say_if_dirty(weft_wall_t *wall);

/** The data of a member's post of this number, which is there: `bytes` bytes, whose stamp has been
 * looked at. They stay until this rank makes its next post. */
static inline const void *weft_wall_known_data(const weft_wall_t *wall, int member, size_t bytes)
{
    const weft_post_t *post = weft_wall_post_of(wall, member);
    uintptr_t ring = (uintptr_t)wall->members[member].ring;
    return bytes <= WEFT_POST_DATA ? post->data : (const void *)(ring + post->offset);
}

/** The same; the stamp is looked at. NULL: wall->error. */
static inline const void *weft_wall_data(weft_wall_t *wall, int member, size_t bytes)
{
    const weft_post_t *post = weft_wall_post_of(wall, member);
    uint64_t number = atomic_load_explicit(&post->number, memory_order_relaxed);
    if (__builtin_expect(post->stamp != wall->stamp || number != wall->number, 0)) {
        weft_wall_disagree(wall, member);
        return NULL;
    }
    return weft_wall_known_data(wall, member, bytes);
}

/** Is a member's post of this number, which has `all` bytes, that of another one, and are its lines
 * to be left dirty? */
static inline bool weft_wall_is_left_dirty(const weft_wall_t *wall, int member, size_t all)
{
    return wall->size == 2 && member != wall->rank && all > WEFT_POST_DATA &&
           __builtin_expect(weft_wall_post_of(wall, member)->is_left_dirty, 0);
}

/** Some data of such a post have been read, and this rank needs them no more: `bytes` bytes at
 * `data`. To be called before this rank takes room for its next post. */
static inline void weft_wall_have_read(const weft_wall_t *wall, int member, size_t all,
                                       const void *data, size_t bytes)
{
    if (weft_wall_is_left_dirty(wall, member, all))
        weft_wall_leave_dirty(wall, member, data, bytes);
}

/** The bytes with which a member has stamped its post of this number, which is there: for calls
 * where this rank does not know them. False: wall->error. */
bool weft_wall_learn(weft_wall_t *wall, int member, size_t *bytes_out);

/** A post without data. False: wall->error. */
static inline bool weft_wall_signal(weft_wall_t *wall)
{
    bool has_room = weft_wall_room(wall, 0) != NULL;
    if (has_room)
        weft_wall_post(wall);
    return has_room;
}

/** Wait until members `first` to `end` - 1 have made the post of this number. A rank that takes
 * turns on a core with others waits once for all that it needs. False: wall->error. */
bool weft_wall_await(weft_wall_t *wall, int first, int end);

/** The same for list[count], without this rank. */
bool weft_wall_await_list(weft_wall_t *wall, const int *list, int count);

/** This rank's next posts are stamped so: for a call for so many bytes. */
static inline void weft_wall_stamp(weft_wall_t *wall, size_t bytes)
{
    wall->stamp = wall->stamp >> WEFT_STAMP_SHIFT << WEFT_STAMP_SHIFT | bytes;
}

#endif
