/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket that back ends plug into: how packets reach another rank.
 *
 * A transport carries packets (an envelope of 16 bytes and a payload) between this process and its
 * peers, in order for each peer, and gives what arrives to the sink. It knows nothing of matching,
 * requests or datatypes. All functions are called with the library's lock held; none of them
 * blocks, except open and close.
 */
#ifndef WEFT_CORE_TRANSPORT_H
#define WEFT_CORE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_world weft_world_t;

/** What stands in front of each payload. The transport reads `bytes` alone. */
typedef struct weft_header {
    uint8_t kind;     /* a packet kind of the layer above */
    uint32_t bytes;   /* of the payload, below 16 MiB */
    uint32_t context; /* of the communicator, or the low half of a request's number */
    int32_t tag;      /* of the message, or the high half */
} weft_header_t;

typedef struct weft_transport_ops weft_transport_ops_t;

/** One peer as a transport sees it; the transport's own structure begins with it. */
typedef struct weft_endpoint {
    const weft_transport_ops_t *ops;
    size_t packet_max; /* largest payload of a packet; fixed after open */
    size_t eager_max;  /* largest message worth sending unasked; at most packet_max */
    bool can_read;     /* `read` works; the transport clears it when it turns out not to */
    bool is_throttled; /* the peer has no room for unexpected data: ask before sending any */
    unsigned asked;    /* of the layer above: messages announced that the peer may be reading */
    struct weft_send *waiting_first,
        **waiting_last; /* of the layer above: sends that wait for room */
} weft_endpoint_t;

/** Gets every packet that arrives: `payload` is valid during the call only. */
typedef void (*weft_sink_fn_t)(int source_world_rank, const weft_header_t *header,
                               const void *payload);

struct weft_transport_ops {
    const char *name;
    /** Make endpoints to the ranks that this transport reaches and that have none yet
     *  (world->endpoints). Collective over all ranks. MPI_ERR_UNSUPPORTED_OPERATION: not on this
     *  machine; the next transport is tried. */
    int (*open)(weft_world_t *world, weft_sink_fn_t sink);
    /** Send a packet; the payload may be changed at once. False: no room, nothing was taken. */
    bool (*send)(weft_endpoint_t *endpoint, const weft_header_t *header, const void *payload);
    /** Room for a payload of `bytes` bytes, to be filled and then sent by commit, with no other
     * call to this endpoint between them. NULL: no room. */
    void *(*reserve)(weft_endpoint_t *endpoint, size_t bytes);
    void (*commit)(weft_endpoint_t *endpoint, const weft_header_t *header);
    /** Copy `bytes` bytes from an address of the peer. False: not possible, now and later (can_read
     *  is cleared); `to` has undefined contents. */
    bool (*read)(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes);
    /** Tell the peer to ask before it sends unexpected data, or that it need not any more. */
    void (*throttle)(weft_endpoint_t *endpoint, bool is_on);
    /** Give to the sink what has arrived; the number of packets. `everything`: look at every peer
     *  (before sleeping), not only at the busy ones. */
    int (*progress)(bool everything);
    /** Release everything; logs what goes wrong. */
    void (*close)(void);
};

/** The calling process as its own peer: send gives to the sink at once. Reaches only world->rank.
 */
extern const weft_transport_ops_t weft_self_transport;

#endif
