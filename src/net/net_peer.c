/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_peer.h"

#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stddef.h>

static const char no_text[] = "no memory to say why";

int weft_net_peers_open(weft_net_peers_t *out)
{
    int count = weft_processes.count;
    *out = (weft_net_peers_t){.at = weft_alloc_zeroed((size_t)count, sizeof(weft_net_peer_t *)),
                              .count = count};
    return out->at != NULL ? MPI_SUCCESS
                           : weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", count);
}

int weft_net_peer_enter(weft_net_peers_t *peers, weft_net_peer_t *peer)
{
    int process = peer->process, count = weft_processes.count;
    if (process >= peers->count) {
        weft_net_peer_t **at = weft_realloc(peers->at, (size_t)count * sizeof(weft_net_peer_t *));
        if (at == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", count);
        for (int i = peers->count; i < count; i++)
            at[i] = NULL;
        peers->at = at;
        peers->count = count;
    }
    peers->at[process] = peer;
    return MPI_SUCCESS;
}

void weft_net_peers_close(weft_net_peers_t *peers)
{
    for (int process = 0; process < peers->count; process++) {
        if (peers->at[process] != NULL)
            weft_free(peers->at[process]->why);
    }
    weft_free(peers->at);
    *peers = (weft_net_peers_t){0};
}

int weft_net_peer_check(const weft_net_peer_t *peer)
{
    if (peer == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a peer");
    if (peer->is_losing)
        return weft_fail(MPI_ERR_OTHER, "%s", peer->why == NULL ? no_text : peer->why);
    return MPI_SUCCESS;
}

/* ---- losses ---- */

void weft_net_peer_lose(weft_net_peers_t *peers, weft_net_peer_t *peer, const char *why)
{
    if (peers->is_closing)
        return;
    peer->is_losing = true;
    peer->why = weft_strdup(why);
    peer->next_lost = peers->lost;
    peers->lost = peer;
}

static void tell_loss_of(weft_net_peer_t *peer)
{
    char *why = peer->why;
    peer->is_losing = false;
    peer->why = NULL;
    weft_world.peer_lost(peer->process, why == NULL ? no_text : why);
    weft_free(why);
}

/* weft_world.peer_lost may cause the loss of other peers, which are added to the list meanwhile. */
void weft_net_tell_lost(weft_net_peers_t *peers, bool (*may_tell)(const weft_net_peer_t *peer))
{
    weft_net_peer_t *later = NULL, *peer;
    while ((peer = peers->lost) != NULL) {
        peers->lost = peer->next_lost;
        if (may_tell(peer)) {
            tell_loss_of(peer);
        } else {
            peer->next_lost = later;
            later = peer;
        }
    }
    peers->lost = later;
}

/* ---- throttling ---- */

bool weft_net_tell_throttle(weft_net_peer_t *peer,
                            bool (*send)(weft_endpoint_t *endpoint, weft_header_t header,
                                         const void *payload))
{
    bool throttles = peer->throttles;
    weft_header_t header = {.kind = throttles ? WEFT_WIRE_THROTTLE : WEFT_WIRE_RELEASE};
    if (!send(&peer->endpoint, header, NULL))
        return false;
    peer->has_told = throttles;
    return true;
}
