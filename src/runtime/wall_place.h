/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory of walls: on a wall the members of a communicator of one host post data for
 * each other to read (coll/wall/wall.h). Each rank of the host has a strip on each wall; different
 * communicators may use the same wall as long as they have no member in common.
 *
 *   posts  [wall][rank]  what a member tells, a few small slots
 *   rings  [rank][wall]  longer data
 *   swaps  [rank][wall]  the same, of two members that exchange data (coll/wall/wall_swap.c)
 */
#ifndef WEFT_RUNTIME_WALL_PLACE_H
#define WEFT_RUNTIME_WALL_PLACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_WALLS = 16,      /* of each rank */
    WEFT_WALL_POSTS = 16, /* of a strip: so many posts of a member may be read at a time */
    WEFT_POST_DATA = 240,
    WEFT_ROUTE_KINDS = 24,
    WEFT_SWAPS = 2, /* of a strip, */
    WEFT_SWAP_BYTES = 65536,
};

/** One post of one member. Data longer than WEFT_POST_DATA lie in a ring or a swap; `offset` says
 * where, counted from the beginning of the strip's ring, modulo 2^64. */
typedef struct weft_post {
    _Alignas(64) atomic_ullong number; /* stored last */
    uint64_t stamp;
    union {
        char data[WEFT_POST_DATA];
        struct {
            uint64_t offset;
            bool is_left_dirty; /* its lines are, by the only reader (store_choice.h) */
        };
    };
} weft_post_t;

/** What a member shows besides its posts. */
typedef struct weft_strip_state {
    /* not MPI_SUCCESS: a collective has failed so, and it will post no more here */
    _Alignas(64) atomic_uint given_up;
    /* of the last call that was measured, number:24 | ns / 8 to write:20 | ns / 8 to read:20 */
    atomic_ullong cost;
    /* number of the last post before a barrier that it has left as its leader */
    atomic_ullong left;
    /* of the first member: the post number from which on nobody uses the wall; 0: none */
    _Alignas(64) atomic_ullong taken_down_at;
    /* of the first member: how all are to store long data (coll/wall/wall_store.c) */
    atomic_uint stores;
    /* of the last long move of a pair (coll/wall/wall_route.c) */
    _Alignas(64) atomic_ullong move;
    atomic_llong move_began_ns, move_ended_ns;
    /* of the first member: the routes of such moves */
    _Alignas(64) atomic_ullong routes[WEFT_ROUTE_KINDS];
} weft_strip_state_t;

/** What one rank has on one wall. */
typedef struct weft_strip {
    weft_post_t posts[WEFT_WALL_POSTS];
    weft_strip_state_t state;
} weft_strip_t;

/** Set by the transport within the host. memory NULL: there are no walls. */
typedef struct weft_wall_place {
    void *memory; /* zeros at first */
    int ranks;    /* of the host */
    size_t ring_bytes;
    struct weft_doorbell *(*doorbell)(int local_rank);
    const atomic_uint *(*leaving)(int local_rank); /* a weft_leaving_t */
} weft_wall_place_t;

extern weft_wall_place_t weft_wall_place;

/** The bytes of each ring if all of them may take `bytes`; 0: less than a ring needs. */
size_t weft_wall_ring_bytes(int ranks, size_t bytes);

/** Bytes of the memory of a host with `ranks` ranks, where a ring has `ring_bytes`. */
size_t weft_walls_bytes(int ranks, size_t ring_bytes);

weft_strip_t *weft_wall_strip(int wall, int local_rank);
/** Begins with a page. */
char *weft_wall_ring(int wall, int local_rank);
/** [WEFT_SWAPS][WEFT_SWAP_BYTES] */
char *weft_wall_swap(int wall, int local_rank);

#endif
