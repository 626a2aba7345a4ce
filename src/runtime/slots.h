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
 * stays empty. Messages that go back and forth pass it each time, and those that go one way leave
 * it at the other end. On an Emerald Rapids two bare loops take 54 to 72 ns for a message so, and
 * 132 to 155 by rings. It holds payloads of up to 16,496 bytes; above 2,032 where the transport
 * finds that the two cores take lines from each other fast, and long ones come as well
 * (baton_most).
 *
 * Where both ranks send at once, each look of one takes the line from the other. The baton says
 * how many packets its sender had, so the receiver sees that, and keeps the baton for a while.
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
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_SLOTS = 64,
    WEFT_SLOT_PAYLOAD = 48,
    WEFT_SLOT_BYTES = 1 << 19, /* the bytes of a packet are below that; marks lie above them */
    WEFT_SLOT_KINDS = 1 << 7,  /* the kinds of packets are below that */
    WEFT_SLOTS_AHEAD = 4,      /* a slot is fetched so many packets before its turn */
    WEFT_CREDIT_SHARE = 4, /* of a ring, which the receiver takes at most before it tells of it */
    WEFT_BATON_BYTES = 16384 + 128,
    WEFT_BATON_PAYLOAD = WEFT_BATON_BYTES - 64 + WEFT_SLOT_PAYLOAD,
    WEFT_BATON_SHORT_BYTES = 2048, /* of it that are good for any two cores, */
    WEFT_BATON_SHORT = WEFT_BATON_SHORT_BYTES - 64 + WEFT_SLOT_PAYLOAD, /* for such payloads */
    WEFT_BATON_TAKEN_SHIFT = 15, /* in its first word: packets taken:4 | bytes:15 */
    WEFT_BATON_BYTES_MASK = (1 << WEFT_BATON_TAKEN_SHIFT) - 1,
    WEFT_BATON_TAKEN_MASK = (1 << 4) - 1,
    WEFT_BATON_FETCHED = 1024, /* payloads of up to that are taken so that they can be answered */
    WEFT_BATON_KEPT = 64,      /* packets for which it is not used where both send at once */
    WEFT_BATON_LONG = 64, /* of so many longer ones the last one goes another way, to be measured */
};

_Static_assert((int)WEFT_BATON_PAYLOAD <= (int)WEFT_BATON_BYTES_MASK, "there are bits for it");

/** Of the first word of the baton: the rank with the lower number has sent what is in it. */
static const uint32_t WEFT_SLOT_SIDE = 1u << 31;

typedef struct weft_slot {
    _Alignas(64) _Atomic uint64_t first; /* number:32 | side:1 | kind:7 | marks:5 | bytes:19 */
    uint64_t second;                     /* tag:32 | context:32, as the end of a weft_header_t */
    char payload[WEFT_SLOT_PAYLOAD];
} weft_slot_t;

_Static_assert(sizeof(weft_slot_t) == 64, "a slot is a cache line");

/** A slot that goes on in further lines, which hold longer payloads. Alone in its lines and in
 * those that some processors fetch with them. */
typedef struct weft_baton {
    _Alignas(128) weft_slot_t slot;
    char more[WEFT_BATON_PAYLOAD - WEFT_SLOT_PAYLOAD];
} weft_baton_t;

_Static_assert(sizeof(weft_baton_t) == WEFT_BATON_BYTES, "a baton has no gaps");

/** The shared memory between this rank and a peer. */
typedef struct weft_slots_pair {
    weft_slot_t *to;   /* [WEFT_SLOTS] */
    weft_slot_t *from; /* [WEFT_SLOTS] */
    weft_slot_t *baton;
    uint32_t baton_room; /* bytes of a payload that it has room for, at least WEFT_BATON_SHORT */
} weft_slots_pair_t;

/** That of a baton of so many bytes. */
static inline uint32_t weft_baton_room(uint32_t baton_bytes)
{
    return baton_bytes - (uint32_t)offsetof(weft_slot_t, payload);
}

/** The slots between this rank and a peer, from this side. */
typedef struct weft_slots {
    weft_slot_t *to;      /* [WEFT_SLOTS]; NULL: this peer has no slots */
    uint32_t sent, limit; /* packets; free slots: limit - sent */
    uint32_t room;        /* bytes of a payload that the next packet may have; more than those of a
                           * slot in the ring: it goes in the baton */
    uint32_t mark;        /* of the next packet in the ring */
    weft_slot_t *baton;
    uint32_t side;      /* of this rank: WEFT_SLOT_SIDE or 0; the peer's is the other */
    uint32_t kept;      /* packets for which the baton is not used, though this rank has it */
    bool has_baton;     /* it is this rank's turn to send in it */
    bool holds_last;    /* the payload of the last packet taken was in its slot */
    bool is_read_dirty; /* lines that were read are left dirty (store_choice.h) */
    weft_doorbell_t *doorbell;
    unsigned vci_bit;
    weft_slot_t *from;    /* [WEFT_SLOTS] */
    uint32_t taken, told; /* packets; what the sender has been told */
    uint32_t heeds;       /* marks of packets that are the transport's to take */
    uint32_t baton_room;  /* bytes of a payload that there is room for in the baton, */
    uint32_t baton_most;  /* and that may go in it */
    uint32_t baton_long;  /* long ones that have gone in it since another one went elsewhere */
} weft_slots_t;

/** `pair`: the memory of the slots, with zeros at first. `is_higher`: of the two ranks.
 * `doorbell`: the peer's. */
static inline void weft_slots_open(weft_slots_t *slots, weft_slots_pair_t pair, bool is_higher,
                                   weft_doorbell_t *doorbell, int vci)
{
    *slots = (weft_slots_t){.to = pair.to,
                            .from = pair.from,
                            .baton = pair.baton,
                            .side = is_higher ? 0 : WEFT_SLOT_SIDE,
                            .baton_room = pair.baton_room,
                            .baton_most = WEFT_BATON_SHORT,
                            .has_baton = !is_higher,
                            .room = is_higher ? WEFT_SLOT_PAYLOAD : WEFT_BATON_SHORT,
                            .doorbell = doorbell,
                            .vci_bit = 1u << vci};
}

/** The peer is asleep, or about to be, for packets of the VCIs in `set_to` (doorbell.h). */
void weft_slots_wake(const weft_slots_t *slots, uint8_t kind, unsigned set_to)
    __attribute__((cold));

/** A packet of this kind was published: wake the peer if it may be for a thread that sleeps, or
 * needs an answer, which the peer has to give whatever it sleeps for. WEFT_UNANSWERED also stands
 * for room that there is again: who waits for that is awake for all (weft_progress_await_room). */
static inline void weft_slots_ring(const weft_slots_t *slots, uint8_t kind)
{
    weft_doorbells_fence();
    unsigned set_to = atomic_load_explicit(&slots->doorbell->is_sleeping, memory_order_relaxed);
    if (__builtin_expect(set_to != 0, 0))
        weft_slots_wake(slots, kind, set_to);
}

/** Payloads of up to `most` bytes may go in the baton from now on: not fewer than
 * WEFT_BATON_SHORT. */
static inline void weft_slots_allow(weft_slots_t *slots, uint32_t most)
{
    slots->baton_most = most;
    if (slots->room > WEFT_SLOT_PAYLOAD)
        slots->room = most;
}

/** The next slot of the ring to the peer. */
static inline weft_slot_t *weft_slots_free(const weft_slots_t *slots)
{
    return &slots->to[slots->sent % WEFT_SLOTS];
}

/** A slot, whose payload is in its place, is the receiver's from here on. `marks`: those of a
 * packet in the ring, or weft_slots_baton_marks(). */
static inline void weft_slots_show(weft_slots_t *slots, weft_slot_t *slot, weft_header_t header,
                                   uint32_t marks)
{
    slot->second = weft_header_number(&header);
    uint64_t number = ++slots->sent;
    uint64_t first = number << 32 | (uint64_t)header.kind << 24 | marks | header.bytes;
    atomic_store_explicit(&slot->first, first, memory_order_release);
}

/** In the first word of the baton: who has sent the packet, and how many of the other's it had. */
static inline uint32_t weft_slots_baton_marks(const weft_slots_t *slots)
{
    return slots->side | (slots->taken & WEFT_BATON_TAKEN_MASK) << WEFT_BATON_TAKEN_SHIFT;
}

/** Can a packet with a payload of so many bytes be sent now? If not, there may be no free slot,
 * which the transport knows, and is always asked for the first packet. */
static inline bool weft_slots_have_room(const weft_slots_t *slots, size_t bytes)
{
    return bytes <= slots->room && slots->sent != slots->limit;
}

static inline void weft_slot_read(const weft_slot_t *slot, void *to, size_t bytes)
{
    if (__builtin_expect(bytes <= WEFT_COPY_SMALL, 1))
        weft_copy_small(to, slot->payload, bytes);
    else
        weft_copy_read(to, slot->payload, bytes);
}

/** To be called for each packet that goes another way than in the baton: the time for which it is
 * kept ends. */
static inline void weft_slots_count_kept(weft_slots_t *slots)
{
    if (__builtin_expect(slots->kept > 0, 0) && --slots->kept == 0)
        slots->room = slots->baton_most;
}

/** The baton, whose payload is in its place, is the receiver's from here on. */
static inline void weft_slots_pass_baton(weft_slots_t *slots, weft_header_t header)
{
    slots->has_baton = false;
    slots->room = WEFT_SLOT_PAYLOAD;
    weft_slots_show(slots, slots->baton, header, weft_slots_baton_marks(slots));
    weft_cpu_hand_over(slots->baton, offsetof(weft_slot_t, payload) + header.bytes);
}

/** Store a packet whose payload there is room for, and not of more than WEFT_COPY_SMALL bytes. The
 * doorbell is to be rung. */
static inline void weft_slots_put_small(weft_slots_t *slots, weft_header_t header,
                                        const void *payload)
{
    if (slots->room > WEFT_SLOT_PAYLOAD) {
        weft_copy_small(slots->baton->payload, payload, header.bytes);
        weft_slots_pass_baton(slots, header);
    } else {
        weft_slot_t *slot = weft_slots_free(slots);
        weft_copy_small(slot->payload, payload, header.bytes);
        weft_slots_show(slots, slot, header, slots->mark);
        weft_slots_count_kept(slots);
    }
}

/** The same for a longer payload. */
void weft_slots_put_long(weft_slots_t *slots, weft_header_t header, const void *payload);

/** Send an eager packet whose payload there is room for; MPI_SUCCESS. By itself, so that its caller
 * has to keep nothing for what comes afterwards. */
int weft_slots_send_now(weft_slots_t *slots, weft_header_t header, const void *payload);

/** The baton has come, with this first word. A payload in further lines is fetched so that they can
 * be written: the answer goes there, and would have to take them from the peer once more. Half a
 * round trip takes 65 ns instead of 115 for 64 B on a Zen 4, and 140 instead of 160 for 512 B; from
 * 2 KiB on more. */
static inline void weft_slots_fetch_baton(const weft_slots_t *slots, uint64_t first)
{
    uint32_t bytes = (uint32_t)first & WEFT_BATON_BYTES_MASK;
    if (bytes <= WEFT_SLOT_PAYLOAD || bytes > WEFT_BATON_FETCHED || !slots->is_read_dirty)
        return;
    const char *begin = (const char *)slots->baton;
    for (uint32_t at = sizeof(weft_slot_t); at < offsetof(weft_slot_t, payload) + bytes; at += 64)
        weft_cpu_fetch_to_write(begin + at);
}

/** The next packet from the peer, if there is one; to be followed by weft_slots_take(). *first: the
 * first word of its slot. Where packets come faster than they are read, a line that is fetched
 * early crosses while others are read; one that has not been written since is in this core's own
 * cache still, and its writer does not notice. */
static inline const weft_slot_t *weft_slots_next(const weft_slots_t *slots, uint64_t *first)
{
    uint32_t number = slots->taken + 1;
    if (!slots->has_baton) {
        *first = atomic_load_explicit(&slots->baton->first, memory_order_acquire);
        if (*first >> 32 == number && (*first & WEFT_SLOT_SIDE) != slots->side) {
            weft_slots_fetch_baton(slots, *first);
            return slots->baton;
        }
    }
    const weft_slot_t *slot = &slots->from[slots->taken % WEFT_SLOTS];
    *first = atomic_load_explicit(&slot->first, memory_order_acquire);
    if (*first >> 32 != number)
        return NULL;
    __builtin_prefetch(&slots->from[(slots->taken + WEFT_SLOTS_AHEAD) % WEFT_SLOTS]);
    return slot;
}

static inline weft_header_t weft_slots_header(const weft_slots_t *slots, const weft_slot_t *slot,
                                              uint64_t first)
{
    uint32_t mask = slot == slots->baton ? WEFT_BATON_BYTES_MASK : WEFT_SLOT_BYTES - 1;
    return (weft_header_t){.kind = (uint8_t)(first >> 24 & (WEFT_SLOT_KINDS - 1)),
                           .bytes = (uint32_t)first & mask,
                           .context = (uint32_t)slot->second,
                           .tag = (int32_t)(uint32_t)(slot->second >> 32)};
}

/** Is it the next packet's turn to be taken by the transport, which tells the sender? */
static inline bool weft_slots_must_tell(const weft_slots_t *slots)
{
    return slots->taken + 1 - slots->told >= WEFT_SLOTS / WEFT_CREDIT_SHARE;
}

/** Does the payload of a packet lie in its slot? */
static inline bool weft_slots_hold(const weft_slots_t *slots, const weft_slot_t *slot, size_t bytes)
{
    return bytes <= WEFT_SLOT_PAYLOAD || slot == slots->baton;
}

/** The baton has come, with so many bytes. If its sender had all packets of this rank, an answer in
 * it will probably follow. Else both send at once, and do better by the rings. After a short
 * payload the further lines are not this core's own, and a long answer does better elsewhere. */
static inline void weft_slots_take_baton(weft_slots_t *slots, size_t bytes)
{
    if (bytes <= WEFT_BATON_SHORT)
        slots->baton_most = WEFT_BATON_SHORT;
    uint64_t first = atomic_load_explicit(&slots->baton->first, memory_order_relaxed);
    uint32_t unseen = slots->sent - (uint32_t)(first >> WEFT_BATON_TAKEN_SHIFT);
    slots->has_baton = true;
    if ((unseen & WEFT_BATON_TAKEN_MASK) != 0)
        slots->kept = WEFT_BATON_KEPT;
    else
        slots->room = slots->baton_most;
}

/** A packet of `bytes` bytes has been read, in this slot. The baton goes back as it is. */
static inline void weft_slots_take(weft_slots_t *slots, const weft_slot_t *slot, size_t bytes)
{
    slots->holds_last = weft_slots_hold(slots, slot, bytes);
    if (slot != slots->baton && slots->is_read_dirty)
        weft_cpu_dirty(&slots->from[slots->taken % WEFT_SLOTS].payload[WEFT_SLOT_PAYLOAD - 1], 1);
    slots->taken++;
    if (slot == slots->baton)
        weft_slots_take_baton(slots, bytes);
}

#endif
