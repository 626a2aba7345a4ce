/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process has noticed of others on its core, and for how many waits it believes that.
 *
 *   cores are short   a yield let another process run, or the core was gone between two polls:
 * waits spin briefly, whatever start-up counted yields are dear   a yield gave a whole slice of the
 * processor away, to a process that computes: waits do not yield, but sleep at once. The scheduler
 * owes the core to a sleeper, and gives it back when a message wakes it; a process that yields
 *                     waits behind the other one, for milliseconds. Where ranks outnumber the cores
 *                     it takes two such yields in a row: there yields are worth more, and a long
 * one may be one during which processes of another group had the core.
 *
 * A belief that shows to be true again after it has run out is held for twice as many waits, so
 * that the yields that find out cost little in the mean; many short yields make it half as many.
 */
#ifndef WEFT_RUNTIME_CONTENTION_H
#define WEFT_RUNTIME_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_belief {
    int left; /* waits for which it holds yet; 0: it is not believed */
    int next; /* for how many it is believed when it shows */
} weft_belief_t;

typedef struct weft_contention {
    weft_belief_t is_oversubscribed, yields_are_dear;
    int long_yields, short_yields; /* in a row */
    int long_yields_believed;      /* so many show that yields are dear */
} weft_contention_t;

/** `ranks_exceed_cores`: as start-up counted them on this host. */
void wefti_contention_open(weft_contention_t *contention, bool ranks_exceed_cores);

/** A wait begins, or a loop of tests has come to a yield. */
static inline void wefti_contention_count(weft_contention_t *contention)
{
    if (__builtin_expect(contention->is_oversubscribed.left > 0, 0))
        contention->is_oversubscribed.left--;
    if (__builtin_expect(contention->yields_are_dear.left > 0, 0))
        contention->yields_are_dear.left--;
}

/** A yield has taken so long. */
void wefti_contention_note_yield(weft_contention_t *contention, int64_t elapsed_ns);

/** So long was between two looks at the clock, a few polls apart. */
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
