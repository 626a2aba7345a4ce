/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/channel.h"

#include "base/log.h"
#include "base/pages.h"

static void use_large(weft_channel_t *channel)
{
    channel->data = channel->large;
    channel->units = channel->large_units;
    channel->large = NULL;
}

void weft_channel_out_init(weft_channel_out_t *out, const weft_channel_t *channel,
                           bool *is_throttled)
{
    *out = (weft_channel_out_t){.channel = *channel,
                                .slots_limit = WEFT_SLOTS,
                                .units_limit = channel->units,
                                .enlarge_at_ns = WEFT_ENLARGE_NS,
                                .is_throttled = is_throttled};
    weft_store_open(&out->store);
}

void weft_channel_in_init(weft_channel_in_t *in, const weft_channel_t *channel)
{
    *in = (weft_channel_in_t){.channel = *channel, .heeds = WEFT_MARKS};
}

void weft_channel_heed(weft_channel_in_t *in, uint32_t marks)
{
    in->is_measured = (marks & WEFT_MEASURED) != 0;
    in->is_slow = (marks & WEFT_RING_SLOW) != 0;
    if ((marks & WEFT_IN_LARGE) == 0 || in->channel.large == NULL)
        return;
    weft_map_pages(in->channel.large, (size_t)in->channel.large_units * WEFT_DATA_UNIT);
    use_large(&in->channel);
    in->heeds = WEFT_MEASURED;
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
    use_large(channel);
    weft_store_open(&out->store);
    out->mark = WEFT_IN_LARGE;
}

static int64_t lost_by_both(const weft_channel_out_t *out)
{
    uint64_t peers = atomic_load_explicit(&out->channel.credit->lost_ns, memory_order_relaxed);
    return out->lost_ns + (int64_t)peers;
}

void weft_channel_prepare(weft_channel_out_t *out)
{
    if (out->channel.large != NULL && lost_by_both(out) >= out->enlarge_at_ns)
        prepare_slice(out);
}

void weft_channel_note_filled(weft_channel_out_t *out, size_t bytes)
{
    if (out->channel.large == NULL)
        return;
    out->lost_ns += weft_ring_loss_of_sample(&out->loss, bytes, weft_clock_ns() - out->reserved_ns);
    if (out->loss.samples == 0)
        out->mark = out->loss.is_fast ? 0 : WEFT_RING_SLOW;
}

void weft_channel_refresh(weft_channel_out_t *out)
{
    const weft_credit_t *credit = out->channel.credit;
    weft_channel_prepare(out);
    out->slots_limit = atomic_load_explicit(&credit->slots, memory_order_acquire) + WEFT_SLOTS;
    out->units_limit =
        atomic_load_explicit(&credit->units, memory_order_acquire) + out->channel.units;
    *out->is_throttled = atomic_load_explicit(&credit->is_throttled, memory_order_relaxed) != 0;
}

/* ---- how data are stored ---- */

/* Has the receiver shown what reading the packet took that was measured last? */
static bool take_cost(weft_channel_out_t *out)
{
    uint32_t shown = atomic_load_explicit(&out->channel.credit->read_cost, memory_order_relaxed);
    if (shown >> 16 != (out->measured & 0xffff))
        return false;
    out->awaits_cost = false;
    weft_store_note(&out->store, (weft_store_cost_t){out->write_cost, (float)(shown & 0xffff)});
    return true;
}

static __attribute__((noinline)) uint32_t fill_sample(weft_channel_out_t *out, void *to,
                                                      const void *payload, size_t bytes)
{
    bool is_measured = !out->awaits_cost;
    if (out->awaits_cost && !take_cost(out))
        out->store.left = 1;
    int64_t began_ns = is_measured ? weft_clock_ns() : 0;
    weft_store_copy(out->store.way, to, payload, bytes);
    if (!is_measured)
        return 0;
    out->write_cost = weft_store_per_kib(weft_clock_ns() - began_ns, bytes);
    out->store.left = 1;
    out->awaits_cost = true;
    out->measured++;
    return WEFT_MEASURED;
}

/* In the first lap both ranks touch pages for the first time. */
static bool has_warmed_up(weft_channel_out_t *out)
{
    out->is_warm = out->is_warm || out->units_sent > out->channel.units;
    if (!out->is_warm)
        out->store.left = 1;
    return out->is_warm;
}

uint32_t weft_channel_fill(weft_channel_out_t *out, void *to, const void *payload, size_t bytes)
{
    uint32_t mark = 0;
    if (weft_store_is_sample(&out->store) && has_warmed_up(out))
        mark = fill_sample(out, to, payload, bytes);
    else
        weft_store_copy(out->store.way, to, payload, bytes);
    weft_channel_is_filled(out, bytes);
    return mark;
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
