/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process has noticed of other processes on its core, and for how many waits it believes
 * that.
 *
 *   cores are short   A yield let another process run, or the process lost the core between two
 *                     polls: waits spin briefly, whatever number of cores start-up counted.
 *   yields are dear   A yield gave a whole time slice to a process that computes: waits do not
 *                     yield, but sleep at once. The scheduler gives the core back to a sleeper as
 *                     soon as a message wakes it; a process that yields waits for milliseconds
 *                     until the other one's slice is over. When oversubscribed it takes two such
 *                     yields in a row: there yields are worth more, and during a single long one
 *                     processes of another scheduler group may have had the core. With many ranks
 *                     a core all of them may have had it, which takes long enough.
 *
 * A belief that proves true again after it has run out is held for twice as many waits, so that on
 * average the yields that find out cost little; many short yields halve that number.
 */
#ifndef WEFT_RUNTIME_CONTENTION_H
#define WEFT_RUNTIME_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_belief {
    int left; /* waits for which it is still believed; 0: it is not believed */
    int next; /* waits for which it will be believed when it is noticed the next time */
} weft_belief_t;

typedef struct weft_contention {
    weft_belief_t is_oversubscribed, yields_are_dear;
    int long_yields, short_yields; /* in a row */
    int long_yields_believed;      /* so many show that yields are dear */
    int ranks_per_core;            /* as in wefti_contention_open() */
} weft_contention_t;

/** `ranks_per_core`: as start-up counted them on this host, rounded up; 1 if cores are enough. */
void wefti_contention_open(weft_contention_t *contention, int ranks_per_core);

/** To be called when a wait begins, after each sleep in it but the first (a wait for a collective
 * of many steps is as many waits), and when a loop of tests has come to a yield. */
static inline void wefti_contention_count(weft_contention_t *contention)
{
    if (__builtin_expect(contention->is_oversubscribed.left > 0, 0))
        contention->is_oversubscribed.left--;
    if (__builtin_expect(contention->yields_are_dear.left > 0, 0))
        contention->yields_are_dear.left--;
}

/** Note how long a yield has taken. `threads` of this process wait awake: each rank of the core may
 * have as many, and each of them may have had its turn. */
void wefti_contention_note_yield(weft_contention_t *contention, int64_t elapsed_ns, int threads);

/** Note the time between two looks at the clock, a few polls apart. */
void wefti_contention_note_gap(weft_contention_t *contention, int64_t elapsed_ns);

static inline bool wefti_yields_are_dear(const weft_contention_t *contention)
{
    return contention->yields_are_dear.left > 0;
}

/** Are waits to spin briefly? */
static inline bool wefti_cores_are_short(const weft_contention_t *contention)
{
    return contention->is_oversubscribed.left > 0 || wefti_yields_are_dear(contention);
}

#endif
