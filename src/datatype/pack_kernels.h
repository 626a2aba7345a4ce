/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loops of packing, and packing by the caller's own loops. A kernel moves the blocks of
 * outer_count leaves between typed memory and the stream:
 *
 *   for i in 0..outer_count:  for j in 0..count:  block at  typed + i * outer_stride + place(j)
 *
 * where place(j) is j * stride, offsets[j] or runs[j].offset.
 */
#ifndef WEFT_DATATYPE_PACK_KERNELS_H
#define WEFT_DATATYPE_PACK_KERNELS_H

#include "datatype/layout.h"
#include "datatype/pack_permute.h"

#include <stddef.h>

typedef struct weft_pack_blocks {
    size_t block_bytes; /* unused with runs */
    size_t count;
    ptrdiff_t stride;
    size_t outer_count;
    ptrdiff_t outer_stride;
    const ptrdiff_t *offsets;
    const weft_run_t *runs;
    ptrdiff_t stream_stride; /* from block to block in the stream, for fields only */
} weft_pack_blocks_t;

/** Returns the end of what it read from or wrote to the stream. */
typedef char *(*weft_pack_fn_t)(char *typed, char *stream, const weft_pack_blocks_t *blocks);

/** Block lengths that have kernels of their own. */
typedef enum weft_block_class {
#define WEFT_BLOCK_CLASSES(X)                                                                      \
    X(1, 1)                                                                                        \
    X(2, 2)                                                                                        \
    X(3, 2)                                                                                        \
    X(4, 4)                                                                                        \
    X(5_to_7, 4)                                                                                   \
    X(8, 8)                                                                                        \
    X(9_to_15, 8)                                                                                  \
    X(16, 16)                                                                                      \
    X(17_to_31, 16)                                                                                \
    X(32, 32)                                                                                      \
    X(33_to_63, 32)                                                                                \
    X(64, 64)                                                                                      \
    X(65_to_127, 64)                                                                               \
    X(128_to_511, 64)                                                                              \
    X(12, 12)                                                                                      \
    X(24, 24)
#define WEFT_ENUMERATE(name, bytes) WEFT_BLOCK_##name,
    WEFT_BLOCK_CLASSES(WEFT_ENUMERATE)
#undef WEFT_ENUMERATE
        WEFT_BLOCK_long,
    WEFT_BLOCK_CLASS_COUNT
} weft_block_class_t;

weft_block_class_t weft_block_class(size_t bytes);

/** Members of 1, 2, 4 and 8 bytes. */
enum { WEFT_FIELD_SIZES = 4 };

/** The kernels of one direction, by class of block. */
typedef struct weft_pack_kernels {
    weft_pack_fn_t strided[WEFT_BLOCK_CLASS_COUNT];
    weft_pack_fn_t every_other_word; /* blocks of 4 bytes, 8 apart; NULL: as any strided */
    weft_pack_fn_t listed[WEFT_BLOCK_CLASS_COUNT];
    weft_pack_fn_t runs;
    /* `count` blocks with gaps between them in the stream too: a member of an array of structs. */
    weft_pack_fn_t fields[WEFT_BLOCK_CLASS_COUNT];
    /* `count` structs of two members at runs[0] and runs[1], of 2^i and 2^j bytes; NULL: they are
     * moved as fields. */
    weft_pack_fn_t two_fields[WEFT_FIELD_SIZES][WEFT_FIELD_SIZES];
    weft_permute_fn_t permute; /* small structs; NULL: they are moved as fields */
    /* One run of bytes; returns the end in the stream. */
    char *(*span)(char *typed, char *stream, size_t bytes);
} weft_pack_kernels_t;

extern const weft_pack_kernels_t weft_pack_kernels, weft_unpack_kernels;

struct weft_elements; /* of pack.h */

/** A part of a packed stream: its bytes [offset, offset + bytes) are at `at`. */
typedef struct weft_stream_part {
    size_t offset, bytes;
    void *at;
} weft_stream_part_t;

/** Move a part of the packed form of `elements` by the caller's kernels. Neither side is read or
 * written here, so both may be memory that this process cannot access. Returns the bytes: fewer
 * where the stream ends. */
size_t weft_pack_by(const weft_pack_kernels_t *kernels, const struct weft_elements *elements,
                    const weft_stream_part_t *part);

#endif
