/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims: how the reader of a ring in shared memory makes lines its own before it reads them
 * (runtime/store_choice.h says why). It stores a byte into each of them, the one that is there
 * already. It must not load that byte from the line, which would fetch a copy of the line first.
 * So the writer leaves it a second time: the ring has an array with a byte for each of its lines,
 * the one that the line begins with.
 */
#ifndef WEFT_BASE_CLAIMS_H
#define WEFT_BASE_CLAIMS_H

#include <stddef.h>

enum { WEFT_CLAIM_LINE = 64 };

/** Bytes of the claims of a ring. */
static inline size_t weft_claims_bytes(size_t ring_bytes)
{
    return ring_bytes / WEFT_CLAIM_LINE;
}

/** Leave the claims of the lines in which `bytes` bytes lie, which have been written `offset` bytes
 * into the ring. */
static inline void weft_claims_leave(char *claims, const char *ring, size_t offset, size_t bytes)
{
    for (size_t line = offset / WEFT_CLAIM_LINE; line * WEFT_CLAIM_LINE < offset + bytes; line++)
        claims[line] = ring[line * WEFT_CLAIM_LINE];
}

/** Make those lines this core's own. No other rank may read or write them now. */
static inline void weft_claims_take(const char *claims, char *ring, size_t offset, size_t bytes)
{
    for (size_t line = offset / WEFT_CLAIM_LINE; line * WEFT_CLAIM_LINE < offset + bytes; line++)
        ring[line * WEFT_CLAIM_LINE] = claims[line];
}

#endif
