/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual communication interfaces (VCIs): what threads of a program can use side by side (Zambre,
 * Chandramowlishwaran and Balaji, "How I Learned to Stop Worrying about User-Visible Endpoints and
 * Love MPI", ICS 2020). A VCI has a lock, matching queues (src/pt2pt), and slots and rings to each
 * rank of the host (src/shm). A communicator whose members are all on this host belongs to one VCI
 * with its messages; the members know which by its context. All other messages, collectives, and
 * all else that MPI does belong to VCI 0, whose lock is the library's (lock.h).
 *
 *   with the library's lock  a thread may do anything; it enters a VCI for what belongs to it
 *   with a VCI's lock alone  it sends and receives short messages there (pt2pt/vci_dense.h), and
 *                            waits for no other lock
 *
 * So locks are taken in one order, and a thread that has a VCI's alone never has it for long.
 */
#ifndef WEFT_RUNTIME_VCI_H
#define WEFT_RUNTIME_VCI_H

#include "runtime/world.h"
#include "base/own_symbol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_VCIS = 8,       /* of a process, the first one among them */
    WEFT_VCI_SHIFT = 29, /* of its number in a context, in the highest bits */
};

/** A bit each. */
static const unsigned WEFT_ALL_VCIS = (1u << WEFT_VCIS) - 1;

static const uint32_t WEFT_VCI_MASK = (uint32_t)(WEFT_VCIS - 1) << WEFT_VCI_SHIFT;

/** Has a communicator got another VCI than VCI 0? Otherwise nobody needs to look for one. */
extern WEFT_OWN_SYMBOL atomic_bool weft_vcis_used;

static inline bool weft_vcis_are_used(void)
{
    return atomic_load_explicit(&weft_vcis_used, memory_order_relaxed);
}

/** The VCI of messages with this context. Those of collectives, which are odd, are in VCI 0. */
static inline int weft_vci_of(uint32_t context)
{
    return (context & 1) != 0 ? 0 : (int)(context >> WEFT_VCI_SHIFT);
}

/** Take and give the lock of a VCI, not of VCI 0; not twice by one thread. */
void weft_vci_take(int vci);
void weft_vci_give(int vci);
/** Take it if no other thread has it or takes it all the time. */
bool weft_vci_try(int vci);

/** The VCIs that this thread has entered, a bit each. */
extern WEFT_OWN_SYMBOL _Thread_local unsigned weft_vcis_held;

/** With the library's lock: nobody else is in the VCI until weft_vci_leave(). False: there is
 *  nothing to leave, as it is VCI 0, or the caller has entered it already. */
static inline bool weft_vci_enter(int vci)
{
    if (__builtin_expect(vci == 0, 1) || (weft_vcis_held >> vci & 1) != 0)
        return false;
    weft_vci_take(vci);
    weft_vcis_held |= 1u << vci;
    return true;
}

/** The same unless another thread is in it, or uses it all the time: then it is not entered. */
static inline bool weft_vci_enter_free(int vci)
{
    if (!weft_vci_try(vci))
        return false;
    weft_vcis_held |= 1u << vci;
    return true;
}

/** `has_entered`: what one of the two returned. */
static inline void weft_vci_leave(int vci, bool has_entered)
{
    if (__builtin_expect(!has_entered, 1))
        return;
    weft_vcis_held &= ~(1u << vci);
    weft_vci_give(vci);
}

#endif
