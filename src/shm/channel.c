/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/channel.h"

#include "base/log.h"
#include "base/pages.h"

enum {
    CELL_FAR_BYTES = 12288 + 64, /* of a packet in a cell between far cores */
    /* ns per KiB to read a cell, with what else a packet takes: 27 to 50 between cores of a Zen 4
     * that share a cache, 75 and more between others. */
    CELL_READ_FAST = 64,
    CELLS_SLOW = 2,    /* such samples in a row are no accident */
    CELLS_SAMPLED = 4, /* packets in cells until one is measured, */
    CELLS_NEAR = 64,   /* and while they are known to be fast; */
    CELLS_LEFT = 8,    /* until one goes in the ring, while they are not */
};

static void expect_cached(weft_channel_out_t *out)
{
    for (int i = 0; i < WEFT_STORE_SIZES; i++)
        weft_store_expect_cached(&out->stores[i]);
}

/* Lines of a large ring leave the caches by themselves. */
static void open_stores(weft_channel_out_t *out, bool is_large)
{
    static const unsigned cached = 1u << WEFT_STORE_CACHED, dirty = 1u << WEFT_STORE_DIRTY,
                          nontemporal = 1u << WEFT_STORE_NONTEMPORAL;
    size_t lap = (size_t)out->channel.units * WEFT_DATA_UNIT;
    bool lacks_large = out->channel.large != NULL;
    unsigned ways = is_large ? cached | nontemporal : cached | dirty | nontemporal;
    float usual = out->stores[0].cached; /* the cores are where they were */
    for (int i = 0; i < WEFT_STORE_LONGEST; i++) {
        weft_store_open(&out->stores[i], ways, lap);
        if (weft_store_is_read_dirty())
            weft_store_prefer_dirty(&out->stores[i]);
    }
    weft_store_open(&out->stores[WEFT_STORE_LONGEST], lacks_large ? cached : cached | nontemporal,
                    lap);
    out->stores[0].cached = usual;
    if (weft_store_suits_small_rings())
        expect_cached(out);
}

static void use_large(weft_channel_t *channel)
{
    channel->data = channel->large;
    channel->units = channel->large_units;
    channel->large = NULL;
}

size_t weft_channel_loses_from(void)
{
    return weft_store_suits_small_rings() ? WEFT_STORE_LONGER : WEFT_LONG_PACKET;
}

/* ---- cells ---- */

/* The longest packets are parts of streams, which between far cores go past the caches. */
static void limit_cells(weft_channel_out_t *out)
{
    bool is_learnt = out->stores[0].ways != 0; /* else WEFT_STORES says how all data are stored */
    out->cell_most = !is_learnt ? 0 : out->is_near ? WEFT_CELL_BYTES : out->cell_far;
}

/* What the receiver has shown that the packet took which was measured last; -1: nothing yet. */
static int shown_cost(const weft_channel_out_t *out)
{
    uint32_t shown = atomic_load_explicit(&out->channel.credit->read_cost, memory_order_relaxed);
    return shown >> 16 == (out->measured & 0xffff) ? (int)(shown & 0xffff) : -1;
}

/* Is it known what the last packet took that was measured in a cell? */
static bool take_cell_cost(weft_channel_out_t *out)
{
    int cost = shown_cost(out);
    if (cost < 0)
        return false;
    out->measures_cell = false;
    out->slow_cells = cost <= CELL_READ_FAST ? 0 : out->slow_cells + 1;
    if (out->slow_cells == 0)
        out->has_fast_cells = out->is_near = true;
    else if (out->slow_cells >= CELLS_SLOW && out->has_fast_cells)
        out->has_fast_cells = out->is_near = false;
    limit_cells(out);
    return true;
}

static uint32_t measure_cell(weft_channel_out_t *out)
{
    bool is_known = !out->measures_cell || take_cell_cost(out);
    if (!is_known || out->measures != NULL || --out->cells_unmeasured > 0)
        return 0;
    out->cells_unmeasured = out->has_fast_cells ? CELLS_NEAR : CELLS_SAMPLED;
    out->measures_cell = true;
    out->measured++;
    return WEFT_MEASURED;
}

/* While it is not known that the cores are near, now and then a packet goes in the ring, which
 * shows it on more processors than cells do. */
void *weft_channel_reserve_cell(weft_channel_out_t *out, size_t bytes)
{
    weft_store_choice_t *choice = weft_channel_choice(out, bytes);
    if (!out->has_fast_cells && choice->ways != 0 && --out->cells_left <= 0) {
        out->cells_left = CELLS_LEFT;
        choice->left = 1;
        return NULL;
    }
    out->is_in_cell = true;
    out->reserved_units = 0;
    out->reserved_ns = 0;
    return weft_cells_at(out->cells, weft_cells_next(out->cells));
}

static uint32_t pass_cell(weft_channel_out_t *out)
{
    char *named = weft_slots_free(out->slots)->payload;
    named[WEFT_CELL_NAMED] = (char)weft_cells_next(out->cells);
    weft_cells_pass(out->cells);
    named[WEFT_SPARE_NAMED] = (char)(weft_cells_spare(out->cells) + 1);
    out->is_in_cell = false;
    return WEFT_IN_CELL | measure_cell(out);
}

/* ---- the long baton ---- */

/* Long payloads go in the baton, too, between near cores: not where a line takes long, and comes
 * faster through memory. */
bool weft_channel_allow_long_baton(weft_channel_out_t *out)
{
    bool is_near = out->has_fast_cells;
    for (int i = 0; i < WEFT_STORE_LONGEST; i++)
        is_near |= weft_store_is_near(&out->stores[i]);
    weft_slots_allow(out->slots, is_near ? out->slots->baton_room : WEFT_BATON_SHORT);
    return is_near;
}

/* ---- the two sides ---- */

void weft_channel_out_init(weft_channel_out_t *out, const weft_channel_t *channel,
                           weft_slots_t *slots, weft_cells_t *cells, bool *is_throttled)
{
    *out = (weft_channel_out_t){.channel = *channel,
                                .slots = slots,
                                .cells = cells,
                                .cell_far = CELL_FAR_BYTES,
                                .units_limit = channel->units,
                                .loss = {.from = weft_channel_loses_from()},
                                .enlarge_at_ns = WEFT_ENLARGE_NS,
                                .is_throttled = is_throttled};
    open_stores(out, false);
    out->is_near = weft_store_is_near(&out->stores[0]); /* where nothing is learnt */
    out->cells_left = CELLS_LEFT;
    out->cells_unmeasured = CELLS_SAMPLED;
    limit_cells(out);
}

void weft_channel_prefer_cells(weft_channel_out_t *out)
{
    out->cell_far = WEFT_CELL_BYTES;
    limit_cells(out);
}

void weft_channel_in_init(weft_channel_in_t *in, const weft_channel_t *channel, weft_slots_t *slots,
                          weft_cells_t *cells)
{
    slots->heeds = WEFT_MARKS;
    slots->is_read_dirty = weft_store_is_read_dirty();
    *in = (weft_channel_in_t){
        .channel = *channel, .slots = slots, .cells = cells, .is_read_dirty = slots->is_read_dirty};
}

void weft_channel_heed(weft_channel_in_t *in, uint32_t marks)
{
    in->is_in_cell = (marks & WEFT_IN_CELL) != 0;
    in->is_left_dirty = (marks & WEFT_LEFT_DIRTY) != 0;
    in->is_measured = (marks & WEFT_MEASURED) != 0;
    in->is_slow = (marks & WEFT_RING_SLOW) != 0;
    if ((marks & WEFT_IN_LARGE) == 0 || in->channel.large == NULL)
        return;
    weft_map_pages(in->channel.large, (size_t)in->channel.large_units * WEFT_DATA_UNIT);
    use_large(&in->channel);
    in->is_read_dirty = false; /* its lines leave the caches by themselves */
    in->slots->heeds = WEFT_MEASURED | WEFT_LEFT_DIRTY | WEFT_IN_CELL;
}

static void send_through_large(weft_channel_out_t *out)
{
    use_large(&out->channel);
    open_stores(out, true);
    expect_cached(out);
    out->measures = NULL;
    out->slots->mark = WEFT_IN_LARGE;
}

/* A slice of the large ring is touched when as much was lost as the one before took. */
static void prepare_slice(weft_channel_out_t *out)
{
    weft_channel_t *channel = &out->channel;
    char *slice = channel->large + (size_t)out->units_touched * WEFT_DATA_UNIT;
    int64_t start = weft_clock_ns();
    if (!weft_touch_pages(slice, WEFT_SLICE_UNITS * WEFT_DATA_UNIT)) {
        channel->large = NULL;
        return;
    }
    out->units_touched += WEFT_SLICE_UNITS;
    out->enlarge_at_ns += weft_clock_ns() - start;
    if (out->units_touched < channel->large_units)
        return;
    WEFT_LOG(WEFT_DEBUG, "shm", "changing over to a ring of %u KiB: %.3f ms were lost without it",
             channel->large_units * WEFT_DATA_UNIT / 1024, (double)out->enlarge_at_ns * 1e-6);
    send_through_large(out);
}

void weft_channel_take_large(weft_channel_out_t *out)
{
    weft_channel_t *channel = &out->channel;
    out->wants_large = 0;
    if (channel->large == NULL)
        return;
    if (weft_touch_pages(channel->large, (size_t)channel->large_units * WEFT_DATA_UNIT))
        send_through_large(out);
    else
        channel->large = NULL;
}

static int64_t lost_by_both(const weft_channel_out_t *out)
{
    uint64_t peers = atomic_load_explicit(&out->channel.credit->lost_ns, memory_order_relaxed);
    return out->lost_ns + (int64_t)peers;
}

/* Then a large ring is no faster: cached data come as slowly from it, and those that were stored
 * past the caches as fast from a small one. */
static bool are_cores_far(const weft_channel_out_t *out)
{
    bool are_far = false;
    for (int i = 0; i < WEFT_STORE_SIZES; i++)
        are_far |= weft_store_is_between_far(&out->stores[i]);
    return are_far;
}

void weft_channel_prepare(weft_channel_out_t *out)
{
    if (out->channel.large != NULL && lost_by_both(out) >= out->enlarge_at_ns &&
        !are_cores_far(out))
        prepare_slice(out);
}

void weft_channel_note_filled(weft_channel_out_t *out, size_t bytes)
{
    if (out->channel.large == NULL)
        return;
    out->lost_ns +=
        weft_ring_loss_of_sample(&out->loss, bytes, weft_clock_ns() - out->reserved_ns,
                                 weft_channel_choice(out, bytes)->way == WEFT_STORE_CACHED);
    if (out->loss.samples == 0)
        out->slots->mark = out->loss.is_fast ? 0 : WEFT_RING_SLOW;
}

void weft_channel_refresh(weft_channel_out_t *out)
{
    const weft_credit_t *credit = out->channel.credit;
    weft_channel_prepare(out);
    out->slots->limit = atomic_load_explicit(&credit->slots, memory_order_acquire) + WEFT_SLOTS;
    out->units_limit =
        atomic_load_explicit(&credit->units, memory_order_acquire) + out->channel.units;
    *out->is_throttled = atomic_load_explicit(&credit->is_throttled, memory_order_relaxed) != 0;
}

/* ---- how data are stored ---- */

/* Has the receiver shown what reading the packet took that was measured last? */
static bool take_cost(weft_channel_out_t *out)
{
    weft_store_choice_t *choice = out->measures;
    uint32_t *units_at = &out->units_at[choice - out->stores];
    int read_cost = shown_cost(out);
    if (read_cost < 0)
        return false;
    weft_store_cost_t cost = {out->write_cost, (float)read_cost};
    if (choice->way == WEFT_STORE_CACHED && choice->settling == 0 && !out->has_fast_cells) {
        out->is_near = !weft_store_is_far(cost);
        limit_cells(out);
    }
    weft_store_note(choice, cost, (size_t)(out->units_sent - *units_at) * WEFT_DATA_UNIT);
    *units_at = out->units_sent;
    out->measures = NULL;
    return true;
}

/* What was measured last is counted first, which may change the way: so one packet does not do
 * both. */
static __attribute__((noinline)) void store_sample(weft_channel_out_t *out, void *to,
                                                   const void *from, size_t bytes)
{
    weft_store_choice_t *choice = weft_channel_choice(out, bytes), *measures = out->measures;
    weft_store_t way = choice->way;
    if (measures != NULL || (out->measures_cell && !take_cell_cost(out))) {
        if (measures == NULL || !take_cost(out) || measures != choice)
            choice->left = 1;
        weft_store_copy(way, to, from, bytes);
        return;
    }
    int64_t began_ns = weft_clock_ns();
    weft_store_copy(way, to, from, bytes);
    out->write_cost = weft_store_per_kib(weft_clock_ns() - began_ns, bytes);
    choice->left = 1;
    out->measures = choice;
    out->measured++;
    out->sample_mark = WEFT_MEASURED;
}

void weft_channel_store(weft_channel_out_t *out, void *to, const void *from, size_t bytes)
{
    weft_store_choice_t *choice = weft_channel_choice(out, bytes);
    if (out->is_in_cell)
        weft_copy_write(to, from, bytes);
    else if (weft_store_is_sample(choice))
        store_sample(out, to, from, bytes);
    else
        weft_store_copy(choice->way, to, from, bytes);
}

uint32_t weft_channel_finish(weft_channel_out_t *out, size_t bytes)
{
    uint32_t marks = out->sample_mark;
    if (out->is_in_cell)
        return pass_cell(out);
    out->sample_mark = 0;
    bool is_dirty = weft_channel_choice(out, bytes)->way == WEFT_STORE_DIRTY;
    return is_dirty ? marks | WEFT_LEFT_DIRTY : marks;
}

void weft_channel_show_cost(weft_channel_in_t *in, size_t bytes, int64_t ns)
{
    float cost = weft_store_per_kib(ns, bytes);
    uint32_t shown = cost < 0xffff ? (uint32_t)cost : 0xffff;
    in->is_measured = false;
    in->measured++;
    atomic_store_explicit(&in->channel.credit->read_cost, in->measured << 16 | shown,
                          memory_order_relaxed);
}

void weft_channel_count_stores(const weft_channel_out_t *out, int learnt[WEFT_STORES])
{
    for (int i = 0; i < WEFT_STORE_SIZES; i++)
        learnt[out->stores[i].way] += out->stores[i].usual > 0;
}
