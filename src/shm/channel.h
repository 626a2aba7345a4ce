/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel: one direction of one pair of ranks. A single producer, a single consumer, no atomic
 * read-modify-write, and for a small message one cache line that moves from core to core.
 *
 *   slots  | 64 packets, with the payloads of up to 48 bytes (runtime/slots.h)
 *   data   | longer payloads, in units of 64 bytes, in the order of their slots | a power of two
 *   large  | the same, later in place of `data` | a power of two, about twice a core's own cache
 *   cells  | payloads that go back and forth, or both ways at once (shm/cells.h)
 *   credit | slots taken | units taken | throttled | mutual | asks | read cost | lost ns |
 *            by the receiver
 *
 * A small ring stays in the caches of both cores, and each of its lines must be fetched from the
 * cache of the other core, where it was changed last. Where the sender gets a line back sooner if
 * the receiver has changed it (base/cpu.h), the receiver leaves dirty what it has read: slots and
 * short payloads. On a Zen 4 windows of 1 KiB go at 10 GB/s instead of 6 then. Long payloads are
 * measured at first, and show how far the cores are from each other, which dirty lines would hide.
 *
 * In a ring larger than those caches, used in order, lines have left them by then, and both cores
 * fetch them from the cache that they share: on five processors that moved 26 to 60 GB/s from core
 * to core instead of 7 to 20; on a sixth (Zen 5) 256 KiB do as well. But the pages of a large ring
 * have to be touched first, which takes from 0.2 ms to 2 ms. So a channel begins with the small
 * ring. Both ranks measure how much time is lost without a large one (the receiver alone does not
 * see it all: on a Zen 4 its copies are fast, and the sender's slow), and for as much the sender
 * touches pages, slice by slice; then it changes over, once. From then on each packet carries a
 * mark. Where the host has no other pair of ranks, the sender changes over when some packets of 8
 * KiB find no cell, whatever that costs, if they were not read as slowly as from a far core: then
 * the ways to store are tried in less time in a small ring. Not so on processors where a large ring
 * is no faster (weft_store_begins_large()).
 *
 * A payload in the data ring never wraps: a packet that would not fit before the end skips to the
 * start, which both sides compute alike.
 */
#ifndef WEFT_SHM_CHANNEL_H
#define WEFT_SHM_CHANNEL_H

#include "runtime/transport.h"
#include "base/clock.h"
#include "base/copy.h"
#include "shm/cells.h"
#include "shm/mutual_path.h"
#include "runtime/ring_loss.h"
#include "runtime/store_choice.h"
#include "shm/short_choice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The receiver keeps back credits for at most a quarter of each ring (WEFT_CREDIT_SHARE), a packet
 * takes at most a quarter of the data ring and skips less than a quarter. So a sender that waits
 * for room always gets it. */
enum {
    WEFT_DATA_UNIT = 64,
    WEFT_ENLARGE_NS = 200000,  /* that is lost before a sender begins to change over */
    WEFT_SLICE_UNITS = 1024,   /* of the large ring, whose pages are touched at a time: 64 KiB */
    WEFT_IN_LARGE = 1 << 23,   /* mark of a packet after that, among its bytes */
    WEFT_RING_SLOW = 1 << 22,  /* of one before that, from a sender that finds its ring slow */
    WEFT_MEASURED = 1 << 21,   /* of one whose reading is to be measured (weft_channel_store) */
    WEFT_LEFT_DIRTY = 1 << 20, /* of a long one whose lines the receiver leaves so */
    WEFT_IN_CELL = 1 << 19,    /* of one whose payload lies in a cell, which its slot names */
    WEFT_MARKS = WEFT_IN_LARGE | WEFT_RING_SLOW | WEFT_MEASURED | WEFT_LEFT_DIRTY | WEFT_IN_CELL,
};

/** Sizes of long payloads have choices of their own. The longest are parts of large messages, for
 * which a large ring is best; before it is there they are simply cached, since other ways would
 * hide what is lost without it. */
enum { WEFT_STORE_LONGER = 8192, WEFT_STORE_LONGEST_FROM = 16385 };
enum { WEFT_STORE_LONGEST = 2, WEFT_STORE_SIZES };

typedef struct weft_credit {
    _Alignas(64) atomic_uint slots; /* taken by the receiver so far */
    atomic_uint units;
    atomic_uint is_throttled; /* the sender must ask before it sends unexpected data */
    weft_shown_path_t mutual[WEFT_PATH_SIZES];
    weft_short_shown_t asks[WEFT_SHORT_SIZES];
    atomic_uint read_cost; /* number of a packet WEFT_MEASURED:16 | ns per KiB to read it:16 */
    atomic_ullong lost_ns; /* so far, for want of a large ring */
} weft_credit_t;

_Static_assert((int)WEFT_BATON_SHORT < (int)WEFT_STORE_LONG,
               "what is measured, or stored as is best for the reader, goes through the ring");
_Static_assert((int)WEFT_IN_CELL >= (int)WEFT_SLOT_BYTES, "marks lie above the bytes");
_Static_assert(sizeof(weft_credit_t) == 64, "credits have a line of their own");

/** The shared memory of a channel, and its size. */
typedef struct weft_channel {
    weft_credit_t *credit;
    char *data;
    uint32_t units; /* of it; a power of two */
    char *large;    /* begins with a page; NULL: there is none, or it is `data` by now */
    uint32_t large_units;
} weft_channel_t;

/** The sender's private side. */
typedef struct weft_channel_out {
    weft_channel_t channel;
    weft_slots_t *slots; /* their mark is WEFT_IN_LARGE, WEFT_RING_SLOW or 0 */
    uint32_t units_sent, units_limit;
    weft_cells_t *cells;     /* that this rank shares with the peer */
    size_t cell_far;         /* bytes of a packet that may go in one between far cores, */
    size_t cell_most;        /* and as far as they are now; */
    int cells_left;          /* and packets that may, until one goes in the ring all the same, */
    int cells_unmeasured;    /* or is measured in its cell; */
    bool measures_cell;      /* that one has not been read yet */
    int slow_cells;          /* measured in a row that were read as from a far core */
    bool has_fast_cells;     /* is_near, as cells show */
    bool is_in_cell;         /* what was reserved */
    uint32_t reserved_units; /* by reserve, skipped units included */
    weft_ring_loss_t loss;   /* of this side, while there is the small ring alone; */
    int64_t lost_ns;         /* so far */
    int64_t reserved_ns;     /* when the payload was reserved, if it is to be measured, or 0 */
    int64_t enlarge_at_ns;   /* lost by both, at which its next slice is touched */
    uint32_t units_touched;  /* of the large ring */
    int wants_large;         /* so many long packets later, unless the cores are far from each
                              * other; 0: when enough is lost without it */
    bool is_near;            /* they are not */
    weft_store_choice_t stores[WEFT_STORE_SIZES];
    uint32_t measured;                   /* packets so far; */
    uint32_t sample_mark;                /* of the packet that was reserved: WEFT_MEASURED, or 0 */
    float write_cost;                    /* of the last one, */
    weft_store_choice_t *measures;       /* which is for this choice; NULL: and has been counted, */
    uint32_t units_at[WEFT_STORE_SIZES]; /* units_sent when one was counted */
    bool *is_throttled;                  /* refresh stores the credit line's is_throttled here */
} weft_channel_out_t;

/** The receiver's private side. */
typedef struct weft_channel_in {
    weft_channel_t channel;
    weft_slots_t *slots;
    weft_cells_t *cells;              /* that this rank shares with the peer */
    const weft_slot_t *slot;          /* of the packet that was peeked at */
    uint32_t units_taken, units_told; /* as of slots: what the credit line says */
    uint32_t measured;                /* packets so far */
    bool is_measured;                 /* the packet that was peeked at; */
    bool is_left_dirty;               /* its lines are, */
    bool is_in_cell;                  /* or it lies in a cell */
    bool is_read_dirty;               /* short payloads that were read are left dirty */
    bool is_slow;                     /* the sender finds the small ring slow */
} weft_channel_in_t;

/** weft_ring_loss_t.from of both sides of a channel: on a Cascade Lake packets of 2 KiB take 0.81
 * us through the small ring and 1.2 through a large one, of 4 KiB 1.24 and 1.58, of 8 KiB 2.55.
 * On an Emerald Rapids those of 4 KiB are as fast in both, those of 16 KiB faster by a fifth in a
 * large one. */
size_t weft_channel_loses_from(void);

/** `slots` and `is_throttled` are the endpoint's, `cells` the peer's; both are open. */
void weft_channel_out_init(weft_channel_out_t *out, const weft_channel_t *channel,
                           weft_slots_t *slots, weft_cells_t *cells, bool *is_throttled);
void weft_channel_in_init(weft_channel_in_t *in, const weft_channel_t *channel, weft_slots_t *slots,
                          weft_cells_t *cells);

/** Touch the pages of the large ring now, if there is one and memory for it, and send through it
 * from the next packet on. Not between reserve and publish. */
void weft_channel_take_large(weft_channel_out_t *out);

static inline uint32_t weft_channel_units(size_t bytes)
{
    return (uint32_t)((bytes + WEFT_DATA_UNIT - 1) / WEFT_DATA_UNIT);
}

/** Units to skip so that a payload of `units` at position `at` does not wrap. */
static inline uint32_t weft_channel_skip(const weft_channel_t *channel, uint32_t at, uint32_t units)
{
    uint32_t offset = at & (channel->units - 1);
    return offset + units > channel->units ? channel->units - offset : 0;
}

/** Have all long packets go in cells, also between far cores: where ranks take turns on cores, a
 * sender then leaves more for its peer before it has to wait, and less memory is used in all. To be
 * called right after weft_channel_out_init. */
void weft_channel_prefer_cells(weft_channel_out_t *out);

/** If enough was lost without the large ring, touch a slice of it; change over with the last. */
void weft_channel_prepare(weft_channel_out_t *out);

/** Read the credit line; also prepares the large ring. */
void weft_channel_refresh(weft_channel_out_t *out);

/** The packet that was peeked at has marks that the receiver heeds. */
void weft_channel_heed(weft_channel_in_t *in, uint32_t marks);

/** How a payload of WEFT_STORE_LONG bytes or more is to be stored. */
static inline weft_store_choice_t *weft_channel_choice(weft_channel_out_t *out, size_t bytes)
{
    return &out->stores[(bytes >= WEFT_STORE_LONGER) + (bytes >= WEFT_STORE_LONGEST_FROM)];
}

/** Is a packet of `bytes` bytes to go in a cell? */
static inline bool weft_channel_suits_cell(const weft_channel_out_t *out, size_t bytes)
{
    return bytes >= WEFT_STORE_LONG && bytes <= out->cell_most && out->cells->count > 0;
}

/** Would each of so many packets of up to `bytes` bytes find one? */
static inline bool weft_channel_has_cells(const weft_channel_out_t *out, size_t packets,
                                          size_t bytes)
{
    return bytes <= out->cell_most && packets <= (size_t)out->cells->count;
}

/** After a packet of so many bytes: is it time for that? Not as long as there are cells. Parts of
 * large messages do not wait for the answer whether the cores are near. */
static inline bool weft_channel_lacks_large(weft_channel_out_t *out, size_t bytes)
{
    return __builtin_expect(out->wants_large > 0, 0) && bytes >= WEFT_STORE_LONGER &&
           !weft_channel_suits_cell(out, bytes) &&
           (out->is_near || bytes >= WEFT_STORE_LONGEST_FROM) && --out->wants_large == 0;
}

/** A cell for such a packet; NULL: this one goes in the ring, to be measured. */
void *weft_channel_reserve_cell(weft_channel_out_t *out, size_t bytes);

/** Room for a payload; NULL: none. To be followed by weft_channel_publish. */
static inline void *weft_channel_reserve(weft_channel_out_t *out, size_t bytes)
{
    weft_slots_t *slots = out->slots;
    if (__builtin_expect(slots->sent == slots->limit, 0)) {
        weft_channel_refresh(out);
        if (slots->sent == slots->limit)
            return NULL;
    }
    if (bytes <= WEFT_SLOT_PAYLOAD) {
        out->reserved_units = 0;
        return weft_slots_free(slots)->payload;
    }
    if (weft_channel_suits_cell(out, bytes)) {
        void *cell = weft_channel_reserve_cell(out, bytes);
        if (cell != NULL)
            return cell;
    }
    uint32_t units = weft_channel_units(bytes);
    uint32_t skip = weft_channel_skip(&out->channel, out->units_sent, units);
    if (__builtin_expect(out->units_limit - out->units_sent < units + skip, 0)) {
        weft_channel_refresh(out);
        skip = weft_channel_skip(&out->channel, out->units_sent, units);
        if (out->units_limit - out->units_sent < units + skip)
            return NULL;
    }
    out->reserved_units = units + skip;
    out->reserved_ns = weft_ring_loss_is_sample(&out->loss, bytes) ? weft_clock_ns() : 0;
    uint32_t at = (out->units_sent + skip) & (out->channel.units - 1);
    return out->channel.data + (size_t)at * WEFT_DATA_UNIT;
}

/** A payload of `bytes` bytes that is measured lies in the ring now. */
void weft_channel_note_filled(weft_channel_out_t *out, size_t bytes);

/** The payload that was reserved is in its place now. */
static inline void weft_channel_is_filled(weft_channel_out_t *out, size_t bytes)
{
    if (bytes > WEFT_SLOT_PAYLOAD && __builtin_expect(out->reserved_ns != 0, 0))
        weft_channel_note_filled(out, bytes);
}

/** Copy data of WEFT_STORE_LONG bytes or more, all of a payload that was reserved or its beginning,
 * to their place; some of these copies are measured. */
void weft_channel_store(weft_channel_out_t *out, void *to, const void *from, size_t bytes);

/** A long packet has come from the peer. If the cores are near, those to it may go in the baton
 * from now on: true. */
bool weft_channel_allow_long_baton(weft_channel_out_t *out);

/** Such a payload, of `bytes` bytes, is in its place. Returns the marks for the packet. */
uint32_t weft_channel_finish(weft_channel_out_t *out, size_t bytes);

/** The packet WEFT_MEASURED that was peeked at took `ns` to read. */
void weft_channel_show_cost(weft_channel_in_t *in, size_t bytes, int64_t ns);

/** Add to learnt[way] the number of sizes that are stored so, as was learnt. */
void weft_channel_count_stores(const weft_channel_out_t *out, int learnt[WEFT_STORES]);

/** Make the reserved packet visible. */
static inline void weft_channel_publish(weft_channel_out_t *out, weft_header_t header)
{
    out->units_sent += out->reserved_units;
    weft_slots_show(out->slots, weft_slots_free(out->slots), header, out->slots->mark);
}

/** In the slot of a packet WEFT_IN_CELL: its cell, and 1 more than that of the cell that comes back
 * with it, or 0. */
enum { WEFT_CELL_NAMED, WEFT_SPARE_NAMED };

static inline unsigned weft_channel_cell(const weft_slot_t *slot)
{
    return (unsigned char)slot->payload[WEFT_CELL_NAMED];
}

/** The next packet, if there is one: its header and where its payload lies. */
static inline bool weft_channel_peek(weft_channel_in_t *in, weft_header_t *header,
                                     const void **payload)
{
    uint64_t first;
    const weft_slot_t *slot = weft_slots_next(in->slots, &first);
    if (slot == NULL)
        return false;
    in->slot = slot;
    *header = weft_slots_header(in->slots, slot, first);
    *payload = slot->payload;
    if (__builtin_expect((first & in->slots->heeds) != 0, 0))
        weft_channel_heed(in, (uint32_t)first & WEFT_MARKS);
    if (weft_slots_hold(in->slots, slot, header->bytes))
        return true;
    if (in->is_in_cell) {
        *payload = weft_cells_at(in->cells, weft_channel_cell(slot));
        return true;
    }
    uint32_t skip =
        weft_channel_skip(&in->channel, in->units_taken, weft_channel_units(header->bytes));
    uint32_t at = (in->units_taken + skip) & (in->channel.units - 1);
    *payload = in->channel.data + (size_t)at * WEFT_DATA_UNIT;
    return true;
}

/** The long packet that was peeked at has `bytes` bytes: does it touch pages for the first time? Of
 * a large ring all were touched at once, and those of the baton are soon. */
static inline bool weft_channel_is_fresh(const weft_channel_in_t *in, size_t bytes)
{
    if (in->is_in_cell)
        return weft_cells_are_fresh(in->cells, weft_channel_cell(in->slot), bytes);
    bool is_in_ring = !weft_slots_hold(in->slots, in->slot, bytes);
    return is_in_ring && in->channel.large != NULL && in->units_taken < in->channel.units;
}

/** The packet that was peeked at has `bytes` bytes in the ring, which are needed no more. */
static inline void weft_channel_take_units(weft_channel_in_t *in, size_t bytes)
{
    uint32_t units = weft_channel_units(bytes);
    uint32_t first = in->units_taken + weft_channel_skip(&in->channel, in->units_taken, units);
    uint32_t at = first & (in->channel.units - 1);
    if (in->is_left_dirty || (in->is_read_dirty && bytes < WEFT_STORE_LONG))
        weft_cpu_dirty(in->channel.data + (size_t)at * WEFT_DATA_UNIT, bytes);
    in->is_left_dirty = false;
    in->units_taken = first + units;
}

/** Take the packet that was peeked at, which has `bytes` bytes; the sender gets its room back with
 * the next write of the credit line. True when that was written: then a sender that waits for room
 * must be woken. */
static inline bool weft_channel_take(weft_channel_in_t *in, size_t bytes)
{
    weft_slots_t *slots = in->slots;
    bool must_tell = weft_slots_must_tell(slots);
    weft_slots_take(slots, in->slot, bytes);
    if (in->is_in_cell) {
        unsigned spare = (unsigned char)in->slot->payload[WEFT_SPARE_NAMED];
        weft_cells_take(in->cells, weft_channel_cell(in->slot));
        if (__builtin_expect(spare > 0, 0))
            weft_cells_take_spare(in->cells, spare - 1);
        in->is_in_cell = false;
    } else if (!weft_slots_hold(slots, in->slot, bytes)) {
        weft_channel_take_units(in, bytes);
    }
    if (!must_tell && in->units_taken - in->units_told < in->channel.units / WEFT_CREDIT_SHARE)
        return false;
    slots->told = slots->taken;
    in->units_told = in->units_taken;
    atomic_store_explicit(&in->channel.credit->units, in->units_taken, memory_order_release);
    atomic_store_explicit(&in->channel.credit->slots, slots->taken, memory_order_release);
    return true;
}

#endif
