/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of a few bytes without a call. */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

#include <stddef.h>
#include <string.h>

/** Copy up to 64 bytes: two overlapping moves of one size cover every length of its class. */
static inline void weft_copy_small(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;
    if (bytes >= 32) {
        char head[32], tail[32];
        memcpy(head, f, 32);
        memcpy(tail, f + bytes - 32, 32);
        memcpy(t, head, 32);
        memcpy(t + bytes - 32, tail, 32);
    } else if (bytes >= 16) {
        char head[16], tail[16];
        memcpy(head, f, 16);
        memcpy(tail, f + bytes - 16, 16);
        memcpy(t, head, 16);
        memcpy(t + bytes - 16, tail, 16);
    } else if (bytes >= 8) {
        char head[8], tail[8];
        memcpy(head, f, 8);
        memcpy(tail, f + bytes - 8, 8);
        memcpy(t, head, 8);
        memcpy(t + bytes - 8, tail, 8);
    } else if (bytes >= 4) {
        char head[4], tail[4];
        memcpy(head, f, 4);
        memcpy(tail, f + bytes - 4, 4);
        memcpy(t, head, 4);
        memcpy(t + bytes - 4, tail, 4);
    } else {
        for (size_t i = 0; i < bytes; i++)
            t[i] = f[i];
    }
}

#endif
