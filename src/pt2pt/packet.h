/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between two ranks.
 *
 *   eager            sender -- EAGER (data) -->
 *   eager, split     sender -- EAGER_FIRST, EAGER_NEXT, ... -->
 *   short, announced sender -- RTS_SHORT -->  receiver copies out of the sender's memory -- FIN -->
 *   direct copy      sender -- RTS -->        receiver copies out of the sender's memory -- FIN -->
 *   over a network   sender -- RTS_RKEY -->   receiver gets by remote key                -- FIN -->
 *   through packets  sender -- RTS -->        <-- CTS --  -- DATA, DATA, ... -->  (<-- CTS -- ...)
 *   device memory    sender -- RTS_SHARE -->  receiver maps the memory, copies out of it -- FIN -->
 *   by the shelf     sender -- RTS, RTS_SHARE -->  <-- CTS --  -- PLACED -->  <-- TAKEN --  ...
 *   error            sender -- ERROR -->      or: sender -- RTS -->  <-- NACK --
 *
 * Every kind of RTS asks to send one message. The plain one carries the data along when they are
 * short (synchronous sends). A receiver that cannot use the remote key or the share answers with
 * CTS, which says how much of the message may be sent as DATA; more CTS may follow. Where the
 * transport tells the owner of a remote key that its data were read, there is no FIN.
 *
 * A receiver on the same host may offer to read the sender's shelf (runtime/shelf.h). A sender
 * whose data are on a device then puts pieces there: PLACED says where the next one lies, and
 * TAKEN that it was read. NO_SHELF says that the sender has no room there, or no use for it: then
 * there are CTS and DATA.
 *
 * EAGER, EAGER_FIRST, every RTS and ERROR are matched by (context, source, tag). EAGER_NEXT belongs
 * to the last EAGER_FIRST of its sender. CTS, FIN and NACK name the sender's request, DATA, PLACED,
 * NO_SHELF and DATA_ERROR the receiver's, TAKEN the ticket of a piece, by a number that takes the
 * place of context and tag in the header.
 * ERROR, NACK and DATA_ERROR carry a weft_packet_error_t in place of data.
 *
 * packet.c has the table of the kinds, with the payload that each must have and the function that
 * takes it.
 */
#ifndef WEFT_PT2PT_PACKET_H
#define WEFT_PT2PT_PACKET_H

#include "runtime/device.h"
#include "runtime/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_PACKET_EAGER = WEFT_UNANSWERED,
    WEFT_PACKET_EAGER_FIRST, /* data, then a weft_split_end_t */
    WEFT_PACKET_EAGER_NEXT,
    WEFT_PACKET_RTS,
    WEFT_PACKET_CTS,
    WEFT_PACKET_DATA,
    WEFT_PACKET_FIN,
    WEFT_PACKET_RTS_RKEY,
    /* of a message that may go unasked: it is copied also where no receive waits for it */
    WEFT_PACKET_RTS_SHORT,
    WEFT_PACKET_RTS_SHARE,
    /* of a synchronous send: not to be copied before a receive has matched it */
    WEFT_PACKET_RTS_SHARE_SYNC,
    WEFT_PACKET_ERROR,      /* the sender cannot give the data of a message */
    WEFT_PACKET_NACK,       /* the receiver cannot take the data of a message */
    WEFT_PACKET_DATA_ERROR, /* the sender cannot go on with DATA */
    /* the sender has freed an allocation that it shared; names it by its id */
    WEFT_PACKET_SHARE_FREED,
    /* never sent: an EAGER whose data the transport wrote into the receiver's buffer */
    WEFT_PACKET_LANDED,
    /* for MPI_Finalize: has the receiver of this called it? and: the sender of this has */
    WEFT_PACKET_ASK_LEAVING,
    WEFT_PACKET_LEAVING,
    /* of MPI_Cancel (cancel.h): drop a message if no receive has it; and: it was dropped, or not */
    WEFT_PACKET_CANCEL,
    WEFT_PACKET_CANCELLED,
    WEFT_PACKET_NOT_CANCELLED,
    WEFT_PACKET_OFFER, /* a partitioned send: a weft_offer_t (partitioned.h) */
    WEFT_PACKET_NOTE,  /* between the layers of src/ft */
    WEFT_PACKET_PLACED,
    WEFT_PACKET_TAKEN,
    WEFT_PACKET_NO_SHELF,
    WEFT_PACKET_KINDS,
    /* Bytes of data that an RTS carries along at most. */
    WEFT_RTS_INLINE = 1024,
    /* Bytes of a split message at most, whatever the sender is configured to. */
    WEFT_SPLIT_MOST = 1 << 20,
};

typedef struct weft_rts {
    uint64_t bytes;   /* of the whole message */
    uint64_t address; /* of the data in the sender's memory; 0: not in one run, so not to be read */
    uint64_t request; /* the sender's */
    /* A plain RTS ends here; all of the data follow it, or none. */
    weft_rkey_t rkey; /* of an RTS_RKEY, which ends here */
    /* not on the wire */
    int64_t sent_ns;   /* of an RTS_SHORT, where it follows the first three */
    uint8_t kind;      /* of the packet */
    const void *extra; /* a weft_share_t or weft_packet_error_t that came with it; NULL: none */
} weft_rts_t;

/** The payload of ERROR, NACK and DATA_ERROR. */
typedef struct weft_packet_error {
    int32_t error_class;
    char text[236];
} weft_packet_error_t;

enum {
    WEFT_RTS_BYTES = offsetof(weft_rts_t, rkey),
    WEFT_RTS_SHORT_BYTES = WEFT_RTS_BYTES + sizeof(int64_t),
    WEFT_RTS_RKEY_BYTES = WEFT_RTS_BYTES + sizeof(weft_rkey_t),
    WEFT_RTS_SHARE_BYTES = WEFT_RTS_BYTES + sizeof(weft_share_t),
};

/** Behind the data of an EAGER_FIRST. */
typedef struct weft_split_end {
    uint64_t total;  /* bytes of the whole message */
    int64_t sent_ns; /* when its sender began, by the clock of base/clock.h; 0: nobody asks */
} weft_split_end_t;

/** The payload of a FIN that answers an RTS_SHORT. */
typedef struct weft_fin {
    int64_t began_ns; /* when the receiver began to copy, by the clock of base/clock.h */
} weft_fin_t;

typedef struct weft_cts {
    uint64_t request; /* the receiver's */
    uint64_t limit;   /* bytes of the message that may be sent so far */
    /* 1: answers an RTS_SHARE, and this receiver can never map what the sender shares */
    uint32_t cannot_map;
    /* 1: the data may come by the sender's shelf. If they do not, and `limit` is 0, the sender
     * answers NO_SHELF */
    uint32_t reads_shelf;
} weft_cts_t;

/** The next piece of a message lies on the sender's shelf. */
typedef struct weft_placed {
    uint64_t ticket; /* of device_shelf.c: says where */
    uint64_t bytes;
} weft_placed_t;

/** How a partitioned send is announced. */
typedef struct weft_offer {
    uint32_t context; /* of the communicator: it and the tag are matched */
    int32_t tag;
    uint32_t channel; /* of the messages */
    int32_t partitions;
    uint64_t bytes; /* of each */
} weft_offer_t;

#endif
