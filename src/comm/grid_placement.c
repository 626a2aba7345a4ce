/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/grid_placement.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdint.h>
#include <stdlib.h>

/* More dimensions than an int has factors have an extent of 1, and those are left out. */
enum { REAL_DIMENSIONS = 31 };

/* The dimensions that have more than one place, and how far a block extends in them. */
typedef struct blocks {
    int count;
    int dims[REAL_DIMENSIONS], extents[REAL_DIMENSIONS];
    bool is_ring[REAL_DIMENSIONS];
    int64_t places;
} grid_blocks_t;

/* Blocks within blocks: those of level i divide one block of level i - 1, or the grid. */
typedef struct nested_blocks {
    int count;
    grid_blocks_t levels[WEFT_NEARNESS_LEVELS_MAX];
    int sizes[WEFT_NEARNESS_LEVELS_MAX]; /* ranks of a block */
} nested_blocks_t;

static grid_blocks_t blocks_of(const weft_cart_t *grid)
{
    grid_blocks_t blocks = {.places = 1};
    for (int i = 0; i < grid->ndims; i++) {
        if (grid->dims[i] == 1)
            continue;
        blocks.dims[blocks.count] = grid->dims[i];
        blocks.is_ring[blocks.count++] = grid->periods[i] != 0;
        blocks.places *= grid->dims[i];
    }
    return blocks;
}

/* One block as a grid of its own. A ring that is longer than the block is open in it. */
static grid_blocks_t inside_of(const grid_blocks_t *blocks)
{
    grid_blocks_t inside = {.count = blocks->count, .places = 1};
    for (int i = 0; i < blocks->count; i++) {
        inside.dims[i] = blocks->extents[i];
        inside.is_ring[i] = blocks->is_ring[i] && blocks->extents[i] == blocks->dims[i];
        inside.places *= blocks->extents[i];
    }
    return inside;
}

/* ---- the best blocks of one level ---- */

/* Edges of one dimension between blocks of this extent. A ring of two places has two edges between
 * them. */
static int64_t edges_across(const grid_blocks_t *blocks, int dimension, int extent)
{
    int64_t in_line = blocks->dims[dimension] / extent;
    int64_t borders = in_line - 1 + (blocks->is_ring[dimension] && in_line > 1);
    return borders * (blocks->places / blocks->dims[dimension]);
}

/* A search for the extents with the fewest edges between blocks. */
typedef struct search {
    grid_blocks_t at, best;
    int64_t best_edges;
} block_search_t;

/* Try all ways to write `left` as a product of extents of the dimensions from `dimension` on;
 * `edges` are those of the dimensions before. */
static void try_extents(block_search_t *search, int dimension, int left, int64_t edges)
{
    grid_blocks_t *blocks = &search->at;
    if (edges >= search->best_edges)
        return;
    if (dimension == blocks->count) {
        if (left == 1) {
            search->best = *blocks;
            search->best_edges = edges;
        }
        return;
    }
    for (int extent = 1; extent <= left && extent <= blocks->dims[dimension]; extent++) {
        if (left % extent != 0 || blocks->dims[dimension] % extent != 0)
            continue;
        blocks->extents[dimension] = extent;
        try_extents(search, dimension + 1, left / extent,
                    edges + edges_across(blocks, dimension, extent));
    }
}

/* There are such extents: every prime factor of the size is one of some dimension. */
static grid_blocks_t best_blocks(const grid_blocks_t *whole, int size)
{
    block_search_t search = {.at = *whole, .best_edges = INT64_MAX};
    try_extents(&search, 0, size, 0);
    return search.best;
}

static nested_blocks_t divide_grid(const weft_cart_t *grid, const weft_nearness_t *nearness)
{
    nested_blocks_t nested = {.count = 0};
    grid_blocks_t whole = blocks_of(grid);
    for (int level = 0; level < nearness->count; level++) {
        const weft_shape_t *shape = &nearness->levels[level];
        if (shape->least != shape->most)
            break;
        nested.levels[level] = best_blocks(&whole, shape->least);
        nested.sizes[level] = shape->least;
        nested.count++;
        whole = inside_of(&nested.levels[level]);
    }
    return nested;
}

/* ---- ranks for places ---- */

/* A rank and its part of each level that has blocks. */
typedef struct located_rank {
    int parts[WEFT_NEARNESS_LEVELS_MAX];
    int rank;
} located_rank_t;

static int compare_located(const void *one, const void *two)
{
    const located_rank_t *a = one, *b = two;
    for (int level = 0; level < WEFT_NEARNESS_LEVELS_MAX; level++) {
        if (a->parts[level] != b->parts[level])
            return a->parts[level] < b->parts[level] ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : 1;
}

/* All ranks, part by part on every level. */
static void sort_by_parts(const weft_nearness_t *nearness, int levels, located_rank_t sorted[])
{
    int ranks = nearness->levels[0].ranks;
    for (int rank = 0; rank < ranks; rank++) {
        sorted[rank] = (located_rank_t){.rank = rank};
        for (int level = 0; level < levels; level++)
            sorted[rank].parts[level] = weft_shape_node(&nearness->levels[level], rank);
    }
    qsort(sorted, (size_t)ranks, sizeof(*sorted), compare_located);
}

/* How many places come before this one if blocks are gone through one after the other, each of them
 * block by block. Blocks and the places in one are in row-major order. */
static int64_t places_before(const nested_blocks_t *nested, int64_t place)
{
    int64_t before = 0;
    for (int level = 0; level < nested->count; level++) {
        const grid_blocks_t *blocks = &nested->levels[level];
        int64_t block = 0, block_stride = 1, inner = 0, inner_stride = 1;
        for (int i = blocks->count - 1; i >= 0; i--) {
            int64_t at = place % blocks->dims[i], extent = blocks->extents[i];
            block += at / extent * block_stride;
            inner += at % extent * inner_stride;
            block_stride *= blocks->dims[i] / extent;
            inner_stride *= extent;
            place /= blocks->dims[i];
        }
        before += block * nested->sizes[level];
        place = inner;
    }
    return before + place;
}

/* ---- is it better than the order of the ranks? ---- */

/* The edges between parts; `ranks` NULL: ranks keep their order. */
static int64_t count_edges(const grid_blocks_t *grid, const weft_shape_t *shape, const int *ranks)
{
    int64_t edges = 0, stride = 1;
    for (int i = grid->count - 1; i >= 0; i--) {
        int64_t dim = grid->dims[i];
        for (int64_t place = 0; place < grid->places; place++) {
            int64_t at = place / stride % dim;
            if (at + 1 == dim && !grid->is_ring[i])
                continue;
            int64_t next = place + (at + 1 == dim ? 1 - dim : 1) * stride;
            edges += weft_shape_node(shape, ranks == NULL ? (int)place : ranks[place]) !=
                     weft_shape_node(shape, ranks == NULL ? (int)next : ranks[next]);
        }
        stride *= dim;
    }
    return edges;
}

/* Edges between hosts count first, then those between their parts. */
static bool is_order_better(const weft_cart_t *cart, const weft_nearness_t *nearness,
                            const int ranks[])
{
    grid_blocks_t grid = blocks_of(cart);
    for (int level = 0; level < nearness->count; level++) {
        int64_t placed = count_edges(&grid, &nearness->levels[level], ranks);
        int64_t in_order = count_edges(&grid, &nearness->levels[level], NULL);
        if (placed != in_order)
            return placed < in_order;
    }
    return false;
}

bool wefti_grid_has_blocks(const weft_cart_t *grid, const weft_nearness_t *nearness)
{
    const weft_shape_t *hosts = &nearness->levels[0];
    return hosts->least == hosts->most && weft_cart_size(grid) == hosts->ranks;
}

int wefti_grid_place(const weft_cart_t *grid, const weft_nearness_t *nearness, int ranks_out[],
                     bool *is_better_out)
{
    int places = nearness->levels[0].ranks;
    located_rank_t *sorted = weft_alloc_array((size_t)places, sizeof(*sorted));
    if (sorted == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to place the %d ranks of a grid", places);
    nested_blocks_t nested = divide_grid(grid, nearness);
    sort_by_parts(nearness, nested.count, sorted);
    for (int place = 0; place < places; place++)
        ranks_out[place] = sorted[places_before(&nested, place)].rank;
    weft_free(sorted);
    *is_better_out = is_order_better(grid, nearness, ranks_out);
    return MPI_SUCCESS;
}
