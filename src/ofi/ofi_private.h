/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: peers, rails, and who does what. */
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

/** A rank of another host, made when it is first sent to or heard of. */
typedef struct weft_ofi_peer {
    weft_net_peer_t net; /* first: endpoint pointers are peer pointers */
    bool is_resolved;    /* it can be sent to: `key` and `addresses` are set */
    bool is_listed;      /* in ofi.unsettled */
    bool is_lost;        /* for good: what is sent to it is dropped */
    bool has_injected;   /* packets whose loss would not be told with its name */
    int gets;            /* that are not over: the provider writes to memory of the layer above */
    bool owes_loss;      /* it has to be told that it is lost to us */
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
    weft_ofi_peer_t *unsettled; /* with stalled packets or something to be told */
    char failure[384];          /* of the network, all peers at once; "": none */
    bool failure_is_told;
    uint64_t dropped; /* packets of strangers, and malformed ones */
} weft_ofi_t;

extern weft_ofi_t wefti_ofi;

/** The peer structure of a rank of another host, made when there is none; NULL: no memory. */
weft_ofi_peer_t *wefti_ofi_peer(int process);

/** Find out how to send to a peer; may block for a moment. MPI_ERR_OTHER with a text. */
int wefti_ofi_resolve(weft_ofi_peer_t *peer);

/** A peer cannot be reached any more; `failed` says what was tried ("sending to it failed"),
 * `error` is a number of libfabric. The layer above is told at the end of a round (it may be in the
 * midst of a send to it), and not before all gets from it are over; not at all when this process is
 * at its end. */
void wefti_ofi_peer_failed(weft_ofi_peer_t *peer, const char *failed, int error);

/** The peer itself says so: `text` has `bytes` bytes. */
void wefti_ofi_peer_says(weft_ofi_peer_t *peer, const char *text, size_t bytes);

/** The same, for the reason that weft_fail has noted. */
void wefti_ofi_peer_unreachable(weft_ofi_peer_t *peer);

/** Nothing can be had any more from whatever peer: told as above, of all of them. */
void wefti_ofi_failed(const char *doing, int error);

/* outgoing.c */
/** See to it that the peer gets its turn in wefti_outgoing_progress(). */
void wefti_ofi_note_unsettled(weft_ofi_peer_t *peer);
bool wefti_ofi_send(weft_endpoint_t *endpoint, const weft_header_t *header, const void *payload);
void *wefti_ofi_reserve(weft_endpoint_t *endpoint, size_t bytes);
void wefti_ofi_commit(weft_endpoint_t *endpoint, const weft_header_t *header);
void wefti_ofi_throttle(weft_endpoint_t *endpoint, bool is_on);
/** Try again what the provider refused; how much went out. */
int wefti_outgoing_progress(void);
/** Is nothing of ours left that the provider has not taken? */
bool wefti_outgoing_is_empty(void);

/* incoming.c */
void wefti_packet_in(const char *packet, size_t bytes);
void wefti_incoming_forget(weft_ofi_peer_t *peer);

/* ofi_get.c */
bool wefti_ofi_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const weft_memory_t *memory, weft_registration_t *out);
void wefti_ofi_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration);
void wefti_ofi_get(weft_get_t *get);
int wefti_gets_progress(void);
/** Is there a part that the provider did not take, and might take now? */
bool wefti_gets_is_refused(void);
/** Is no get under way, of whatever peer? */
bool wefti_gets_is_idle(void);
void wefti_gets_close(void);

/* device_reach.c */
bool wefti_ofi_takes_device(const weft_memory_t *memory);
/** Go on with what the provider refused; whether it took it. */
int wefti_device_reach_progress(void);
/** Is there a trial that is not over? */
bool wefti_device_reach_is_busy(void);
void wefti_device_reach_close(void);

#endif
