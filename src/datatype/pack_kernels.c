/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/pack_kernels.h"

#include "base/copy.h"

#include <stdint.h>
#include <string.h>

/*
 * A block of `exact` bytes is one fixed-size move. A longer block of less than twice as many bytes
 * is two moves that overlap: cheaper than memcpy with a length known at run time only.
 */
#define COPY_EXACT(to, from, bytes, exact) memcpy(to, from, exact)

#define COPY_OVERLAPPING(to, from, bytes, exact)                                                   \
    do {                                                                                           \
        char head_[exact], tail_[exact];                                                           \
        memcpy(head_, from, exact);                                                                \
        memcpy(tail_, (from) + (bytes) - (exact), exact);                                          \
        memcpy(to, head_, exact);                                                                  \
        memcpy((to) + (bytes) - (exact), tail_, exact);                                            \
    } while (0)

/* Moves of 64 bytes, the last overlapping: a call of memcpy costs more up to some 500 bytes. */
#define COPY_CHUNKS(to, from, bytes, exact)                                                        \
    do {                                                                                           \
        for (size_t done_ = 0; done_ + (exact) <= (bytes); done_ += (exact))                       \
            memcpy((to) + done_, (from) + done_, exact);                                           \
        memcpy((to) + (bytes) - (exact), (from) + (bytes) - (exact), exact);                       \
    } while (0)

#define COPY_LONG(to, from, bytes, exact) weft_copy(to, from, bytes)

#define PACK(COPY, packed, at, bytes, exact)   COPY(packed, at, bytes, exact)
#define UNPACK(COPY, packed, at, bytes, exact) COPY(at, packed, bytes, exact)

/* A kernel: PLACE says where block j of the leaf at `leaf` lies. */
#define KERNEL(function, MOVE, COPY, bytes_expression, exact, PLACE)                               \
    static char *function(char *restrict typed, char *restrict stream,                             \
                          const weft_pack_blocks_t *blocks)                                        \
    {                                                                                              \
        const size_t count = blocks->count, outer_count = blocks->outer_count;                     \
        const size_t bytes = bytes_expression;                                                     \
        for (size_t i = 0; i < outer_count; i++) {                                                 \
            char *leaf = typed + (ptrdiff_t)i * blocks->outer_stride;                              \
            PLACE(MOVE, COPY, exact)                                                               \
        }                                                                                          \
        return stream;                                                                             \
    }

/* Four blocks in each iteration, since a loop's own cost is that of a small block. Their addresses
 * do not depend on one another: a chain of additions would take a cycle for each block. */
#define BY_FOURS(MOVE, COPY, exact, packed_stride)                                                 \
    const ptrdiff_t stride = blocks->stride;                                                       \
    char *at = leaf;                                                                               \
    size_t left = count;                                                                           \
    for (; left >= 4; left -= 4, at += 4 * stride, stream += 4 * (packed_stride)) {                \
        MOVE(COPY, stream, at, bytes, exact);                                                      \
        MOVE(COPY, stream + (packed_stride), at + stride, bytes, exact);                           \
        MOVE(COPY, stream + 2 * (packed_stride), at + 2 * stride, bytes, exact);                   \
        MOVE(COPY, stream + 3 * (packed_stride), at + 3 * stride, bytes, exact);                   \
    }                                                                                              \
    for (; left > 0; left--, at += stride, stream += (packed_stride)) {                            \
        MOVE(COPY, stream, at, bytes, exact);                                                      \
    }

/* Of longer blocks each costs more than the loop. */
#define ONE_BY_ONE(MOVE, COPY, exact, packed_stride)                                               \
    char *at = leaf;                                                                               \
    for (size_t j = 0; j < count; j++, at += blocks->stride, stream += (packed_stride)) {          \
        MOVE(COPY, stream, at, bytes, exact);                                                      \
    }

#define STRIDED_SHORT(MOVE, COPY, exact) BY_FOURS(MOVE, COPY, exact, (ptrdiff_t)bytes)
#define STRIDED_LONG(MOVE, COPY, exact)  ONE_BY_ONE(MOVE, COPY, exact, (ptrdiff_t)bytes)

#define LISTED(MOVE, COPY, exact)                                                                  \
    const ptrdiff_t *offsets = blocks->offsets;                                                    \
    _Pragma("GCC unroll 4") for (size_t j = 0; j < count; j++, stream += bytes)                    \
    {                                                                                              \
        char *at = leaf + offsets[j];                                                              \
        MOVE(COPY, stream, at, bytes, exact);                                                      \
    }

#define FIELDS_SHORT(MOVE, COPY, exact)                                                            \
    const ptrdiff_t stream_stride = blocks->stream_stride;                                         \
    (void)bytes; /* exact copies do not need it */                                                 \
    BY_FOURS(MOVE, COPY, exact, stream_stride)

#define FIELDS_LONG(MOVE, COPY, exact) ONE_BY_ONE(MOVE, COPY, exact, blocks->stream_stride)

#define SIX_KERNELS(name, COPY, bytes, exact, LENGTH)                                              \
    KERNEL(pack_strided_##name, PACK, COPY, bytes, exact, STRIDED_##LENGTH)                        \
    KERNEL(unpack_strided_##name, UNPACK, COPY, bytes, exact, STRIDED_##LENGTH)                    \
    KERNEL(pack_listed_##name, PACK, COPY, bytes, exact, LISTED)                                   \
    KERNEL(unpack_listed_##name, UNPACK, COPY, bytes, exact, LISTED)                               \
    KERNEL(pack_fields_##name, PACK, COPY, bytes, exact, FIELDS_##LENGTH)                          \
    KERNEL(unpack_fields_##name, UNPACK, COPY, bytes, exact, FIELDS_##LENGTH)

#define EXACT(bytes) SIX_KERNELS(bytes, COPY_EXACT, bytes, bytes, SHORT)
#define OVERLAPPING(name, exact)                                                                   \
    SIX_KERNELS(name, COPY_OVERLAPPING, blocks->block_bytes, exact, SHORT)

EXACT(1)
EXACT(2)
OVERLAPPING(3, 2)
EXACT(4)
OVERLAPPING(5_to_7, 4)
EXACT(8)
OVERLAPPING(9_to_15, 8)
EXACT(16)
OVERLAPPING(17_to_31, 16)
EXACT(32)
OVERLAPPING(33_to_63, 32)
EXACT(64)
EXACT(12) /* three floats */
EXACT(24) /* three doubles */
OVERLAPPING(65_to_127, 64)
SIX_KERNELS(128_to_511, COPY_CHUNKS, blocks->block_bytes, 64, LONG)
SIX_KERNELS(long, COPY_LONG, blocks->block_bytes, 0, LONG)

/* ---- every other word ---- */

/* Compilers that lack it pack these words as all others. */
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

#ifdef HAVE_SHUFFLE
typedef uint32_t four_words_t __attribute__((vector_size(16), may_alias, aligned(1)));

/* Real parts, for example: 62 GB/s instead of 32 on Zen 5. The words between are read as well, up
 * to the last block. */
static char *pack_every_other_word(char *restrict typed, char *restrict stream,
                                   const weft_pack_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->outer_count; i++) {
        const char *at = typed + (ptrdiff_t)i * blocks->outer_stride;
        size_t left = blocks->count;
        for (; left > 4; left -= 4, at += 32, stream += 16) {
            four_words_t low = *(const four_words_t *)at, high = *(const four_words_t *)(at + 16);
            *(four_words_t *)stream = __builtin_shufflevector(low, high, 0, 2, 4, 6);
        }
        for (; left > 0; left--, at += 8, stream += 4)
            memcpy(stream, at, 4);
    }
    return stream;
}
#else
#define pack_every_other_word NULL
#endif

/* ---- two members ---- */

/* Both in one loop: two thirds of the time of a loop for each. */
#define TWO_FIELDS(direction, MOVE, first, second)                                                 \
    static char *direction##_fields_##first##_##second(                                            \
        char *restrict typed, char *restrict stream, const weft_pack_blocks_t *blocks)             \
    {                                                                                              \
        const ptrdiff_t stride = blocks->stride;                                                   \
        char *one = typed + blocks->runs[0].offset, *other = typed + blocks->runs[1].offset;       \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < blocks->count; i++)                         \
        {                                                                                          \
            MOVE(COPY_EXACT, stream, one, first, first);                                           \
            MOVE(COPY_EXACT, stream + (first), other, second, second);                             \
            one += stride;                                                                         \
            other += stride;                                                                       \
            stream += (first) + (second);                                                          \
        }                                                                                          \
        return stream;                                                                             \
    }

/* Members of one length are a list of blocks, no runs. */
#define FIELDS_1(X, way, MOVE) X(way, MOVE, 1, 2) X(way, MOVE, 1, 4) X(way, MOVE, 1, 8)
#define FIELDS_2(X, way, MOVE) X(way, MOVE, 2, 1) X(way, MOVE, 2, 4) X(way, MOVE, 2, 8)
#define FIELDS_4(X, way, MOVE) X(way, MOVE, 4, 1) X(way, MOVE, 4, 2) X(way, MOVE, 4, 8)
#define FIELDS_8(X, way, MOVE) X(way, MOVE, 8, 1) X(way, MOVE, 8, 2) X(way, MOVE, 8, 4)
#define FIELD_PAIRS(X, way, MOVE)                                                                  \
    FIELDS_1(X, way, MOVE) FIELDS_2(X, way, MOVE) FIELDS_4(X, way, MOVE) FIELDS_8(X, way, MOVE)

FIELD_PAIRS(TWO_FIELDS, pack, PACK)
FIELD_PAIRS(TWO_FIELDS, unpack, UNPACK)

#define FIELD_INDEX(bytes) ((bytes) == 8 ? 3 : (bytes) / 2)
#define TWO_FIELDS_ENTRY(direction, MOVE, first, second)                                           \
    [FIELD_INDEX(first)][FIELD_INDEX(second)] = direction##_fields_##first##_##second,

/* ---- runs of all lengths ---- */

static inline void copy_packed_run(char *restrict to, const char *restrict from, size_t bytes)
{
    if (bytes == 8)
        COPY_EXACT(to, from, bytes, 8);
    else if (bytes == 4)
        COPY_EXACT(to, from, bytes, 4);
    else if (bytes > 64 || bytes < 2)
        COPY_LONG(to, from, bytes, 0);
    else if (bytes > 32)
        COPY_OVERLAPPING(to, from, bytes, 32);
    else if (bytes >= 16)
        COPY_OVERLAPPING(to, from, bytes, 16);
    else if (bytes > 8)
        COPY_OVERLAPPING(to, from, bytes, 8);
    else if (bytes > 4)
        COPY_OVERLAPPING(to, from, bytes, 4);
    else
        COPY_OVERLAPPING(to, from, bytes, 2);
}

#define COPY_RUN(to, from, bytes, exact) copy_packed_run(to, from, bytes)

#define RUNS(MOVE, COPY, exact)                                                                    \
    for (const weft_run_t *run = blocks->runs, *end = run + count; run < end; run++) {             \
        const size_t run_bytes = run[1].start - run->start;                                        \
        char *at = leaf + run->offset;                                                             \
        MOVE(COPY, stream, at, run_bytes, exact);                                                  \
        stream += run_bytes + bytes;                                                               \
    }

KERNEL(pack_runs, PACK, COPY_RUN, 0, 0, RUNS)
KERNEL(unpack_runs, UNPACK, COPY_RUN, 0, 0, RUNS)

static char *kernel_pack_span(char *typed, char *stream, size_t bytes)
{
    weft_copy(stream, typed, bytes);
    return stream + bytes;
}

static char *kernel_unpack_span(char *typed, char *stream, size_t bytes)
{
    weft_copy_read(typed, stream, bytes);
    return stream + bytes;
}

weft_block_class_t weft_block_class(size_t bytes)
{
    static const unsigned char exact[] = {WEFT_BLOCK_1,  WEFT_BLOCK_2,  WEFT_BLOCK_4, WEFT_BLOCK_8,
                                          WEFT_BLOCK_16, WEFT_BLOCK_32, WEFT_BLOCK_64};
    if (bytes >= 128)
        return bytes < 512 ? WEFT_BLOCK_128_to_511 : WEFT_BLOCK_long;
    if (bytes == 12 || bytes == 24)
        return bytes == 12 ? WEFT_BLOCK_12 : WEFT_BLOCK_24;
    int log2 = 63 - __builtin_clzll(bytes);
    return (weft_block_class_t)(exact[log2] + ((bytes & (bytes - 1)) != 0));
}

#define STRIDED_ENTRY(direction, name) [WEFT_BLOCK_##name] = direction##_strided_##name,
#define LISTED_ENTRY(direction, name)  [WEFT_BLOCK_##name] = direction##_listed_##name,
#define FIELDS_ENTRY(direction, name)  [WEFT_BLOCK_##name] = direction##_fields_##name,
#define PACK_STRIDED(name, bytes)      STRIDED_ENTRY(pack, name)
#define PACK_LISTED(name, bytes)       LISTED_ENTRY(pack, name)
#define PACK_FIELDS(name, bytes)       FIELDS_ENTRY(pack, name)
#define UNPACK_FIELDS(name, bytes)     FIELDS_ENTRY(unpack, name)
#define UNPACK_STRIDED(name, bytes)    STRIDED_ENTRY(unpack, name)
#define UNPACK_LISTED(name, bytes)     LISTED_ENTRY(unpack, name)

const weft_pack_kernels_t weft_pack_kernels = {
    .strided = {WEFT_BLOCK_CLASSES(PACK_STRIDED) STRIDED_ENTRY(pack, long)},
    .every_other_word = pack_every_other_word,
    .listed = {WEFT_BLOCK_CLASSES(PACK_LISTED) LISTED_ENTRY(pack, long)},
    .runs = pack_runs,
    .fields = {WEFT_BLOCK_CLASSES(PACK_FIELDS) FIELDS_ENTRY(pack, long)},
    .two_fields = {FIELD_PAIRS(TWO_FIELDS_ENTRY, pack, PACK)},
    .permute = weft_permute_pack,
    .span = kernel_pack_span,
};

const weft_pack_kernels_t weft_unpack_kernels = {
    .strided = {WEFT_BLOCK_CLASSES(UNPACK_STRIDED) STRIDED_ENTRY(unpack, long)},
    .listed = {WEFT_BLOCK_CLASSES(UNPACK_LISTED) LISTED_ENTRY(unpack, long)},
    .runs = unpack_runs,
    .fields = {WEFT_BLOCK_CLASSES(UNPACK_FIELDS) FIELDS_ENTRY(unpack, long)},
    .two_fields = {FIELD_PAIRS(TWO_FIELDS_ENTRY, unpack, UNPACK)},
    .permute = weft_permute_unpack,
    .span = kernel_unpack_span,
};
