/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that are fast wherever the two places lie. libc's memcpy() is not on all processors: from
 * some KiB on it uses `rep movsb` where the processor calls that fast, and on AMD's Zen 3 this
 * falls to a twentieth if the destination lies 1 to 31 bytes behind the source modulo a page of
 * 4,096 bytes. Memory from malloc() lies so behind ring slots. A trial at start-up finds such
 * processors, and there vector loops of our own copy between such places. Elsewhere libc is the
 * better choice for data that are written for others: on Zen 5 `rep movsb` moves messages from core
 * to core at 50 GB/s, loops at 30, as they fetch the lines that they are about to overwrite; but on
 * the first processors with AVX-512 loops are the better choice (weft_copy_write). Who reads what
 * another core has written overwrites lines that are near: there loops are the better choice
 * everywhere (weft_copy_read).
 */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

#include "base/simd.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copy the first and the last `part` bytes, which may overlap. `part` is a constant, so that the
 * compiler needs neither a call nor a branch, and at most that of a vector register: it would keep
 * longer ones in memory. */
static inline __attribute__((always_inline)) void weft_copy_ends(char *to, const char *from,
                                                                 size_t bytes, size_t part)
{
    char head[16], tail[16];
    memcpy(head, from, part);
    memcpy(tail, from + bytes - part, part);
    memcpy(to, head, part);
    memcpy(to + bytes - part, tail, part);
}

enum { WEFT_COPY_SMALL = 64 };

/** Copy up to WEFT_COPY_SMALL bytes: two copies of n bytes, one at each end, cover every length
 * from n to 2n. */
static inline __attribute__((always_inline)) void weft_copy_small(void *to, const void *from,
                                                                  size_t bytes)
{
    char *t = to;
    const char *f = from;
    if (bytes >= 32) {
        weft_copy_ends(t, f, 32, 16);
        weft_copy_ends(t + bytes - 32, f + bytes - 32, 32, 16);
    } else if (bytes >= 16)
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

/* Shorter copies are libc's: none uses `rep movsb` for less than twice as much. */
enum { WEFT_COPY_LONG = 512 };

enum { WEFT_COPY_PAGE = 4096, WEFT_COPY_BEHIND = 31 };

/** How far behind the source the destination lies, modulo a page, less 1: below WEFT_COPY_BEHIND if
 * the places are such that `rep movsb` may be slow. */
static inline size_t weft_copy_distance(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from - 1) % WEFT_COPY_PAGE;
}

/** Copy WEFT_COPY_LONG bytes or more; the two places do not overlap. */
typedef void (*weft_copy_fn_t)(void *to, const void *from, size_t bytes);

void weft_copy_base(void *to, const void *from, size_t bytes);
void weft_copy_avx2(void *to, const void *from, size_t bytes);
void weft_copy_avx512(void *to, const void *from, size_t bytes);

/** Copy any number of bytes, whole lines of 64 bytes by non-temporal stores: they go to memory, and
 * to no cache. What is copied is visible to others before what is stored afterwards. For
 * data that a far core reads, as it takes lines faster from memory than from another core's cache
 * (runtime/store_choice.h). NULL: the processor has no such stores. */
extern weft_copy_fn_t weft_copy_nontemporal;

void weft_copy_nontemporal_base(void *to, const void *from, size_t bytes);
void weft_copy_nontemporal_avx2(void *to, const void *from, size_t bytes);
void weft_copy_nontemporal_avx512(void *to, const void *from, size_t bytes);

/* From so many bytes on they are too many for the caches, and libc copies what goes from core to
 * core as well. */
enum { WEFT_COPY_SHARED_END = 1 << 20 };

/** By weft_simd_t; NULL: not compiled for this architecture. */
extern const weft_copy_fn_t weft_copy_loops[WEFT_SIMD_SETS];

/** The loop in use, and below which distance it is used: 0, WEFT_COPY_BEHIND or WEFT_COPY_PAGE. */
extern weft_copy_fn_t weft_copy_loop;
extern size_t weft_copy_loop_below;

/** How many sizes from WEFT_COPY_LONG on weft_copy_read() and weft_copy_write() loop over. */
extern size_t weft_copy_read_sizes, weft_copy_write_sizes;

/** Use the loop of an instruction set that is available, where weft_config.COPY says so or a trial
 * shows that libc is slow. Before, libc copies everything. */
void weft_copy_select(weft_simd_t set);

/** Copy any number of bytes; the two places do not overlap. */
static inline void weft_copy(void *to, const void *from, size_t bytes)
{
    if (bytes >= WEFT_COPY_LONG && weft_copy_distance(to, from) < weft_copy_loop_below)
        weft_copy_loop(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* By the loop if it is one of `loop_sizes` sizes from WEFT_COPY_LONG on. */
static inline void weft_copy_shared(void *to, const void *from, size_t bytes, size_t loop_sizes)
{
    if (bytes - WEFT_COPY_LONG < loop_sizes)
        weft_copy_loop(to, from, bytes);
    else
        weft_copy(to, from, bytes);
}

/** The same, of data that another core has written a short time ago. On a Zen 4, whose `rep movsb`
 * fetches such lines slowly, windows of 4 KiB go at 19 GB/s instead of 9 through a ring of 2 MiB,
 * and a bcast of 1 MiB takes 31 us instead of 35 to 60. */
static inline void weft_copy_read(void *to, const void *from, size_t bytes)
{
    weft_copy_shared(to, from, bytes, weft_copy_read_sizes);
}

/** The same, where another core will read the copy soon. On a Cascade Lake windows of 16 KiB go at
 * 15 GB/s by the loop, and at 10 by libc's `rep movsb`. */
static inline void weft_copy_write(void *to, const void *from, size_t bytes)
{
    weft_copy_shared(to, from, bytes, weft_copy_write_sizes);
}

#endif
