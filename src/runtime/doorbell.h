/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A doorbell is a word in memory that peers can reach. Its owner sets it before it goes to sleep
 * and looks once more for packets; a sender that has published a packet looks at the doorbell and
 * wakes the owner. Both sides store first and load second, so at least one side needs a full fence
 * between the two. By default the sleeper pays for it (an asymmetric fence, some microseconds
 * before each sleep). When cores are short, sleeps are frequent, and the senders fence instead.
 */
#ifndef WEFT_RUNTIME_DOORBELL_H
#define WEFT_RUNTIME_DOORBELL_H

#include "base/own_symbol.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct weft_doorbell {
    /* Not 0 if the owner sleeps, or is about to: in the lowest WEFT_VCIS bits those VCIs
     * (runtime/vci.h) whose unanswered packets (header.h) may be for a thread that sleeps, VCI 0
     * always among them; above them 1 + its world rank if it sleeps in runtime/fd_watch.h, or a
     * number if on this word, which the highest bit tells. */
    _Alignas(64) atomic_uint is_sleeping;
    /* The owner waits in MPI, and so makes progress. In a cache line of its own, since all senders
     * read the one above. */
    _Alignas(64) atomic_bool is_waiting;
} weft_doorbell_t;

/* ---- for those who ring ---- */

/** Not 0: senders have to fence (cores are short, or the kernel has no asymmetric fence). A word of
 * the host, since a rank may find out later that its asymmetric fences are refused. */
extern WEFT_OWN_SYMBOL atomic_uint *weft_senders_fence;

void weft_doorbell_wake(weft_doorbell_t *doorbell) __attribute__((cold));

/** Between publishing something and weft_doorbell_touch(), once for any number of doorbells. */
static inline void weft_doorbells_fence(void)
{
    if (atomic_load_explicit(weft_senders_fence, memory_order_relaxed) != 0)
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

/** Wake the owner of `doorbell` if it sleeps. */
static inline void weft_doorbell_touch(weft_doorbell_t *doorbell)
{
    if (__builtin_expect(atomic_load_explicit(&doorbell->is_sleeping, memory_order_relaxed) != 0,
                         0))
        weft_doorbell_wake(doorbell);
}

/** The same after something was published for the owner. */
static inline void weft_doorbell_ring(weft_doorbell_t *doorbell)
{
    weft_doorbells_fence();
    weft_doorbell_touch(doorbell);
}

/* ---- for the owner; with the lock ---- */

/** Who fences? All ranks of a host come to the same answer by `do_senders_fence`, unless one of
 * them has changed it already. */
void wefti_doorbells_open(bool do_senders_fence);

/** Sets the doorbell for a sleep on its word, or in runtime/fd_watch.h, to be rung for packets of
 * `vcis`, a bit each. Returns what it is set to: another value for each sleep on the word. */
unsigned wefti_doorbell_set(weft_doorbell_t *doorbell, bool in_poll, unsigned vcis);

/** Between setting a doorbell and looking for packets. False: the kernel has refused its fence just
 * now, so packets that were published just before may not be seen, nor ring: the sleep must be
 * short. From then on the senders fence. */
bool wefti_doorbell_fence(void);

#endif
