/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of point-to-point communication, for tools. Ranks are those in the world of their job. */
#ifndef WEFT_PT2PT_PT2PT_EVENTS_H
#define WEFT_PT2PT_PT2PT_EVENTS_H

#include "tool/event.h"

/** A message has come that no receive waits for. */
typedef struct weft_unexpected_message_event {
    int source, tag;
    unsigned long long bytes, queued; /* of its data; messages that wait now, this one among them */
} weft_unexpected_message_event_t;

/** Senders have been told to ask before they send, or that they need not ask any more. */
typedef struct weft_throttle_event {
    int is_on;
    unsigned long long bytes; /* that unexpected messages take */
} weft_throttle_event_t;

/** A process cannot be reached any more. */
typedef struct weft_peer_lost_event {
    int rank;        /* MPI_ANY_SOURCE: all of other hosts */
    int is_expected; /* it had said that it might end */
} weft_peer_lost_event_t;

extern weft_event_type_t weft_unexpected_message_event, weft_throttle_event, weft_peer_lost_event;

#endif
