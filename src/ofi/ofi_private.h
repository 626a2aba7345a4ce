/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: peers, rails, and the functions of each file. */
#ifndef WEFT_OFI_OFI_PRIVATE_H
#define WEFT_OFI_OFI_PRIVATE_H

#include "runtime/device.h"
#include "runtime/transport.h"
#include "runtime/world.h"
#include "net/net_packet.h"
#include "net/net_peer.h"
#include "ofi/rail.h"
#include "ofi/credit.h"

#include <stdbool.h>
#include <stdint.h>

/* A packet that came before its turn, where the provider does not keep order. */
typedef struct weft_early {
    struct weft_early *next;
    weft_wire_t wire;
    char payload[];
} weft_early_t;

/** A rank of another host, made when this rank first sends to it or receives from it. */
typedef struct weft_ofi_peer {
    weft_net_peer_t net; /* first: endpoint pointers are peer pointers */
    bool is_resolved;    /* it can be sent to: `key` and `addresses` are set */
    bool is_listed;      /* in wefti_ofi.unsettled */
    bool is_lost;        /* for good: packets to it are dropped */
    bool has_injected;   /* packets were injected to it; their loss is reported without its name */
    int gets;            /* that are not over: the provider writes to memory of the layer above */
    bool owes_loss;      /* it has to be told that this rank has lost it */
    uint64_t key;        /* of packets to it */
    fi_addr_t addresses[WEFT_RAILS_MAX];
    uint32_t sent, received; /* packets so far */
    weft_credit_count_t credit;
    weft_early_t *early;                             /* by sequence */
    weft_rail_slot_t *stalled_first, **stalled_last; /* composed, and refused by the provider */
    struct weft_ofi_peer *next_unsettled;
} weft_ofi_peer_t;

typedef struct weft_ofi {
    weft_sink_fn_t sink;
    weft_provider_t provider;
    weft_rail_t rails[WEFT_RAILS_MAX];
    int rail_count;
    uint64_t own_key; /* of packets to this rank */
    weft_net_peers_t net;
    weft_ofi_peer_t *unsettled; /* peers with stalled packets, or that have to be told something */
    bool tells_no_room;         /* no peer waits for room to send: they need not be told of it */
    char failure[384];          /* why the network, and so each peer, is lost; "": it is not */
    bool failure_is_told;
    uint64_t dropped; /* packets that were malformed or not of this job */
} weft_ofi_t;

extern weft_ofi_t wefti_ofi;

/** The peer structure of a rank of another host, made when there is none; NULL: no memory. */
weft_ofi_peer_t *wefti_ofi_peer(int process);

/** Find out how to send to a peer; may block for a moment. MPI_ERR_OTHER with a text. */
int wefti_ofi_resolve(weft_ofi_peer_t *peer);

/** A peer cannot be reached any more; `failed` says what was tried ("sending to it failed"),
 * `error` is a number of libfabric. The layer above may be in a send to the peer, so it is told at
 * the end of a round, and not before all gets from the peer are over; not at all if MPI ends. */
void wefti_ofi_peer_failed(weft_ofi_peer_t *peer, const char *failed, int error);

/** The same because the peer itself has told it: `text` has `bytes` bytes. */
void wefti_ofi_peer_says(weft_ofi_peer_t *peer, const char *text, size_t bytes);

/** The same, for the reason that weft_fail has noted. */
void wefti_ofi_peer_unreachable(weft_ofi_peer_t *peer);

/** The network has failed, and no peer can be reached any more: told as above, for all peers. */
void wefti_ofi_failed(const char *doing, int error);

/* outgoing.c */
/** Have wefti_outgoing_progress() look at the peer. */
void wefti_ofi_note_unsettled(weft_ofi_peer_t *peer);
bool wefti_ofi_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload);
void *wefti_ofi_reserve(weft_endpoint_t *endpoint, size_t bytes);
void wefti_ofi_commit(weft_endpoint_t *endpoint, weft_header_t header);
void wefti_ofi_throttle(weft_endpoint_t *endpoint, bool is_on);
/** Try again what the provider refused; returns how much went out. */
int wefti_outgoing_progress(void);
/** Are all packets of this rank out, but those that a peer which rests does not take? */
bool wefti_outgoing_is_out(void);

/* incoming.c */
void wefti_packet_in(const char *packet, size_t bytes);
void wefti_incoming_forget(weft_ofi_peer_t *peer);

/* ofi_get.c */
bool wefti_ofi_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const weft_memory_t *memory, weft_registration_t *out);
void wefti_ofi_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration);
void wefti_ofi_get(weft_get_t *get);
int wefti_gets_progress(void);
/** Is there a part that the provider did not take, and might take at the next try? */
bool wefti_gets_is_refused(void);
/** Is no get under way, from any peer? */
bool wefti_gets_is_idle(void);
void wefti_gets_close(void);

/* device_reach.c */
bool wefti_ofi_takes_device(const weft_memory_t *memory);
/** Try again the reads that the provider refused; returns how many it took. */
int wefti_device_reach_progress(void);
/** Is there a trial that is not over? */
bool wefti_device_reach_is_busy(void);
void wefti_device_reach_close(void);

#endif
