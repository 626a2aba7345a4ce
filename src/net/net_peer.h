/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all network transports keep for the ranks of other hosts: the table of those that this rank
 * has sent to or received from, those that are lost, and those that were told to ask before they
 * send unexpected data.
 */
#ifndef WEFT_NET_NET_PEER_H
#define WEFT_NET_NET_PEER_H

#include "runtime/transport.h"
#include "net/net_packet.h"

#include <stdbool.h>

/** A rank of another host; the transport's own structure begins with it. */
typedef struct weft_net_peer {
    weft_endpoint_t endpoint; /* first: endpoint pointers are peer pointers */
    int process;              /* its index in weft_processes */
    bool throttles,
        has_told;   /* whether it must ask before it sends unexpected data, and what it was told */
    bool is_losing; /* it is lost, and the layer above is to be told, and `why` */
    struct weft_net_peer *next_lost;
    char *why; /* NULL: there was no memory for it */
} weft_net_peer_t;

typedef struct weft_net_peers {
    weft_net_peer_t **at;  /* [count] by process; NULL: neither sent to nor received from */
    int count;             /* grows when a process beyond it is entered */
    weft_net_peer_t *lost; /* peers whose loss the layer above is to be told */
    bool is_closing;       /* MPI ends: it is no failure if a peer closes its connection */
} weft_net_peers_t;

/** An empty table. MPI_ERR_NO_MEM with a text. */
int weft_net_peers_open(weft_net_peers_t *out);

/** Enter a peer by its process. MPI_ERR_NO_MEM with a text. */
int weft_net_peer_enter(weft_net_peers_t *peers, weft_net_peer_t *peer);

/** The peer of a process; NULL: neither sent to nor received from. */
static inline weft_net_peer_t *weft_net_peer_at(const weft_net_peers_t *peers, int process)
{
    return __builtin_expect(process < peers->count, 1) ? peers->at[process] : NULL;
}

/** Release the table and the texts; the peers themselves are the transport's. */
void weft_net_peers_close(weft_net_peers_t *peers);

/** The first half of weft_transport_ops_t.reach. `peer` NULL: there was no memory for it,
 * MPI_ERR_NO_MEM. MPI_ERR_OTHER: it is lost, and the layer above has not been told yet. */
int weft_net_peer_check(const weft_net_peer_t *peer);

/** Note that a peer cannot be reached any more, for the reason `why`; once for each peer. The layer
 * above may be in a send to the peer, so it is told later, by weft_net_tell_lost(); not at all if
 * the table is_closing. */
void weft_net_peer_lose(weft_net_peers_t *peers, weft_net_peer_t *peer, const char *why);

/** Call weft_world.peer_lost, in a round of progress, for all lost peers for which `may_tell` is
 * true; the others stay for a later round. */
void weft_net_tell_lost(weft_net_peers_t *peers, bool (*may_tell)(const weft_net_peer_t *peer));

/** Is the peer to be told whether it must ask before it sends? */
static inline bool weft_net_must_tell_throttle(const weft_net_peer_t *peer)
{
    return peer->throttles != peer->has_told;
}

/** Tell the peer by a packet of kind WEFT_WIRE_THROTTLE or WEFT_WIRE_RELEASE. false: `send` found
 * no room. */
bool weft_net_tell_throttle(weft_net_peer_t *peer,
                            bool (*send)(weft_endpoint_t *endpoint, weft_header_t header,
                                         const void *payload));

/** Take such a packet that has come from the peer. */
static inline void weft_net_take_throttle(weft_net_peer_t *peer, uint8_t kind)
{
    peer->endpoint.is_throttled = kind == WEFT_WIRE_THROTTLE;
}

#endif
