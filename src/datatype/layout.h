/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The canonical form of a datatype: where the bytes of one element lie, in the order of its type
 * map.
 *
 *   level[levels-1]  outermost:  for i in 0..count:  origin + i * stride
 *     ...
 *       level[0]     innermost:  for i in 0..count:  origin + i * stride
 *         leaf       a block, a list of blocks of one length, a list of runs, or a list of parts
 *
 * A vector, a subarray or a column of a matrix is levels around a block; an array of structs is a
 * level around a few runs; an indexed type is a list. A type too irregular and too large to be
 * written out is a list of parts, each a repeated layout of another type: memory is in proportion
 * to the arguments of the constructors, never to the number of blocks.
 */
#ifndef WEFT_DATATYPE_LAYOUT_H
#define WEFT_DATATYPE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_LEVELS = 3 };

typedef struct weft_level {
    size_t count;
    ptrdiff_t stride; /* bytes; may be negative */
    size_t bytes;     /* packed bytes of one item */
} weft_level_t;

/** A run of bytes. `start` is its place in the packed leaf; its length is the next run's start
 * minus this one's, and a list ends with an entry that has the leaf's bytes as its start. */
typedef struct weft_run {
    ptrdiff_t offset;
    size_t start;
} weft_run_t;

/** Another layout, `count` times. The list ends as a list of runs does. */
typedef struct weft_part {
    ptrdiff_t offset;
    size_t start;
    size_t count;
    ptrdiff_t stride;
    const struct weft_layout *layout;
} weft_part_t;

typedef enum weft_leaf {
    WEFT_LEAF_BLOCK,  /* leaf_bytes bytes at offset 0 */
    WEFT_LEAF_BLOCKS, /* list_count blocks of block_bytes each, at offsets[] */
    WEFT_LEAF_RUNS,   /* list_count runs */
    WEFT_LEAF_PARTS,  /* list_count parts */
} weft_leaf_t;

typedef struct weft_layout {
    size_t bytes;     /* packed bytes of the whole; 0: nothing else is set */
    ptrdiff_t offset; /* from the buffer to the origin of the first leaf */
    weft_leaf_t leaf;
    int levels;
    size_t depth; /* 0, or of a list of parts: one more than the deepest of them */
    weft_level_t level[WEFT_LEVELS];
    size_t leaf_bytes;  /* packed bytes of one leaf */
    size_t block_bytes; /* BLOCK: leaf_bytes; BLOCKS: of one block */
    size_t list_count;
    union {
        const ptrdiff_t *offsets;
        const weft_run_t *runs;
        const weft_part_t *parts;
    };
    void *owned;                     /* the list, if this layout frees it */
    const struct weft_layout *inner; /* the layout of the one part, if this layout frees it */
} weft_layout_t;

#endif
