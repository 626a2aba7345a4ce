/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets on their way out. Short ones are injected: the provider has copied them when the call
 * returns. Longer ones stay in a slot until their completion. A packet that was composed and then
 * refused (FI_EAGAIN) keeps its place: no later packet overtakes it. ofi/credit.h bounds how much
 * is on its way.
 */
#include "ofi/ofi_private.h"

#include "ofi/fabric_library.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <rdma/fi_errno.h>
#include <string.h>

static int slots_out; /* packets that the provider has, or has refused so far */

static void compose_packet(const weft_ofi_peer_t *peer, const weft_header_t *header,
                           weft_wire_t *out)
{
    *out = (weft_wire_t){.key = peer->key,
                         .source = (uint32_t)weft_world.rank,
                         .sequence = peer->sent,
                         .context = header->context,
                         .tag = header->tag,
                         .bytes = header->bytes,
                         .kind = header->kind,
                         .version = WEFT_WIRE_VERSION};
}

static void compose_into(weft_rail_slot_t *slot, const weft_ofi_peer_t *peer,
                         const weft_header_t *header)
{
    weft_wire_t wire;
    compose_packet(peer, header, &wire);
    memcpy(slot->memory, &wire, sizeof(wire));
    slot->bytes = sizeof(wire) + header->bytes;
}

/* ---- peers that need another look ---- */

void wefti_ofi_note_unsettled(weft_ofi_peer_t *peer)
{
    if (peer->is_listed)
        return;
    peer->is_listed = true;
    peer->next_unsettled = wefti_ofi.unsettled;
    wefti_ofi.unsettled = peer;
}

static void stall(weft_ofi_peer_t *peer, weft_rail_slot_t *slot)
{
    if (peer->stalled_first == NULL)
        peer->stalled_last = &peer->stalled_first;
    slot->next = NULL;
    *peer->stalled_last = slot;
    peer->stalled_last = &slot->next;
    wefti_ofi_note_unsettled(peer);
}

/* ---- slots ---- */

static void outgoing_slot_is_out(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error)
{
    weft_rail_slot_t *slot = (weft_rail_slot_t *)op;
    (void)entry;
    slots_out--;
    if (error != 0)
        wefti_ofi_peer_failed(slot->owner, "sending to it failed", error);
    weft_rail_give_slot(slot);
}

/* When the transport is about to be closed, a completion must mean that the packet has reached the
 * peer, and not only that its buffer is free. */
static long post_last(weft_rail_slot_t *slot, fi_addr_t to)
{
    struct iovec piece = {slot->memory, slot->bytes};
    struct fi_msg message = {.msg_iov = &piece,
                             .desc = &slot->descriptor,
                             .iov_count = 1,
                             .addr = to,
                             .context = &slot->op.context};
    return fi_sendmsg(slot->rail->ep, &message, FI_COMPLETION | FI_TRANSMIT_COMPLETE);
}

static long post_packet(weft_rail_slot_t *slot)
{
    const weft_ofi_peer_t *peer = slot->owner;
    fi_addr_t to = peer->addresses[slot->rail->index];
    if (__builtin_expect(peer->is_lost, 0))
        return -FI_ECONNABORTED;
    slot->op.done = outgoing_slot_is_out;
    if (__builtin_expect(wefti_ofi.net.is_closing, 0))
        return post_last(slot, to);
    return fi_send(slot->rail->ep, slot->memory, slot->bytes, slot->descriptor, to,
                   &slot->op.context);
}

static void count_packet(weft_ofi_peer_t *peer, size_t payload_bytes)
{
    peer->sent++;
    peer->credit.sent += weft_credit_cost(payload_bytes);
}

/* Send the packet in `slot`, which has its number, or keep it until the provider takes it. */
static void dispatch(weft_ofi_peer_t *peer, weft_rail_slot_t *slot)
{
    slots_out++;
    count_packet(peer, slot->bytes - sizeof(weft_wire_t));
    long rc = peer->stalled_first != NULL ? -FI_EAGAIN : post_packet(slot);
    if (rc == -FI_EAGAIN)
        stall(peer, slot);
    else if (rc != 0)
        outgoing_slot_is_out(&slot->op, NULL, (int)-rc);
}

static weft_rail_slot_t *take_packet_slot(weft_ofi_peer_t *peer, size_t payload_bytes)
{
    if (peer->stalled_first != NULL)
        return NULL;
    weft_rail_slot_t *slot =
        weft_rail_take_slot(&wefti_ofi.rails[0], payload_bytes + sizeof(weft_wire_t));
    if (slot != NULL)
        slot->owner = peer;
    return slot;
}

/* ---- the transport's calls ---- */

/* Injected packets have no completion: when the transport is about to be closed nothing would tell
 * that they are out. */
static bool can_inject(const weft_ofi_peer_t *peer, size_t payload_bytes)
{
    return payload_bytes + sizeof(weft_wire_t) <= wefti_ofi.rails[0].inject_max &&
           peer->stalled_first == NULL && !peer->is_lost && !wefti_ofi.net.is_closing;
}

static bool inject(weft_ofi_peer_t *peer, const weft_header_t *header, const void *payload)
{
    char packet[WEFT_INJECT_MOST];
    weft_wire_t wire;
    compose_packet(peer, header, &wire);
    memcpy(packet, &wire, sizeof(wire));
    if (header->bytes > 0)
        memcpy(packet + sizeof(wire), payload, header->bytes);
    long rc =
        fi_inject(wefti_ofi.rails[0].ep, packet, sizeof(wire) + header->bytes, peer->addresses[0]);
    if (rc == -FI_EAGAIN)
        return false;
    if (rc != 0)
        wefti_ofi_peer_failed(peer, "sending to it failed", (int)-rc);
    peer->has_injected = true;
    count_packet(peer, header->bytes);
    return true;
}

static weft_rail_slot_t *reserved;

static void *reserve_slot(weft_ofi_peer_t *peer, size_t bytes)
{
    reserved = take_packet_slot(peer, bytes);
    return reserved == NULL ? NULL : reserved->memory + sizeof(weft_wire_t);
}

static bool send_packet(weft_ofi_peer_t *peer, const weft_header_t *header, const void *payload)
{
    if (can_inject(peer, header->bytes) && inject(peer, header, payload))
        return true;
    /* Also when inject() was refused: this transport tries a slot again, while nothing tells when
     * there is room to inject. */
    void *room = reserve_slot(peer, header->bytes);
    if (room == NULL)
        return false;
    if (header->bytes > 0)
        weft_copy(room, payload, header->bytes);
    wefti_ofi_commit(&peer->net.endpoint, *header);
    return true;
}

/* Packets that are sent before the layer above is told of a loss are dropped. */
static bool may_send(const weft_ofi_peer_t *peer)
{
    return weft_credit_is_left(&peer->credit) && !peer->net.endpoint.is_lost;
}

bool wefti_ofi_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    weft_ofi_peer_t *peer = (weft_ofi_peer_t *)endpoint;
    return may_send(peer) && send_packet(peer, &header, payload);
}

void *wefti_ofi_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    weft_ofi_peer_t *peer = (weft_ofi_peer_t *)endpoint;
    return may_send(peer) ? reserve_slot(peer, bytes) : NULL;
}

void wefti_ofi_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    weft_ofi_peer_t *peer = (weft_ofi_peer_t *)endpoint;
    weft_rail_slot_t *slot = reserved;
    compose_into(slot, peer, &header);
    dispatch(peer, slot);
}

void wefti_ofi_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    weft_ofi_peer_t *peer = (weft_ofi_peer_t *)endpoint;
    peer->net.throttles = is_on;
    wefti_ofi_note_unsettled(peer);
}

/* ---- progress ---- */

/* Packets of this transport itself need no credit. */
static bool send_without_credit(weft_endpoint_t *endpoint, weft_header_t header,
                                const void *payload)
{
    return send_packet((weft_ofi_peer_t *)endpoint, &header, payload);
}

/* This may be the first packet of this rank to the peer. */
static bool tell_taken(weft_ofi_peer_t *peer)
{
    if (!peer->is_lost && wefti_ofi_resolve(peer) != MPI_SUCCESS)
        wefti_ofi_peer_unreachable(peer);
    weft_header_t header = weft_header_for(WEFT_WIRE_TAKEN, peer->credit.taken, 0);
    if (!send_packet(peer, &header, NULL))
        return false;
    peer->credit.told = peer->credit.taken;
    return true;
}

/* The packet has no number of its own: the peer gets no packets after it. */
static bool tell_loss(weft_ofi_peer_t *peer)
{
    const char *why = wefti_ofi.failure[0] != '\0' ? wefti_ofi.failure
                      : peer->net.why != NULL      ? peer->net.why
                                                   : "a packet was lost";
    weft_header_t header = {.kind = WEFT_WIRE_LOST, .bytes = (uint32_t)strlen(why)};
    weft_rail_slot_t *slot =
        weft_rail_take_slot(&wefti_ofi.rails[0], sizeof(weft_wire_t) + header.bytes);
    if (slot == NULL)
        return false;
    compose_into(slot, peer, &header);
    memcpy(slot->memory + sizeof(weft_wire_t), why, header.bytes);
    slot->owner = peer;
    slot->op.done = outgoing_slot_is_out;
    long rc = post_last(slot, peer->addresses[0]);
    if (rc == -FI_EAGAIN) {
        weft_rail_give_slot(slot);
        return false;
    }
    slots_out++;
    peer->owes_loss = false;
    if (rc != 0)
        outgoing_slot_is_out(&slot->op, NULL, (int)-rc);
    return true;
}

static int settle_credit(weft_ofi_peer_t *peer)
{
    int moved = 0;
    while (peer->stalled_first != NULL) {
        weft_rail_slot_t *slot = peer->stalled_first;
        weft_rail_slot_t *next = slot->next; /* the completion may come before post returns */
        long rc = post_packet(slot);
        if (rc == -FI_EAGAIN)
            return moved;
        peer->stalled_first = next;
        moved++;
        if (rc != 0)
            outgoing_slot_is_out(&slot->op, NULL, (int)-rc);
    }
    if (peer->owes_loss)
        moved += tell_loss(peer);
    if (wefti_ofi.tells_no_room)
        return moved;
    if (weft_net_must_tell_throttle(&peer->net))
        moved += weft_net_tell_throttle(&peer->net, send_without_credit);
    if (weft_credit_must_tell(&peer->credit))
        moved += tell_taken(peer);
    return moved;
}

static bool has_packets(const weft_ofi_peer_t *peer)
{
    return peer->stalled_first != NULL || peer->owes_loss;
}

static bool is_settled(const weft_ofi_peer_t *peer)
{
    return !has_packets(peer) && !weft_net_must_tell_throttle(&peer->net) &&
           !weft_credit_must_tell(&peer->credit);
}

int wefti_outgoing_progress(void)
{
    weft_ofi_peer_t *peer = wefti_ofi.unsettled;
    int moved = 0;
    wefti_ofi.unsettled = NULL;
    while (peer != NULL) {
        weft_ofi_peer_t *next = peer->next_unsettled;
        peer->is_listed = false;
        moved += settle_credit(peer);
        if (!is_settled(peer))
            wefti_ofi_note_unsettled(peer);
        peer = next;
    }
    return moved;
}

/* The connection to a process that has ended cannot be made again, and libfabric's ofi_rxm tries
 * for ever: FI_EAGAIN is all that it answers. */
static bool is_awaited(const weft_ofi_peer_t *peer)
{
    if (peer->stalled_first != NULL && peer->net.endpoint.rests)
        return false;
    return !is_settled(peer) && (has_packets(peer) || !wefti_ofi.tells_no_room);
}

static int stalled_packets(const weft_ofi_peer_t *peer)
{
    int count = 0;
    for (weft_rail_slot_t *slot = peer->stalled_first; slot != NULL; slot = slot->next)
        count++;
    return count;
}

bool wefti_outgoing_is_out(void)
{
    int given_up = 0;
    for (weft_ofi_peer_t *peer = wefti_ofi.unsettled; peer != NULL; peer = peer->next_unsettled) {
        if (is_awaited(peer))
            return false;
        given_up += stalled_packets(peer);
    }
    return slots_out == given_up;
}
