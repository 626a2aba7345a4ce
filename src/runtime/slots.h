/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots: packets in shared memory, between two ranks of a host. A packet is one cache line, which
 * holds a payload of up to 48 bytes or else stands for one that lies elsewhere (shm/channel.h).
 *
 *   slot  | number side kind marks bytes | context tag | payload |
 *
 * Each direction has a ring of slots, with a single producer, a single consumer, and no atomic
 * read-modify-write. The first word of a slot is stored last (release). It holds the number of the
 * packet, counted from 1, so the receiver needs no other mark: a slot that still holds the packet
 * of the lap before has another number.
 *
 * A line of a ring crosses twice for each packet: its writer takes it from the reader's cache, and
 * then the reader fetches it. So the two ranks also share one slot, the baton. Who has received the
 * last packet in it may send the next one in it: then the line, which is in the sender's cache
 * already, crosses once. The packet takes a number like all others, and its place in the ring
 * stays empty. Messages that go back and forth pass the baton each time, and those that go one way
 * leave it at the other end. On an Emerald Rapids two bare loops take 54 to 72 ns for a message so,
 * and 132 to 155 by rings.
 *
 * The transport that the slots belong to keeps them, and hands them to the layer above in
 * weft_endpoint_t: a small message goes from the call of its sender to that of its receiver
 * without any other code between them. What is unusual is left to the transport.
 */
#ifndef WEFT_RUNTIME_SLOTS_H
#define WEFT_RUNTIME_SLOTS_H

#include "runtime/header.h"
#include "runtime/progress.h"
#include "base/copy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_SLOTS = 64,
    WEFT_SLOT_PAYLOAD = 48,
    WEFT_SLOT_BYTES = 1 << 20, /* the bytes of a packet are below that; marks lie above them */
    WEFT_SLOT_KINDS = 1 << 7,  /* the kinds of packets are below that */
    /* The receiver tells the sender of the slots that it has taken at the latest when they are so
     * many. */
    WEFT_SLOTS_UNTOLD = WEFT_SLOTS / 4,
};

/** Of the first word of the baton: the rank with the lower number has sent what is in it. */
static const uint32_t WEFT_SLOT_SIDE = 1u << 31;

typedef struct weft_slot {
    _Alignas(64) _Atomic uint64_t first; /* number:32 | side:1 | kind:7 | marks:4 | bytes:20 */
    uint64_t second;                     /* tag:32 | context:32, as the end of a weft_header_t */
    char payload[WEFT_SLOT_PAYLOAD];
} weft_slot_t;

_Static_assert(sizeof(weft_slot_t) == 64, "a slot is a cache line");

/** The shared memory between this rank and a peer. */
typedef struct weft_slots_pair {
    weft_slot_t *to;         /* [WEFT_SLOTS] */
    const weft_slot_t *from; /* [WEFT_SLOTS] */
    weft_slot_t *baton;
} weft_slots_pair_t;

/** The slots between this rank and a peer, from this side. */
typedef struct weft_slots {
    weft_slot_t *to;      /* [WEFT_SLOTS]; NULL: this peer has no slots */
    uint32_t sent, limit; /* packets; free slots: limit - sent */
    uint32_t mark;        /* of the next packet in the ring */
    uint32_t side;        /* of this rank: WEFT_SLOT_SIDE or 0; the peer's is the other */
    weft_slot_t *baton;
    bool has_baton; /* it is this rank's turn to send in it */
    weft_doorbell_t *doorbell;
    const weft_slot_t *from; /* [WEFT_SLOTS] */
    uint32_t taken, told;    /* packets; what the sender has been told */
    uint32_t heeds;          /* marks of packets that are the transport's to take */
} weft_slots_t;

/** `pair`: the memory of the slots, with zeros at first. `is_higher`: of the two ranks. */
static inline void weft_slots_open(weft_slots_t *slots, weft_slots_pair_t pair, bool is_higher,
                                   weft_doorbell_t *doorbell)
{
    *slots = (weft_slots_t){.to = pair.to,
                            .from = pair.from,
                            .baton = pair.baton,
                            .side = is_higher ? 0 : WEFT_SLOT_SIDE,
                            .has_baton = !is_higher,
                            .doorbell = doorbell};
}

/** The next slot of the ring to the peer. */
static inline weft_slot_t *weft_slots_free(const weft_slots_t *slots)
{
    return &slots->to[slots->sent % WEFT_SLOTS];
}

/** A slot, whose payload is in its place, is the receiver's from here on. `marks`: those of a
 * packet in the ring, or the side of one in the baton. */
static inline void weft_slots_show(weft_slots_t *slots, weft_slot_t *slot, weft_header_t header,
                                   uint32_t marks)
{
    slot->second = weft_header_number(&header);
    uint64_t number = ++slots->sent;
    uint64_t first = number << 32 | (uint64_t)header.kind << 24 | marks | header.bytes;
    atomic_store_explicit(&slot->first, first, memory_order_release);
}

/** Send a packet with a payload that a slot has room for. False: there may be no free slot, which
 * the transport knows, and is always asked for the first packet. The doorbell is to be rung. */
static inline bool weft_slots_put(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    if (header.bytes > WEFT_SLOT_PAYLOAD || slots->sent == slots->limit)
        return false;
    bool in_baton = slots->has_baton;
    weft_slot_t *slot = in_baton ? slots->baton : weft_slots_free(slots);
    weft_copy_small(slot->payload, payload, header.bytes);
    slots->has_baton = false;
    weft_slots_show(slots, slot, header, in_baton ? slots->side : slots->mark);
    return true;
}

/** The next packet from the peer, if there is one; to be followed by weft_slots_take(). *first: the
 * first word of its slot. */
static inline const weft_slot_t *weft_slots_next(const weft_slots_t *slots, uint64_t *first)
{
    uint32_t number = slots->taken + 1;
    if (!slots->has_baton) {
        *first = atomic_load_explicit(&slots->baton->first, memory_order_acquire);
        if (*first >> 32 == number && (*first & WEFT_SLOT_SIDE) != slots->side)
            return slots->baton;
    }
    const weft_slot_t *slot = &slots->from[slots->taken % WEFT_SLOTS];
    *first = atomic_load_explicit(&slot->first, memory_order_acquire);
    return *first >> 32 == number ? slot : NULL;
}

static inline weft_header_t weft_slots_header(const weft_slot_t *slot, uint64_t first)
{
    return (weft_header_t){.kind = (uint8_t)(first >> 24 & (WEFT_SLOT_KINDS - 1)),
                           .bytes = (uint32_t)first & (WEFT_SLOT_BYTES - 1),
                           .context = (uint32_t)slot->second,
                           .tag = (int32_t)(uint32_t)(slot->second >> 32)};
}

/** Is it the next packet's turn to be taken by the transport, which tells the sender? */
static inline bool weft_slots_must_tell(const weft_slots_t *slots)
{
    return slots->taken + 1 - slots->told >= WEFT_SLOTS_UNTOLD;
}

/** The packet in this slot has been read. An answer in the baton will probably follow: its line is
 * fetched to be written. */
static inline void weft_slots_take(weft_slots_t *slots, const weft_slot_t *slot)
{
    slots->taken++;
    if (slot != slots->baton)
        return;
    slots->has_baton = true;
    __builtin_prefetch(slot, 1);
}

#endif
