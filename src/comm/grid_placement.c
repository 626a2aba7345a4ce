/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/grid_placement.h"

#include <stdint.h>

/* More dimensions than an int has factors have an extent of 1, and those are left out. */
enum { REAL_DIMENSIONS = 31 };

/* The dimensions that have more than one place, and how a node's block of places extends in them.
 */
typedef struct blocks {
    int count;
    int dims[REAL_DIMENSIONS], extents[REAL_DIMENSIONS];
    bool is_ring[REAL_DIMENSIONS];
    int64_t places;
} grid_blocks_t;

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

/* The edges between nodes if ranks keep their order. */
static int64_t edges_in_order(const grid_blocks_t *blocks, const weft_shape_t *shape)
{
    int64_t edges = 0, stride = 1;
    for (int i = blocks->count - 1; i >= 0; i--) {
        int64_t dim = blocks->dims[i];
        for (int64_t rank = 0; rank < blocks->places; rank++) {
            int64_t at = rank / stride % dim;
            if (at + 1 == dim && !blocks->is_ring[i])
                continue;
            int64_t next = rank + (at + 1 == dim ? 1 - dim : 1) * stride;
            edges += weft_shape_node(shape, (int)rank) != weft_shape_node(shape, (int)next);
        }
        stride *= dim;
    }
    return edges;
}

/* Both the blocks in the grid and the places in a block are in row-major order. */
static int rank_at(const grid_blocks_t *blocks, const weft_shape_t *shape, int64_t place)
{
    int64_t node = 0, local = 0, node_stride = 1, local_stride = 1;
    for (int i = blocks->count - 1; i >= 0; i--) {
        int64_t at = place % blocks->dims[i], extent = blocks->extents[i];
        node += at / extent * node_stride;
        local += at % extent * local_stride;
        node_stride *= blocks->dims[i] / extent;
        local_stride *= extent;
        place /= blocks->dims[i];
    }
    return weft_shape_rank(shape, (int)node, (int)local);
}

bool wefti_grid_place(const weft_cart_t *grid, const weft_shape_t *shape, int ranks_out[])
{
    block_search_t search = {.at = blocks_of(grid)};
    int64_t places = search.at.places;
    if (shape->nodes == 1 || shape->least != shape->most || places != shape->ranks)
        return false;
    int64_t edges = edges_in_order(&search.at, shape);
    search.best_edges = edges;
    try_extents(&search, 0, shape->least, 0);
    if (search.best_edges == edges)
        return false;
    for (int64_t place = 0; place < places; place++)
        ranks_out[place] = rank_at(&search.best, shape, place);
    return true;
}
