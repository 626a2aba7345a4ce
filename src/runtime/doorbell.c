/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/doorbell.h"

#include "runtime/fd_watch.h"
#include "runtime/vci.h"
#include "runtime/world.h"
#include "base/futex.h"
#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* What the doorbell is set to, from the lowest bit: VCIs, number or 1 + rank, is it on the word? */
enum { NUMBER_SHIFT = WEFT_VCIS, SLEEPS_IN_POLL = 1 };

static const unsigned SLEEPS_ON_WORD = 1u << 31;
_Static_assert(WEFT_VCIS <= 8, "23 bits are left for a rank");

static atomic_uint own_senders_fence = 1;
atomic_uint *weft_senders_fence = &own_senders_fence;

/* ---- who rings ---- */

void weft_doorbell_wake(weft_doorbell_t *doorbell)
{
    unsigned set_to = atomic_exchange(&doorbell->is_sleeping, 0);
    if ((set_to & SLEEPS_ON_WORD) != 0)
        weft_futex_wake(&doorbell->is_sleeping);
    else if (set_to != 0)
        weft_fd_watch_ring((int)(set_to >> NUMBER_SHIFT) - SLEEPS_IN_POLL);
}

/* ---- the owner ---- */

void wefti_doorbells_open(bool do_senders_fence)
{
    weft_senders_fence = &own_senders_fence;
    atomic_store(weft_senders_fence, do_senders_fence);
    if (weft_world.senders_fence == NULL)
        return;
    weft_senders_fence = weft_world.senders_fence;
    if (do_senders_fence)
        atomic_store(weft_senders_fence, 1);
}

/* If the doorbell is rung before a thread sleeps on the word, and another thread sets it again, the
 * first must not take the other's number for its own, and sleep on. */
unsigned wefti_doorbell_set(weft_doorbell_t *doorbell, bool in_poll, unsigned vcis)
{
    static unsigned last;
    unsigned number = in_poll ? SLEEPS_IN_POLL + (unsigned)weft_world.rank : ++last;
    unsigned set_to = number << NUMBER_SHIFT | vcis;
    set_to = in_poll ? set_to & ~SLEEPS_ON_WORD : set_to | SLEEPS_ON_WORD;
    atomic_store(&doorbell->is_sleeping, set_to);
    return set_to;
}

bool wefti_doorbell_fence(void)
{
    if (atomic_load_explicit(weft_senders_fence, memory_order_relaxed) != 0) {
        atomic_thread_fence(memory_order_seq_cst);
        return true;
    }
    if (weft_asymmetric_fence())
        return true;
    WEFT_LOG(WEFT_INFO, "progress", "the kernel refuses an asymmetric fence: %s", strerror(errno));
    atomic_store(weft_senders_fence, 1);
    return false;
}
