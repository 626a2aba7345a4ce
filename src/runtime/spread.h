/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that outnumber the cores of their host. They run where they were when they started, perhaps
 * three on one core and one on another, and as none of them ever leaves a core idle, waiting as
 * they do by yielding, the kernel may need tens of milliseconds to mend that; meanwhile four ranks
 * on two cores take 3.5 us for a barrier instead of 1.8. So each rank shows now and then on which
 * core it runs, and one that sees a core with at least two ranks fewer moves there. It stays free
 * to run anywhere: its mask is as before. Where other processes compute as well, the kernel knows
 * better, since a core with few ranks may be theirs.
 */
#ifndef WEFT_RUNTIME_SPREAD_H
#define WEFT_RUNTIME_SPREAD_H

#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Set by the transport within the host. ranks 0: there is none. */
typedef struct weft_spread_place {
    int ranks, rank; /* of the host; this one */
    /** Where a rank runs: 1 + the number of the processor; below 0 if it sleeps; 0: not known,
     * or it has ended. */
    atomic_int *(*processor)(int local_rank);
    atomic_ullong *moved_ns; /* when the last one has moved, by weft_clock_ns() */
} weft_spread_place_t;

extern weft_spread_place_t weft_spread_place;

/** Show where this rank runs, and move if that is much better. To be called by a rank that waits,
 * every few microseconds. */
void weft_spread_look(int64_t now_ns);

/** This rank is going to sleep, or has woken. */
void weft_spread_sleeps(bool does);

/** This rank runs no more: the core that it showed last is free for others. */
void weft_spread_leave(void);

/** A yield of this rank took as long as if processes of others computed here: if there are some,
 * none moves for a while. (Ranks that start compute for as long themselves.) */
void weft_spread_hold(int64_t now_ns);

/** The processor of `allowed` to which the rank on processor `own` should move, if `processors`
 * ([ranks], -1: not known) are where all run; -1: it should stay. O(ranks * allowed processors). */
int weft_spread_target(const weft_cpus_t *allowed, const int *processors, int ranks, int own);

/** The same by what ranks show ([ranks], at most 256). A sleeper counts where it slept, as it will
 * wake there or near; but it needs no core until then, so where all are spread evenly, this rank
 * still moves from a core that it shares to one where nobody is awake. */
int weft_spread_choice(const weft_cpus_t *allowed, const int *shown, int ranks, int own);

#endif
