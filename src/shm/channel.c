/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/channel.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    SAMPLE_BYTES = 64 * 1024, /* touched to find out how long that takes */
    /* The large ring saves some 0.1 ns a byte. What it costs is to be less than a quarter of what
     * has been spent before. */
    BYTES_PER_NS = 40,
    READ_SHARE = 4, /* it saves less of what would be read otherwise */
};

void weft_channel_enlarge(weft_channel_t *channel)
{
    channel->data = channel->large;
    channel->units = channel->large_units;
    channel->large = NULL;
}

/* All pages in one call take less time than faults would. EINVAL: the kernel is too old for that,
 * and they will be touched by faults. */
static bool touch_pages(char *memory, size_t bytes)
{
    return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

/* Units of traffic that pay for the pages of a large ring, by the time that a sample of them takes;
 * at most UINT32_MAX: never. */
static uint32_t price_of_pages(const weft_channel_t *channel)
{
    size_t bytes = (size_t)channel->large_units * WEFT_DATA_UNIT;
    int64_t start = weft_clock_ns();
    if (bytes < SAMPLE_BYTES || !touch_pages(channel->large, SAMPLE_BYTES))
        return UINT32_MAX;
    int64_t ns = (weft_clock_ns() - start) * (int64_t)(bytes / SAMPLE_BYTES);
    int64_t units = ns * BYTES_PER_NS / WEFT_DATA_UNIT;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

static uint32_t traffic_of(const weft_channel_out_t *out)
{
    return out->units_sent +
           atomic_load_explicit(&out->channel.credit->units_read, memory_order_relaxed) /
               READ_SHARE;
}

/* The first time it only finds out what the pages cost. */
static void consider_enlarging(weft_channel_out_t *out)
{
    enum { FIRST = WEFT_ENLARGE_BYTES / WEFT_DATA_UNIT };
    weft_channel_t *channel = &out->channel;
    if (traffic_of(out) < out->enlarge_at)
        return;
    if (out->enlarge_at == FIRST) {
        uint32_t price = price_of_pages(channel);
        out->enlarge_at = price > FIRST ? price : FIRST + 1;
        return;
    }
    if (!touch_pages(channel->large, (size_t)channel->large_units * WEFT_DATA_UNIT)) {
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
