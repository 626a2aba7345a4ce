/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a back end that carries packets between ranks implements, in three tables:
 *
 *   weft_transport_ops_t  the life of a transport: it is opened, makes endpoints, is closed
 *   weft_link_ops_t       packets to one peer: an envelope of 16 bytes and a payload, in order
 *   weft_remote_ops_t     memory of one peer: registered by its owner, read by others
 *
 * A transport gives what arrives to the sink. It knows nothing of matching, requests or datatypes.
 *
 * No entry of a table is NULL: an entry that a transport has no use for is one of the functions
 * weft_no_... below, and a transport that cannot read remote memory has weft_no_remote. All entries
 * are called with the library's lock held, and keep it. An entry blocks only if its comment says
 * so; an entry of a link or of remote memory never does. From within the sink, and the functions
 * that a transport calls back, the entries of a link and of remote memory may be called, and
 * `reach`.
 */
#ifndef WEFT_RUNTIME_TRANSPORT_H
#define WEFT_RUNTIME_TRANSPORT_H

#include "runtime/header.h"
#include "runtime/rank_report.h"
#include "runtime/slots.h"
#include "runtime/traffic.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_memory; /* of runtime/device.h */

typedef struct weft_world weft_world_t;

typedef struct weft_endpoint weft_endpoint_t;
typedef struct weft_link_ops weft_link_ops_t;
typedef struct weft_remote_ops weft_remote_ops_t;
typedef struct weft_transport_ops weft_transport_ops_t;

enum {
    WEFT_RAILS_MAX = 4, /* network interfaces that one transfer may use */
    WEFT_UPPER_BYTES = 64,
};

/** How far a process has come in MPI_Finalize, or in MPI_Session_finalize of its last session. */
typedef enum weft_leaving {
    WEFT_STAYS,
    WEFT_LEAVES, /* it begins no more receives, and all that it has to send is out or announced */
    WEFT_ENDS,   /* and it does not come back: it has no sessions */
    WEFT_GONE,   /* it takes no more packets */
} weft_leaving_t;

/** A peer as a transport sees it; the transport's own structure begins with it. What the sending of
 * a small packet reads stands first. */
struct weft_endpoint {
    const weft_link_ops_t *link;
    /* Largest message that goes unasked in one packet, in any call, and without a question to
     * prefers_asking(): at most eager_max and blocking_max. */
    size_t at_once_max;
    size_t eager_max; /* largest message worth sending unasked; at most packet_max */
    /* The same of a blocking send; if it is less than eager_max, since the peer is likely to wait,
     * the message goes in several packets from there on. */
    size_t blocking_max;
    union {
        struct {
            bool is_throttled; /* the peer has no room for unexpected data: ask before sending */
            bool has_waiting;  /* set by the layer above: packets may wait there for room */
            bool holds_back;   /* packets may be held back for later ones, or for `flush` */
            bool is_lost;      /* set by the layer above, which sends nothing more to the peer */
        };
        uint32_t obstacles; /* not 0: any of them */
    };
    /** What short packets may go through without a call of the transport; zeros: nothing. */
    weft_slots_t slots;
    size_t packet_max; /* largest payload of a packet; does not change */
    size_t split_max;  /* largest message worth sending unasked in several packets; 0: none */
    bool is_on_host;   /* the peer is on this host, and may map device memory of this process */
    bool can_read;   /* `read` works; the transport clears it when it turns out that it does not */
    bool reads_best; /* if so, it is expected to be the best way of large messages */
    bool can_get;    /* `get` works; the layer above clears it when one has failed */
    /* What the layer above tells the transport. */
    bool rests;     /* the peer has said that it does not use MPI now: it may end at any time */
    unsigned asked; /* messages announced to the peer, whose data the peer may be reading */
    /** What the layer above keeps for each peer, zeros at first; transports do not use it. */
    _Alignas(void *) unsigned char upper[WEFT_UPPER_BYTES];
    const weft_remote_ops_t *remote;
    /** Where the peer shows its weft_leaving_t; NULL: it has to be asked. */
    const atomic_uint *leaving;
    /** Of runtime/vci.h: the one that this is in; of the one in VCI 0: those in all VCIs, itself
     *  first; NULL: there are no others. */
    int vci;
    weft_endpoint_t **of_vcis;
};

static inline weft_endpoint_t *weft_endpoint_of_vci(weft_endpoint_t *endpoint, int vci)
{
    return endpoint->of_vcis == NULL ? endpoint : endpoint->of_vcis[vci];
}

/** Gets every packet that arrives: `payload` is valid during the call only. */
typedef void (*weft_sink_fn_t)(int source_process, weft_header_t header, const void *payload);

/* ---- packets to a peer ---- */

struct weft_link_ops {
    weft_traffic_t *traffic; /* of this transport; the layer above counts there */
    /** Send a packet. true: it is on its way, and `payload` is the caller's again; if the peer is
     *  lost before the packet arrives, weft_world.peer_lost() is called. false: there is no room,
     *  nothing was taken; call again after progress. */
    bool (*send)(weft_endpoint_t *endpoint, weft_header_t header, const void *payload);
    /** Room for a payload of `bytes` bytes, at most packet_max; the caller fills it, and commit
     *  sends it. It is the transport's memory, and no other call to any endpoint of the transport
     * may come between the two. NULL: no room; call again after progress. */
    void *(*reserve)(weft_endpoint_t *endpoint, size_t bytes);
    /** Copy `bytes` bytes into that room, as is best for the one who reads them there: contiguous
     *  data, as an alternative to filling it otherwise. */
    void (*store)(weft_endpoint_t *endpoint, void *room, const void *from, size_t bytes);
    /** Send what was reserved; header->bytes is what was reserved. There is always room for it; a
     *  peer that is lost is reported as with `send`. */
    void (*commit)(weft_endpoint_t *endpoint, weft_header_t header);
    /** Send packets that are held back, since the program may leave MPI for long. Called only where
     *  the endpoint holds_back. Packets for which there is no room go out in progress. */
    void (*flush)(weft_endpoint_t *endpoint);
    /** The next packet that has come from the peer, and where its payload lies; false: there is
     *  none, or it is one that only a round of progress can take. With the lock of the endpoint's
     *  VCI alone; called where that is not VCI 0. To be followed by `take` where the packet was
     *  taken: then it is gone. */
    bool (*peek)(weft_endpoint_t *endpoint, weft_header_t *header, const void **payload);
    void (*take)(weft_endpoint_t *endpoint, size_t bytes);
    /** Have the peer's is_throttled set, or cleared again; if there is no room to tell the peer,
     *  that happens later, in progress. */
    void (*throttle)(weft_endpoint_t *endpoint, bool is_on);
};

void weft_no_flush(weft_endpoint_t *endpoint);
bool weft_no_peek(weft_endpoint_t *endpoint, weft_header_t *header, const void **payload);
void weft_no_take(weft_endpoint_t *endpoint, size_t bytes);
void weft_no_throttle(weft_endpoint_t *endpoint, bool is_on);
void weft_plain_store(weft_endpoint_t *endpoint, void *room, const void *from, size_t bytes);

/** Send what is held back for this peer, if anything can be. */
static inline void weft_endpoint_flush(weft_endpoint_t *endpoint)
{
    if (__builtin_expect(endpoint->holds_back, 0))
        endpoint->link->flush(endpoint);
}

/* ---- memory of a peer ---- */

/** A remote key: memory of one process as a peer names it to read it. Plain data, for a packet. */
typedef struct weft_rkey {
    uint64_t address;
    uint64_t keys[WEFT_RAILS_MAX];
} weft_rkey_t;

/** Memory that peers may read; its owner keeps the memory until they have read it. */
typedef struct weft_registration weft_registration_t;
struct weft_registration {
    weft_rkey_t rkey;
    /** Set by the layer above after register_memory, where the transport tells_owner: called in a
     * round of progress when a get with `ends` has read all its bytes. The peer does not need the
     * memory after that. */
    void (*taken)(weft_registration_t *registration);
    void *owner;  /* of the layer above */
    void *handle; /* of the transport */
};

/** A copy out of a peer's memory, on its way. The layer above fills in the members up to `ends`. */
typedef struct weft_get weft_get_t;
struct weft_get {
    weft_endpoint_t *endpoint;
    weft_rkey_t rkey;
    char *to;
    size_t bytes;
    const struct weft_memory *memory; /* the device memory that `to` is in; NULL: the host's */
    /** Called once, when all of it is here, or (false) when it failed and `to` has undefined
     * contents. */
    void (*done)(weft_get_t *get, bool is_good);
    void *owner;
    bool ends; /* the last get of this memory, after which no packet tells the owner: only where
                  the transport tells_owner */
    /* of the transport */
    void *handle;
    size_t begun;    /* bytes asked for */
    int outstanding; /* parts asked for that have not come */
    bool has_failed;
    weft_get_t *next;
};

struct weft_remote_ops {
    /** The owner of a registration is told when a get with `ends` is over
     * (weft_registration_t.taken). */
    bool tells_owner;
    /** Copy `bytes` bytes from an address of the peer before it returns. Called where the endpoint
     * can_read. false: it is not possible, nor will it be later (can_read is cleared, the cause was
     * logged); `to` has undefined contents. */
    bool (*read)(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes);
    /** Would a stream of packets from the peer be faster at this moment than `read` of so many
     * bytes from that address? `to` is NULL if the data go to a buffer in between. After true the
     * caller asks the peer for a stream, and calls stream_over() when it has ended. */
    bool (*prefers_stream)(weft_endpoint_t *endpoint, uint64_t address, const void *to,
                           size_t bytes);
    /** A stream that was preferred has brought so many bytes; 0: it has failed. */
    void (*stream_over)(weft_endpoint_t *endpoint, size_t bytes);
    /** Would the peer rather read a message of more than at_once_max and at most split_max bytes
     *  than get it unasked? `is_blocking`: the caller cannot go on before the peer has read it. */
    bool (*prefers_asking)(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking);
    /** A caller that could not go on has waited so long until the peer began to read a message. */
    void (*note_wait)(weft_endpoint_t *endpoint, int64_t ns);
    /** Such a message has come: unasked, or after it was announced and read; sent at sent_ns by the
     *  clock of base/clock.h. */
    void (*note_short)(weft_endpoint_t *endpoint, size_t bytes, int64_t sent_ns, bool was_asked);
    /** Let the peer read `bytes` bytes at `data`, in `memory` of a device or (NULL) of the host,
     * until deregister_memory. true: *out is filled in, and the caller must not move it until
     * deregister_memory. false: not possible, the cause was logged; *out is undefined, and the
     * data go as packets. */
    bool (*register_memory)(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                            const struct weft_memory *memory, weft_registration_t *out);
    /** To be called once for each registration. A get of a peer that is not over then fails. */
    void (*deregister_memory)(weft_endpoint_t *endpoint, weft_registration_t *registration);
    /** Begin to copy out of memory that the peer has registered. Called where the endpoint can_get.
     * `get` and get->to are the transport's until it calls get->done, in progress or before this
     * returns. If the peer is lost before, get->done is not called, but weft_world.peer_lost() is,
     * after the last write to get->to. */
    void (*get)(weft_get_t *get);
    /** May register_memory and get be given this memory of a device? If that has to be tried first,
     * the trial is begun, and the answer is false until it is over. */
    bool (*takes_device)(const struct weft_memory *memory);
};

bool weft_no_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes);
bool weft_no_preference(weft_endpoint_t *endpoint, uint64_t address, const void *to, size_t bytes);
void weft_no_stream_over(weft_endpoint_t *endpoint, size_t bytes);
bool weft_no_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking);
void weft_no_note_wait(weft_endpoint_t *endpoint, int64_t ns);
void weft_no_note_short(weft_endpoint_t *endpoint, size_t bytes, int64_t sent_ns, bool was_asked);
bool weft_no_registration(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                          const struct weft_memory *memory, weft_registration_t *out);
void weft_no_deregistration(weft_endpoint_t *endpoint, weft_registration_t *registration);
void weft_no_get(weft_get_t *get);
bool weft_no_device(const struct weft_memory *memory);

/** The table of these functions, for a transport that cannot read memory of peers. */
extern const weft_remote_ops_t weft_no_remote;

/* ---- the life of a transport ---- */

struct weft_transport_ops {
    const char *name;
    /** When quiesce has returned, packets have left this process but may not have arrived: the
     * network can lose them when the transport is closed. */
    bool is_unsure;
    /** Make endpoints to the ranks that this transport reaches and that have none yet
     * (weft_processes), or prepare to make them in `reach`. Registers what is polled
     * (weft_progress_add) and, where not all peers ring the doorbell, what is slept on
     * (weft_fd_watch_add). Collective over all ranks, blocks. MPI_ERR_UNSUPPORTED_OPERATION: the
     * transport does not work on this machine, nothing is left behind, the next transport is tried.
     * MPI_ERR_NO_MEM, MPI_ERR_OTHER with a text: the job cannot start. */
    int (*open)(weft_world_t *world, weft_sink_fn_t sink);
    /** Make the endpoint of a rank that has none, at the first message to it; *out stays the
     * transport's. May block for WEFT_TIMEOUT, without progress, until the peer has published its
     * address. MPI_ERR_UNSUPPORTED_OPERATION: all endpoints were made by open. MPI_ERR_NO_MEM,
     * MPI_ERR_OTHER with a text: the rank cannot be reached. */
    int (*reach)(int process, weft_endpoint_t **out);
    /** Fill in what this transport knows for the report; what costs speed becomes a warning. */
    void (*describe)(weft_rank_report_t *report);
    /** Before the end: wait, with progress, until what this process has sent has left it, or its
     * peer is lost or rests and does not take it. From this call on a peer that closes its
     * connection is no failure. is_last: no peer waits for room to send to this process, so that
     * none need be told of it; false in calls before. */
    void (*quiesce)(bool is_last);
    /** The reverse of quiesce, for a process that begins to use MPI again. */
    void (*resume)(void);
    /** Release everything, endpoints too, and what `open` has registered; logs what goes wrong. */
    void (*close)(void);
};

int weft_no_reach(int process, weft_endpoint_t **out);
void weft_no_description(weft_rank_report_t *report);
void weft_no_quiesce(bool is_last);
void weft_no_resume(void);

/** The calling process as its own peer: send calls the sink. Reaches only this process. */
extern const weft_transport_ops_t weft_self_transport;
extern const weft_pvar_table_t weft_self_pvars;

#endif
