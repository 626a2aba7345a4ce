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
    *out = (weft_net_peers_t){
        .at = weft_alloc_zeroed((size_t)weft_world.size, sizeof(weft_net_peer_t *))};
    return out->at != NULL ? MPI_SUCCESS
                           : weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", weft_world.size);
}

void weft_net_peers_close(weft_net_peers_t *peers)
{
    for (int rank = 0; rank < weft_world.size; rank++) {
        if (peers->at[rank] != NULL)
            weft_free(peers->at[rank]->why);
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
    weft_world.peer_lost(peer->world_rank, why == NULL ? no_text : why);
    weft_free(why);
}

/* Telling of one may lose others. */
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
                            bool (*send)(weft_endpoint_t *endpoint, const weft_header_t *header,
                                         const void *payload))
{
    bool throttles = peer->throttles;
    weft_header_t header = {.kind = throttles ? WEFT_WIRE_THROTTLE : WEFT_WIRE_RELEASE};
    if (!send(&peer->endpoint, &header, NULL))
        return false;
    peer->has_told = throttles;
    return true;
}
