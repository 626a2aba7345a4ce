/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/wall_place.h"

enum {
    PAGE = 4096,
    RING_LEAST = 64 * 1024,
    /* Larger than the cache of a core, so that the lines to be written have left those of the
     * readers (shm/channel.h). */
    RING_MOST = 2 * 1024 * 1024,
};

weft_wall_place_t weft_wall_place;

static size_t posts_bytes(int ranks)
{
    size_t bytes = WEFT_WALLS * (size_t)ranks * sizeof(weft_strip_t);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

size_t weft_wall_ring_bytes(int ranks, size_t bytes)
{
    size_t share = bytes / WEFT_WALLS / (size_t)ranks, ring = RING_MOST;
    while (ring >= RING_LEAST && ring > share)
        ring /= 2;
    return ring < RING_LEAST ? 0 : ring;
}

static size_t rings_of(int ranks)
{
    return WEFT_WALLS * (size_t)ranks;
}

size_t weft_walls_bytes(int ranks, size_t ring_bytes)
{
    size_t strip = ring_bytes + WEFT_SWAPS * WEFT_SWAP_BYTES;
    return ring_bytes == 0 ? 0 : posts_bytes(ranks) + rings_of(ranks) * strip;
}

weft_strip_t *weft_wall_strip(int wall, int local_rank)
{
    weft_strip_t *strips = weft_wall_place.memory;
    return &strips[(size_t)wall * (size_t)weft_wall_place.ranks + (size_t)local_rank];
}

static size_t index_of(int wall, int local_rank)
{
    return (size_t)local_rank * WEFT_WALLS + (size_t)wall;
}

static char *rings(void)
{
    return (char *)weft_wall_place.memory + posts_bytes(weft_wall_place.ranks);
}

char *weft_wall_ring(int wall, int local_rank)
{
    return rings() + index_of(wall, local_rank) * weft_wall_place.ring_bytes;
}

char *weft_wall_swap(int wall, int local_rank)
{
    size_t bytes = weft_wall_place.ring_bytes;
    return rings() + rings_of(weft_wall_place.ranks) * bytes +
           index_of(wall, local_rank) * WEFT_SWAPS * WEFT_SWAP_BYTES;
}
