/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket that back ends plug into: how packets reach another rank.
 *
 * A transport carries packets (an envelope of 16 bytes and a payload) between this process and its
 * peers, in order for each peer, and gives what arrives to the sink. It knows nothing of matching,
 * requests or datatypes. All functions are called with the library's lock held; none of them
 * blocks, except open and close.
 */
#ifndef WEFT_RUNTIME_TRANSPORT_H
#define WEFT_RUNTIME_TRANSPORT_H

#include "runtime/rank_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_memory; /* of runtime/device.h */

typedef struct weft_world weft_world_t;

/** What stands in front of each payload. Of the layer above's members the transport reads `bytes` alone. */
typedef struct weft_header {
    uint8_t kind;     /* a packet kind of the layer above */
    uint8_t lead;     /* of the transport, on its way: bytes between this and the payload */
    uint32_t bytes;   /* of the payload, below 16 MiB */
    uint32_t context; /* of the communicator, or the low half of a request's number */
    int32_t tag;      /* of the message, or the high half */
} weft_header_t;

static inline weft_header_t weft_header(uint8_t kind, uint32_t bytes, uint32_t context, int32_t tag)
{
    return (weft_header_t){.kind = kind, .bytes = bytes, .context = context, .tag = tag};
}

/** A header that carries a number of 64 bits (of a request, say) where others have context and tag. */
static inline weft_header_t weft_header_for(uint8_t kind, uint64_t number, size_t bytes)
{
    return (weft_header_t){.kind = kind,
                           .bytes = (uint32_t)bytes,
                           .context = (uint32_t)number,
                           .tag = (int32_t)(uint32_t)(number >> 32)};
}

static inline uint64_t weft_header_number(const weft_header_t *header)
{
    return header->context | (uint64_t)(uint32_t)header->tag << 32;
}

typedef struct weft_transport_ops weft_transport_ops_t;
typedef struct weft_endpoint weft_endpoint_t;

enum { WEFT_RAILS_MAX = 4 }; /* network interfaces that one transfer may use */

/** Memory of one process as a peer names it to read it. */
typedef struct weft_window {
    uint64_t address;
    uint64_t keys[WEFT_RAILS_MAX];
} weft_window_t;

/** Memory that peers may read; the owner keeps it until they have. */
typedef struct weft_exposure weft_exposure_t;
struct weft_exposure {
    weft_window_t window;
    /** Called in a round of progress when a fetch that `ends` the window has got its bytes from us: the memory is
     *  not needed any more. Set by the layer above after `expose`, where the endpoint tells_owner. */
    void (*taken)(weft_exposure_t *exposure);
    void *owner;        /* of the layer above */
    void *registration; /* of the transport */
};

/** A copy out of a peer's window, on its way. Filled in by the layer above, up to `owner`. */
typedef struct weft_fetch weft_fetch_t;
struct weft_fetch {
    weft_endpoint_t *endpoint;
    weft_window_t window;
    char *to;
    size_t bytes;
    const struct weft_memory *memory; /* that `to` is in, of a device; NULL: the host's */
    /** Called when all of it is here, or (false) when it failed and `to` has undefined contents. */
    void (*done)(weft_fetch_t *fetch, bool is_good);
    void *owner;
    bool ends; /* nothing else will be read, and no word of ours will say so: only where the endpoint tells_owner */
    /* of the transport */
    void *registration;
    size_t begun;    /* bytes asked for */
    int outstanding; /* parts asked for that have not come */
    bool has_failed;
    weft_fetch_t *next;
};

/** One peer as a transport sees it; the transport's own structure begins with it. */
struct weft_endpoint {
    const weft_transport_ops_t *ops;
    size_t packet_max; /* largest payload of a packet; fixed after open */
    size_t eager_max;  /* largest message worth sending unasked; at most packet_max */
    bool can_read;     /* `read` works; the transport clears it when it turns out not to */
    bool tells_owner;  /* of a window, that the fetch which ends it is over (weft_exposure_t.taken) */
    bool is_on_host;   /* the peer is on this host, and may map device memory of this process */
    bool cannot_map;   /* of the layer above: it has said that it cannot */
    bool has_shares;   /* of the layer above: it may have mapped some */
    bool is_throttled; /* the peer has no room for unexpected data: ask before sending any */
    bool is_lost;      /* set by the layer above once it was told that the peer is lost */
    bool has_pending;   /* of the layer above: in its list of peers with `waiting` sends */
    unsigned asked;    /* of the layer above: messages announced that the peer may be reading */
    struct weft_send *waiting_first,
        **waiting_last; /* of the layer above: sends that wait for room */
};

/** Gets every packet that arrives: `payload` is valid during the call only. */
typedef void (*weft_sink_fn_t)(int source_world_rank, const weft_header_t *header,
                               const void *payload);

struct weft_transport_ops {
    const char *name;
    /** Make endpoints to the ranks that this transport reaches and that have none yet
     *  (world->endpoints), or be ready to (`reach`). Collective over all ranks.
     *  MPI_ERR_UNSUPPORTED_OPERATION: not on this machine; the next transport is tried. */
    int (*open)(weft_world_t *world, weft_sink_fn_t sink);
    /** Make the endpoint of a rank that has none, at the first message to it; may block for a
     * moment. MPI_ERR_OTHER with a text. NULL: all endpoints are made by open. */
    int (*reach)(int world_rank, weft_endpoint_t **out);
    /** Send a packet; the payload may be changed at once. False: no room, nothing was taken. */
    bool (*send)(weft_endpoint_t *endpoint, const weft_header_t *header, const void *payload);
    /** Room for a payload of `bytes` bytes, to be filled and then sent by commit, with no other
     * call to this endpoint between them. NULL: no room. */
    void *(*reserve)(weft_endpoint_t *endpoint, size_t bytes);
    void (*commit)(weft_endpoint_t *endpoint, const weft_header_t *header);
    /** Packets that may be held back for others to join them go out now: a blocking send is at its
     * end. NULL: none are. */
    void (*flush)(weft_endpoint_t *endpoint);
    /** Copy `bytes` bytes from an address of the peer. False: not possible, now and later (can_read
     *  is cleared); `to` has undefined contents. */
    bool (*read)(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes);
    /** Would a stream of packets from the peer be faster now than `read`? NULL: no. */
    bool (*prefers_stream)(const weft_endpoint_t *endpoint);
    /** Let peers read `bytes` bytes at `data` until conceal; they lie in `memory` of a device, NULL: in the
     * host's. False: not possible. NULL: this transport reads by `read`, if at all. */
    bool (*expose)(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                   const struct weft_memory *memory, weft_exposure_t *out);
    void (*conceal)(weft_endpoint_t *endpoint, weft_exposure_t *exposure);
    /** Begin to copy out of a peer's window; ends with fetch->done, in progress or at once. */
    void (*fetch)(weft_fetch_t *fetch);
    /** May expose and fetch be given this memory of a device? What has to be tried first is begun, and the
     * answer is no until that is over. NULL: never. */
    bool (*takes_device)(const struct weft_memory *memory);
    /** Tell the peer to ask before it sends unexpected data, or that it need not any more. */
    void (*throttle)(weft_endpoint_t *endpoint, bool is_on);
    /** Give to the sink what has arrived; the number of packets. `everything`: look at every peer
     *  (before sleeping), not only at the busy ones. */
    int (*progress)(bool everything);
    /** Before a sleep: a file descriptor that is readable when there is something to do, or a value
     * of runtime/fd_watch.h. NULL: peers ring the doorbell. */
    int (*wait_fd)(void);
    /** Fill in what this transport knows for the report; what costs speed as a note. */
    void (*describe)(weft_rank_report_t *report);
    /** The end is near: wait until what this process has sent is out of its hands. From now on a peer
     * that goes away is no failure. NULL: there is nothing to wait for. */
    void (*quiesce)(void);
    /** What quiesce has waited for is out of our hands, and still may not have come: the network can lose it when we
     *  close. */
    bool is_unsure;
    /** Release everything; logs what goes wrong. */
    void (*close)(void);
};

/** The calling process as its own peer: send gives to the sink at once. Reaches only world->rank.
 */
extern const weft_transport_ops_t weft_self_transport;

#endif
