/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelling of sends whose messages are out (MPI 5.0 section 3.8.4): the receiver is asked to drop
 * the message, which it does if nothing has matched it.
 *
 *   sender -- CANCEL -->    <-- CANCELLED or NOT_CANCELLED --
 *
 * An announced message is named by its request. An eager one has no name, since it has to cost
 * nothing; nor has a short one that was announced, since it becomes as an eager one when it is
 * fetched: the sender tells how many messages of the same (context, tag) it has sent to that rank
 * after it. Those that still wait there are the last ones, because messages of one sender that
 * could match the same receive are matched in order; so the receiver counts from the end.
 *
 * To know that number the sender keeps a log of what it sends in a VCI while it has eager requests
 * there that could be cancelled. A send that has fallen out of the log is not cancelled any more,
 * which is legal: it completes. Under way is one CANCEL at a time, since one that succeeds changes
 * the numbers of others. As the receiver has to answer, MPI_Wait after MPI_Cancel may wait until it
 * is in MPI.
 */
#ifndef WEFT_PT2PT_CANCEL_H
#define WEFT_PT2PT_CANCEL_H

#include "object/request.h"
#include "runtime/transport.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

/** What a send needs to be cancelled; all zeros at first. */
typedef struct weft_cancellable {
    uint64_t number;   /* of its message in the log of its VCI; 0: not there */
    int vci;           /* (runtime/vci.h) */
    bool is_counted;   /* an eager message is out, and the log has to go on; */
    bool is_announced; /* it is a short one that was announced, and FIN has not come */
    bool is_under_way; /* it waits for a CANCEL, or for its answer; then: */
    weft_request_t *request;
    weft_endpoint_t *endpoint;
    weft_link_t link; /* in the queue of CANCELs */
} weft_cancellable_t;

/** The payload of CANCEL. The header has the number of the CANCEL, and so has the answer's. */
typedef struct weft_cancel {
    uint64_t request; /* the sender's, as in RTS; 0: an eager message */
    uint32_t context;
    int32_t tag;
    uint32_t later; /* of an eager message: how many of this context and tag were sent after it */
} weft_cancel_t;

#endif
