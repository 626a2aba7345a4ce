/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structs of at most 64 bytes, of members with even lengths at even places, are packed and unpacked
 * by one permutation of 16-bit words each, on processors with AVX-512:
 *
 *   typed   | a . b . c . d . | E E . . F F . . |      stream  | a b c d E E F F |
 */
#ifndef WEFT_DATATYPE_PACK_PERMUTE_H
#define WEFT_DATATYPE_PACK_PERMUTE_H

#include "datatype/layout.h"
#include "base/simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_PERMUTED_WORDS = 32 };

typedef struct weft_permutation {
    ptrdiff_t low;                             /* from a struct to its first byte of data */
    ptrdiff_t stride;                          /* from struct to struct */
    size_t stream_bytes;                       /* of a struct */
    uint64_t typed_mask, stream_mask;          /* bit i: byte i has data */
    uint16_t from_typed[WEFT_PERMUTED_WORDS];  /* for each word of the stream: which word */
    uint16_t from_stream[WEFT_PERMUTED_WORDS]; /* and for each word of the struct */
} weft_permutation_t;

/** Called at start-up, with the instruction set to use. */
void weft_permute_select(weft_simd_t set);

/** The permutation for a leaf of runs; false: there is none. The stride is left to the caller. */
bool weft_permutation_find(const weft_layout_t *layout, weft_permutation_t *out);

/** Moves `count` structs, by what weft_permutation_find() has found. Returns the end of what it
 * read from or wrote to the stream. */
typedef char *(*weft_permute_fn_t)(char *typed, char *stream, const weft_permutation_t *permutation,
                                   size_t count);

#ifdef __x86_64__
char *weft_permute_pack(char *typed, char *stream, const weft_permutation_t *permutation,
                        size_t count);
char *weft_permute_unpack(char *typed, char *stream, const weft_permutation_t *permutation,
                          size_t count);
#else
#define weft_permute_pack   NULL
#define weft_permute_unpack NULL
#endif

#endif
