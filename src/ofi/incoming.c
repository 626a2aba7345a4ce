/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that arrive. Each is checked before any of it is used; packets that are malformed or not
 * of this job are counted and dropped.
 */
#include "ofi/ofi_private.h"

#include "base/copy.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"

#include <string.h>

enum { EARLY_MOST = 1 << 16 }; /* how far ahead of its turn a packet may be */

static void drop_peer(const char *why)
{
    if (wefti_ofi.dropped++ == 0)
        WEFT_LOG(WEFT_WARN, "ofi", "dropped a packet: %s; more of them are only counted", why);
}

/* What is wrong with a packet; NULL: it is of this job, and as long as its header says. */
static const char *find_packet_fault(const weft_wire_t *wire, size_t bytes)
{
    if (wire->key != wefti_ofi.own_key)
        return "it does not carry the key of this job";
    if (wire->version != WEFT_WIRE_VERSION)
        return "its sender speaks another version of the protocol";
    int source = weft_process_find(WEFT_OWN_JOB, (int)wire->source);
    if (source == WEFT_NO_PROCESS || source == weft_processes.self)
        return "it names a sender that does not exist";
    if (wire->bytes != bytes - sizeof(*wire))
        return "it is longer or shorter than it says";
    return NULL;
}

static void note_confirmed(weft_ofi_peer_t *peer, uint64_t taken)
{
    weft_credit_count_t *credit = &peer->credit;
    if (taken - credit->confirmed > credit->sent - credit->confirmed)
        drop_peer("it says that more was taken than was sent");
    else
        credit->confirmed = taken;
}

static void deliver(weft_ofi_peer_t *peer, const weft_wire_t *wire, const char *payload)
{
    weft_header_t header = {
        .kind = wire->kind, .bytes = wire->bytes, .context = wire->context, .tag = wire->tag};
    peer->received++;
    peer->credit.taken += weft_credit_cost(wire->bytes);
    if (weft_credit_must_tell(&peer->credit))
        wefti_ofi_note_unsettled(peer);
    if (wire->kind == WEFT_WIRE_THROTTLE || wire->kind == WEFT_WIRE_RELEASE)
        weft_net_take_throttle(&peer->net, wire->kind);
    else if (wire->kind == WEFT_WIRE_TAKEN)
        note_confirmed(peer, weft_header_number(&header));
    else
        wefti_ofi.sink(peer->net.process, header, payload);
}

/* ---- order ---- */

static void keep_early(weft_ofi_peer_t *peer, const weft_wire_t *wire, const char *payload)
{
    weft_early_t **at = &peer->early;
    while (*at != NULL && (int32_t)((*at)->wire.sequence - wire->sequence) < 0)
        at = &(*at)->next;
    if (*at != NULL && (*at)->wire.sequence == wire->sequence) {
        drop_peer("it came twice");
        return;
    }
    weft_early_t *early = weft_alloc(sizeof(*early) + wire->bytes);
    if (early == NULL)
        weft_out_of_memory("a packet that came before its turn", sizeof(*early) + wire->bytes);
    early->wire = *wire;
    weft_copy(early->payload, payload, wire->bytes);
    early->next = *at;
    *at = early;
}

static void deliver_early(weft_ofi_peer_t *peer)
{
    while (peer->early != NULL && peer->early->wire.sequence == peer->received) {
        weft_early_t *early = peer->early;
        peer->early = early->next;
        deliver(peer, &early->wire, early->payload);
        weft_free(early);
    }
}

void wefti_incoming_forget(weft_ofi_peer_t *peer)
{
    while (peer->early != NULL) {
        weft_early_t *early = peer->early;
        peer->early = early->next;
        weft_free(early);
    }
}

static void take_in_order(weft_ofi_peer_t *peer, const weft_wire_t *wire, const char *payload)
{
    uint32_t ahead = wire->sequence - peer->received;
    if (__builtin_expect(ahead == 0, 1)) {
        deliver(peer, wire, payload);
        if (__builtin_expect(peer->early != NULL, 0))
            deliver_early(peer);
    } else if (ahead < EARLY_MOST) {
        keep_early(peer, wire, payload);
    } else {
        drop_peer("its number is out of all order");
    }
}

void wefti_packet_in(const char *packet, size_t bytes)
{
    weft_wire_t wire;
    if (bytes < sizeof(wire)) {
        drop_peer("it is shorter than a header");
        return;
    }
    memcpy(&wire, packet, sizeof(wire));
    const char *fault = find_packet_fault(&wire, bytes);
    if (__builtin_expect(fault != NULL, 0)) {
        drop_peer(fault);
        return;
    }
    weft_ofi_peer_t *peer = wefti_ofi_peer(weft_process_find(WEFT_OWN_JOB, (int)wire.source));
    if (peer == NULL)
        weft_out_of_memory("a rank that has sent something", sizeof(*peer));
    if (__builtin_expect(wire.kind == WEFT_WIRE_LOST, 0))
        wefti_ofi_peer_says(peer, packet + sizeof(wire), wire.bytes);
    else
        take_in_order(peer, &wire, packet + sizeof(wire));
}
