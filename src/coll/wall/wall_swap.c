/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swaps: what the two members of a wall send each other lies in memory that changes hands. Each has
 * two pieces of it, and a post goes where the other member's data have been two such posts before:
 *
 *   post           1    2    3    4    5
 *   member 0 in    A0   B0   A1   B1   A0
 *   member 1 in    A1   B1   A0   B0   A1
 *
 * The lines are in the cache of this core, which has read them just now, so each line crosses once,
 * and not twice as those of a ring do (shm/cells.h). On a Zen 4 an allreduce of 16 KiB takes 0.95
 * us so, and 1.6 by rings of 2 MiB.
 *
 * Both members count alike: the posts of all calls that are exchanges, of so many bytes. The piece
 * of post n + 1 is another one than that of post n, whose data may be read for it (allreduce).
 */
#include "coll/wall/wall.h"

void weft_wall_swaps_open(weft_wall_t *wall)
{
    bool is_learnt = wall->timing.choice.ways != 0; /* else WEFT_STORES says how data are stored */
    wall->swaps = (weft_wall_swaps_t){.are_on = wall->size == 2 && is_learnt};
    for (int i = 0; i < WEFT_SWAPS; i++)
        wall->swaps.numbers[i] = wall->number;
}

/* The other member has made the last post here, and so read what this one had here before. */
void *weft_wall_room_in_swap(weft_wall_t *wall, uint64_t number)
{
    weft_wall_swaps_t *swaps = &wall->swaps;
    unsigned piece = swaps->count % WEFT_SWAPS, turn = swaps->count / WEFT_SWAPS;
    if (wall->all_have < swaps->numbers[piece] && !weft_wall_have_all(wall, swaps->numbers[piece]))
        return NULL;
    char *room = wall->members[((unsigned)wall->rank + turn) % 2].swap + piece * WEFT_SWAP_BYTES;
    weft_post_t *post = &wall->strip->posts[number % WEFT_WALL_POSTS];
    post->offset = (uintptr_t)room - (uintptr_t)wall->ring;
    post->is_left_dirty = false;
    wall->begins[number % WEFT_WALL_POSTS] = wall->ring_at;
    swaps->is_taken = true;
    return room;
}

void weft_wall_count_swap(weft_wall_t *wall)
{
    wall->swaps.numbers[wall->swaps.count++ % WEFT_SWAPS] = wall->number;
}
