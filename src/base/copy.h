/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that are as fast wherever the two places lie. libc's memcpy() is not: from some KiB on it
 * uses `rep movsb` on processors that call it fast, and on AMD's Zen 3 this falls to a twentieth
 * where the destination lies 1 to 31 bytes behind the source modulo 4,096, as ring slots and memory
 * from malloc() do. So messages are moved by vector loops of our own.
 */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

#include "base/simd.h"

#include <stddef.h>
#include <string.h>

/* Copy the first and the last `part` bytes, which may overlap. `part` is a constant, so that the
 * compiler needs neither a call nor a branch. */
static inline __attribute__((always_inline)) void weft_copy_ends(char *to, const char *from,
                                                                 size_t bytes, size_t part)
{
    char head[32], tail[32];
    memcpy(head, from, part);
    memcpy(tail, from + bytes - part, part);
    memcpy(to, head, part);
    memcpy(to + bytes - part, tail, part);
}

/** Copy up to 64 bytes: two copies of n bytes, one at each end, cover every length from n to 2n. */
static inline void weft_copy_small(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;
    if (bytes >= 32)
        weft_copy_ends(t, f, bytes, 32);
    else if (bytes >= 16)
        weft_copy_ends(t, f, bytes, 16);
    else if (bytes >= 8)
        weft_copy_ends(t, f, bytes, 8);
    else if (bytes >= 4)
        weft_copy_ends(t, f, bytes, 4);
    else {
        for (size_t i = 0; i < bytes; i++)
            t[i] = f[i];
    }
}

/* From here on a loop of our own copies. No libc uses `rep movsb` for less than twice as much. */
enum { WEFT_COPY_LONG = 512 };

/** Copy WEFT_COPY_LONG bytes or more; the two places do not overlap. */
typedef void (*weft_copy_fn_t)(void *to, const void *from, size_t bytes);

void weft_copy_base(void *to, const void *from, size_t bytes);
void weft_copy_avx2(void *to, const void *from, size_t bytes);
void weft_copy_avx512(void *to, const void *from, size_t bytes);

/** By weft_simd_t; NULL: not compiled for this architecture. */
extern const weft_copy_fn_t weft_copy_kernels[WEFT_SIMD_SETS];

/** The one in use. */
extern weft_copy_fn_t weft_copy_long;

/** Use the kernel of an instruction set that is available; before, the baseline's is used. */
void weft_copy_select(weft_simd_t set);

/** Copy any number of bytes; the two places do not overlap. */
static inline void weft_copy(void *to, const void *from, size_t bytes)
{
    if (bytes >= WEFT_COPY_LONG)
        weft_copy_long(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

#endif
