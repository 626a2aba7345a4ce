/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between two ranks.
 *
 *   eager            sender -- EAGER (data) -->
 *   direct copy      sender -- ASK --> receiver copies from the sender's memory -- DONE -->
 *   over a network   sender -- OFFER --> receiver reads the sender's window -- DONE -->   (or the transport tells)
 *   through packets  sender -- ASK -->      <-- GO --      -- DATA, DATA, ... -->    (<-- GO -- ...)
 *   device memory    sender -- SHARE --> receiver maps it and copies -- DONE -->
 *   no data to send  sender -- SORRY -->
 *
 * ASK carries the data as well when it is short (synchronous sends); OFFER is an ASK with a window,
 * SHARE one with a description of device memory. Who cannot use these answers GO. A GO says how much
 * may be sent; more of them may follow. EAGER, ASK, OFFER, SHARE and SORRY are matched by (context,
 * source, tag); GO, DONE and REFUSED name the sender's request, DATA and BROKEN the receiver's, by a
 * number that takes the place of context and tag in the header. SORRY, REFUSED and BROKEN carry the
 * error that takes the place of the data.
 */
#ifndef WEFT_PT2PT_PACKET_H
#define WEFT_PT2PT_PACKET_H

#include "runtime/device.h"
#include "runtime/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_PACKET_EAGER = 1,
    WEFT_PACKET_RTS,
    WEFT_PACKET_CTS,
    WEFT_PACKET_DATA,
    WEFT_PACKET_FIN,
    WEFT_PACKET_RTS_RKEY,
    WEFT_PACKET_RTS_SHARE,
    WEFT_PACKET_RTS_SHARE_SYNC, /* not to be fetched before it is received: a synchronous send */
    WEFT_PACKET_ERROR,
    WEFT_PACKET_NACK,
    WEFT_PACKET_DATA_ERROR,
    WEFT_PACKET_SHARE_FREED, /* an allocation that was shared, by its id */
    WEFT_PACKET_LANDED, /* never on the wire: an EAGER whose data went straight into the receiver's buffer */
    /* Most data that an ASK carries along. */
    WEFT_RTS_INLINE = 1024,
};

typedef struct weft_rts {
    uint64_t bytes;   /* of the whole message */
    uint64_t address; /* of the data in the sender's memory; 0: not in one run, it has to send it */
    uint64_t request; /* the sender's */
    /* An ASK ends here; the data follow, all of it or none. */
    weft_window_t window; /* of an OFFER, which ends after it */
    /* not on the wire */
    uint8_t kind;      /* of the packet */
    const void *extra; /* a weft_share_t or weft_packet_error_t that came with it; NULL: none */
} weft_rts_t;

/** An error in place of data. */
typedef struct weft_packet_error {
    int32_t error_class;
    char text[236];
} weft_packet_error_t;

enum {
    WEFT_RTS_BYTES = offsetof(weft_rts_t, window),
    WEFT_RTS_RKEY_BYTES = WEFT_RTS_BYTES + sizeof(weft_window_t),
    WEFT_RTS_SHARE_BYTES = WEFT_RTS_BYTES + sizeof(weft_share_t),
};

typedef struct weft_cts {
    uint64_t request; /* the receiver's */
    uint64_t limit;   /* bytes of the message that may be sent so far */
    uint64_t cannot_map; /* 1: it was a SHARE, which this receiver will never be able to use */
} weft_cts_t;

#endif
