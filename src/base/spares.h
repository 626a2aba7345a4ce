/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for data that are kept for a short while, again and again. malloc() may give the end of
 * the heap back to the system with each free(), and then 64 KiB take 16 page faults the next time,
 * 30 us where copying takes 2. So blocks that are given back are kept, up to a bound, by their
 * size, a power of two, and the last one given is the first one taken.
 */
#ifndef WEFT_BASE_SPARES_H
#define WEFT_BASE_SPARES_H

#include <stddef.h>

enum {
    WEFT_SPARE_LEAST_BITS = 8, /* the smallest blocks have 256 bytes; */
    WEFT_SPARE_SIZES = 13,     /* the largest that are kept 1 MiB */
};

/** All zeros at first, but for `most`. The caller holds the library's lock. */
typedef struct weft_spares {
    size_t most; /* bytes that are kept */
    size_t kept;
    void *first[WEFT_SPARE_SIZES]; /* linked through their first words */
} weft_spares_t;

/** `bytes` bytes, not cleared; NULL when there is no memory. */
void *weft_spare_take(weft_spares_t *spares, size_t bytes);

/** Give back what weft_spare_take returned for so many bytes. NULL is allowed. */
void weft_spare_give(weft_spares_t *spares, void *memory, size_t bytes);

/** Free what is kept. */
void weft_spares_close(weft_spares_t *spares);

#endif
