/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/shelf.h"

#include <stdint.h>

static struct {
    char *memory;
    int ranks, rank;
    uint32_t taken; /* a bit for each piece of this rank's own */
} shelves;

_Static_assert((int)WEFT_SHELF_PIECES < 32, "a bit for each, and one that says that none is free");

size_t weft_shelves_bytes(int ranks)
{
    return (size_t)ranks * WEFT_SHELF_BYTES;
}

void weft_shelves_open(void *memory, int ranks, int local_rank)
{
    shelves.memory = memory;
    shelves.ranks = ranks;
    shelves.rank = local_rank;
    shelves.taken = 0;
}

void weft_shelves_close(void)
{
    weft_shelves_open(NULL, 0, 0);
}

char *weft_shelf_of(int local_rank)
{
    if (shelves.memory == NULL || local_rank < 0 || local_rank >= shelves.ranks)
        return NULL;
    return shelves.memory + (size_t)local_rank * WEFT_SHELF_BYTES;
}

char *weft_shelf_take(void)
{
    char *shelf = weft_shelf_of(shelves.rank);
    int index = __builtin_ctz(~shelves.taken);
    if (shelf == NULL || index >= WEFT_SHELF_PIECES)
        return NULL;
    shelves.taken |= (uint32_t)1 << index;
    return shelf + (size_t)index * WEFT_SHELF_PIECE;
}

void weft_shelf_give(const char *piece)
{
    size_t index = (size_t)(piece - weft_shelf_of(shelves.rank)) / WEFT_SHELF_PIECE;
    shelves.taken &= ~((uint32_t)1 << index);
}
