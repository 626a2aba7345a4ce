/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells: pieces of shared memory that change hands with what they hold. A rank that has received a
 * packet in a cell owns it from then on, and sends its own next one in it.
 *
 * The lines of a ring cross twice: its writer takes each one back from the core that has read it,
 * and then that one fetches it. Those of a cell are in the cache of its owner already, who has read
 * them just now. So messages that go back and forth, or both ways at once, cross once, and need no
 * more memory than they have bytes. On a Zen 4 two bare loops pass 64 KiB in 2.0 us so, in 7.9
 * through a ring of 256 KiB, and in 2.6 through one of 2 MiB, whose pages take 2 ms at first.
 * Messages that go one way leave all cells at the other end, and take the ring.
 *
 * The packet says which cell it is in; nothing else is shared, so cells need no credits. Where the
 * two ranks send about as many packets, one of them has most of the cells in the end all the same.
 * So who has many gives one back with a packet now and then. Not more often: its lines are still in
 * this core's cache, so that where packets mostly go one way the ring is better.
 */
#ifndef WEFT_SHM_CELLS_H
#define WEFT_SHM_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    WEFT_CELL_BYTES = 32768,
    WEFT_CELL_PAGE = 4096,
    WEFT_CELLS_MOST = 32,  /* of a pair of ranks */
    WEFT_CELLS_SPARE = 16, /* packets in cells of which one may give another one back */
};

/** The cells of a pair of ranks, from the side of one of them. */
typedef struct weft_cells {
    char *memory;  /* [all][WEFT_CELL_BYTES] */
    int all;       /* of the pair; 0: it has none */
    int count;     /* this rank's, */
    int run;       /* of which so many have come since the last one was sent; */
    unsigned sent; /* by it so far */
    /* [count] numbers; the next to be sent is the last, but those of the run go as they came */
    unsigned char owned[WEFT_CELLS_MOST];
    unsigned char read_pages[WEFT_CELLS_MOST]; /* of each: this rank has read so many */
} weft_cells_t;

/** The pair has `all` cells, of which each rank begins with half. */
static inline void weft_cells_open(weft_cells_t *cells, char *memory, int all, bool is_higher)
{
    *cells = (weft_cells_t){.memory = memory, .all = all, .count = all / 2};
    for (int i = 0; i < all / 2; i++)
        cells->owned[i] = (unsigned char)(is_higher ? all / 2 + i : i);
}

static inline char *weft_cells_at(const weft_cells_t *cells, unsigned number)
{
    return cells->memory + (size_t)number * WEFT_CELL_BYTES;
}

/** The cell to be sent next; there is one. */
static inline unsigned weft_cells_next(weft_cells_t *cells)
{
    int first = cells->count - cells->run, last = cells->count - 1;
    for (; first < last; first++, last--) {
        unsigned char swapped = cells->owned[first];
        cells->owned[first] = cells->owned[last];
        cells->owned[last] = swapped;
    }
    cells->run = 0;
    return cells->owned[cells->count - 1];
}

/** It is sent: the peer's from here on. */
static inline void weft_cells_pass(weft_cells_t *cells)
{
    cells->count--;
    cells->sent++;
}

/** A cell that goes back with the one that was passed just now; -1: none. It is the one that this
 * rank has had for the longest time. */
static inline int weft_cells_spare(weft_cells_t *cells)
{
    if (cells->sent % WEFT_CELLS_SPARE != 0 || cells->count <= cells->all / 4 * 3)
        return -1;
    int number = cells->owned[0];
    cells->count--;
    memmove(cells->owned, cells->owned + 1, (size_t)cells->count);
    return number;
}

/** A cell has come back so. */
static inline void weft_cells_take_spare(weft_cells_t *cells, unsigned number)
{
    memmove(cells->owned + 1, cells->owned, (size_t)cells->count);
    cells->owned[0] = (unsigned char)number;
    cells->count++;
}

/** A packet of so many bytes in this cell is about to be read. True: its pages are touched for the
 * first time by this rank, and perhaps by the sender, which takes longer than the packet. */
static inline bool weft_cells_are_fresh(weft_cells_t *cells, unsigned number, size_t bytes)
{
    size_t pages = (bytes + WEFT_CELL_PAGE - 1) / WEFT_CELL_PAGE;
    if (__builtin_expect(pages <= cells->read_pages[number], 1))
        return false;
    cells->read_pages[number] = (unsigned char)pages;
    return true;
}

/** A packet in this cell was read. */
static inline void weft_cells_take(weft_cells_t *cells, unsigned number)
{
    cells->run++;
    cells->owned[cells->count++] = (unsigned char)number;
}

#endif
