/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a writer stores data into shared memory that other cores read: through the caches, or past
 * them (base/copy.h). A reader on a core that shares a cache with the writer's takes lines out of
 * that cache at 20 GB/s and more. One that shares none has to fetch each line from the cache of the
 * other core, where it was changed last, and few of these transfers are on their way at a time: on
 * a Zen 4, 2.2 GB/s from one group of cores to the next one. Lines that were stored past the caches
 * come from memory, which the processor fetches ahead: 15 to 23 GB/s there, whatever the distance.
 *
 * The distance is not known: virtual machines do not tell, and move their cores. So the writer
 * learns it. It measures one of some tens of long packets, and the reader shows what reading that
 * one took. Where both copies together are slow, the writer tries the other way for a few packets.
 * While it stores past the caches, it tries now and then whether readers would be faster with
 * cached data, which says that the cores are near; its own stores say nothing then, since the lines
 * are not in its cache yet.
 *
 * One of these belongs to one writer; no thread safety.
 */
#ifndef WEFT_RUNTIME_STORE_CHOICE_H
#define WEFT_RUNTIME_STORE_CHOICE_H

#include "base/copy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_store {
    WEFT_STORE_CACHED,
    WEFT_STORE_NONTEMPORAL,
    WEFT_STORES,
} weft_store_t;

/** Bytes of a packet for which the choice is worth it. */
enum { WEFT_STORE_LONG = 2048 };

typedef struct weft_store_cost {
    float write, read; /* ns per KiB; readers may have more than one core */
} weft_store_cost_t;

typedef struct weft_store_choice {
    weft_store_t way;
    bool is_fixed;  /* by the user, or there is one way only */
    bool is_try;    /* of the other way; `way` is that one */
    unsigned left;  /* long packets up to the next that is measured, it included */
    unsigned apart; /* so many are between two samples */
    uint32_t packets, next_try, gap;
    int samples;             /* of this round or try; */
    weft_store_cost_t least; /* the fastest of them */
    weft_store_cost_t known; /* of the other way, at its last round; during a try */
} weft_store_choice_t;

/** The way that weft_config.STORES names, or cached, to be learnt: at first, and again when the
 * memory is another one. */
void weft_store_open(weft_store_choice_t *choice);

/** Is this long packet to be measured, or is what the last one took to be looked at? */
static inline bool weft_store_is_sample(weft_store_choice_t *choice)
{
    return __builtin_expect(--choice->left == 0, 0);
}

/** Are samples to be close together, since little is known, or since a try costs time? */
bool weft_store_is_keen(const weft_store_choice_t *choice);

/** The packet that was measured cost so much; this may change the way. */
void weft_store_note(weft_store_choice_t *choice, weft_store_cost_t cost);

/** What is measured now is unlike what was: the samples of this round count no more, and a try is
 * in vain. */
void weft_store_restart(weft_store_choice_t *choice);

/** Copy any number of bytes so. */
static inline void weft_store_copy(weft_store_t way, void *to, const void *from, size_t bytes)
{
    if (way == WEFT_STORE_NONTEMPORAL)
        weft_copy_nontemporal(to, from, bytes);
    else
        weft_copy(to, from, bytes);
}

/** ns for `bytes` bytes as ns per KiB. */
static inline float weft_store_per_kib(int64_t ns, size_t bytes)
{
    return (float)ns * 1024 / (float)bytes;
}

#endif
