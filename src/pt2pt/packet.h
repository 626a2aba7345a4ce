/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between two ranks.
 *
 *   eager            sender -- EAGER (data) -->
 *   direct copy      sender -- ASK --> receiver copies from the sender's memory -- DONE -->
 *   over a network   sender -- OFFER --> receiver reads the sender's window -- DONE -->
 *   through packets  sender -- ASK -->      <-- GO --      -- DATA, DATA, ... -->
 *
 * ASK carries the data as well when it is short (synchronous sends); OFFER is an ASK with a window.
 * EAGER, ASK and OFFER are matched by (context, source, tag); GO and DONE name the sender's request, DATA the receiver's, by
 * a number that takes the place of context and tag in the header.
 */
#ifndef WEFT_PT2PT_PACKET_H
#define WEFT_PT2PT_PACKET_H

#include "core/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_PACKET_EAGER = 1,
    WEFT_PACKET_ASK,
    WEFT_PACKET_GO,
    WEFT_PACKET_DATA,
    WEFT_PACKET_DONE,
    WEFT_PACKET_OFFER,
    /* Most data that an ASK carries along. */
    WEFT_ASK_INLINE = 1024,
};

typedef struct weft_ask {
    uint64_t bytes;   /* of the whole message */
    uint64_t address; /* of the data in the sender's memory; 0: not in one run, it has to send it */
    uint64_t request; /* the sender's */
    /* An ASK ends here; the data follow, all of it or none. */
    weft_window_t window; /* of an OFFER, which ends after it */
    /* not on the wire */
    bool has_window;
} weft_ask_t;

enum {
    WEFT_ASK_BYTES = offsetof(weft_ask_t, window),
    WEFT_OFFER_BYTES = WEFT_ASK_BYTES + sizeof(weft_window_t),
};

typedef struct weft_go {
    uint64_t request; /* the receiver's */
} weft_go_t;

#endif
