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

void weft_channel_heed(weft_channel_in_t *in, uint32_t marks)
{
    in->is_slow = marks == WEFT_RING_SLOW;
    if (marks != WEFT_IN_LARGE)
        return;
    weft_map_pages(in->channel.large, (size_t)in->channel.large_units * WEFT_DATA_UNIT);
    use_large(&in->channel);
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
