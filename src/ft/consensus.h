/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements among the members of a communicator that live, also when some die meanwhile, and on a
 * revoked communicator.
 *
 *   member   STATE: what it brings -->   leader, the lowest member that lives
 *            <-- PROPOSE: the value      once all that live have brought something
 *            ACCEPT -->
 *            <-- DECIDE                  once all that live have accepted
 *
 * When the leader dies, the next one is told the same, with the value that a member has accepted
 * already, if any, which it then has to propose again. A value is decided only when all that live
 * have accepted it, so later leaders know it, and no two members ever decide differently, not even
 * one that dies afterwards (the argument is that of single-decree consensus by numbered leaders:
 * Chandra and Toueg, JACM 43(2), 1996). What a member must remember for others is its last
 * decision: whoever brings something to the next agreement has got that one. When a member dies,
 * each tells the leader its last decision, since the leader may not have got it.
 *
 * Agreements of a communicator come one after the other; nonblocking ones may be under way
 * together, and are then taken in their order.
 */
#ifndef WEFT_FT_CONSENSUS_H
#define WEFT_FT_CONSENSUS_H

#include "object/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What the members have come to. */
typedef struct weft_decision {
    int flag;              /* the AND of all flags that were brought */
    bool is_new;           /* a member has not acknowledged one of the failures */
    const uint8_t *failed; /* a bit for each member of weft_comm_whole(comm), by rank */
} weft_decision_t;

/** `decision` is valid during the call. May begin other agreements. */
typedef void (*weft_decided_fn_t)(const weft_decision_t *decision, void *owner);

/** Take part in the next agreement of `comm`; `on_decided` is called once, maybe before this
 *  returns, with the lock. `comm` may be freed before. Collective over its members that live.
 *  MPI_ERR_NO_MEM. */
int weft_consensus_begin(weft_comm_t *comm, int flag, weft_decided_fn_t on_decided, void *owner);

/** The bytes of a set of members of a communicator: a bit for each rank. */
static inline size_t weft_member_set_bytes(int size)
{
    return ((size_t)size + 7) / 8;
}

static inline bool weft_decision_has_failed(const weft_decision_t *decision, int rank)
{
    return (decision->failed[rank / 8] >> rank % 8 & 1) != 0;
}

/** Take a process for failed, as others have told. */
void weft_declare_failed(int process, const char *why);

void weft_consensus_close(void);

#endif
