/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of a few bytes without a function call. */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

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

#endif
