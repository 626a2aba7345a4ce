/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/channel.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"

enum {
    SAMPLE_BYTES = 64 * 1024, /* touched to find out how long that takes */
    UNIT_NS = 3,              /* that a unit takes in the small ring, or more */
};

void weft_channel_enlarge(weft_channel_t *channel)
{
    channel->data = channel->large;
    channel->units = channel->large_units;
    channel->large = NULL;
}

/* What the pages of a large ring take, by the time that a sample of them takes; INT64_MAX if there
 * is no memory. */
static int64_t price_of_pages(const weft_channel_t *channel)
{
    size_t bytes = (size_t)channel->large_units * WEFT_DATA_UNIT;
    int64_t start = weft_clock_ns();
    if (bytes < SAMPLE_BYTES || !weft_touch_pages(channel->large, SAMPLE_BYTES))
        return INT64_MAX;
    return (weft_clock_ns() - start) * (int64_t)(bytes / SAMPLE_BYTES);
}

static int64_t time_spent(const weft_channel_out_t *out)
{
    uint64_t read_ns = atomic_load_explicit(&out->channel.credit->read_ns, memory_order_relaxed);
    return (int64_t)(read_ns + (uint64_t)out->units_sent * UNIT_NS);
}

/* The first time it only finds out what the pages cost. */
static void consider_enlarging(weft_channel_out_t *out)
{
    weft_channel_t *channel = &out->channel;
    if (time_spent(out) < out->enlarge_at_ns)
        return;
    if (out->enlarge_at_ns == WEFT_ENLARGE_NS) {
        int64_t price = price_of_pages(channel);
        out->enlarge_at_ns = price > WEFT_ENLARGE_NS ? price : WEFT_ENLARGE_NS + 1;
        WEFT_LOG(WEFT_DEBUG, "shm", "a large ring costs %.3f ms; %.3f were spent without",
                 (double)price * 1e-6, (double)time_spent(out) * 1e-6);
        return;
    }
    if (!weft_touch_pages(channel->large, (size_t)channel->large_units * WEFT_DATA_UNIT)) {
        channel->large = NULL;
        return;
    }
    weft_channel_enlarge(channel);
    out->mark = WEFT_IN_LARGE;
}

void weft_channel_refresh(weft_channel_out_t *out)
{
    const weft_credit_t *credit = out->channel.credit;
    if (out->channel.large != NULL)
        consider_enlarging(out);
    out->slots_limit = atomic_load_explicit(&credit->slots, memory_order_acquire) + WEFT_SLOTS;
    out->units_limit =
        atomic_load_explicit(&credit->units, memory_order_acquire) + out->channel.units;
    *out->is_throttled = atomic_load_explicit(&credit->is_throttled, memory_order_relaxed) != 0;
}
