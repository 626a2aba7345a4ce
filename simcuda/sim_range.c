/* SPDX-License-Identifier: BSD-3-Clause */
/* A sorted table of pointers to ranges, searched by bisection. */
#include "sim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static sim_range_t **ranges;
static size_t count, room;
static _Atomic uint64_t epoch = 1;

uint64_t sim_range_epoch(void)
{
    return atomic_load(&epoch);
}

void sim_range_changed(void)
{
    atomic_fetch_add(&epoch, 1);
}

/* How many ranges begin at or below `address`. */
static size_t rank_of(uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sim_range_t *sim_range_add(const sim_range_t *range)
{
    if (count == room) {
        room = 2 * room + 64;
        ranges = realloc(ranges, room * sizeof(*ranges));
        if (ranges == NULL)
            sim_die("no memory for %zu ranges", room);
    }
    sim_range_t *added = sim_alloc(sizeof(*added));
    *added = *range;
    added->id = sim_next_id();
    size_t at = rank_of(range->start);
    memmove(ranges + at + 1, ranges + at, (count - at) * sizeof(ranges[0]));
    ranges[at] = added;
    count++;
    sim_range_changed();
    return added;
}

void sim_range_remove(sim_range_t *range)
{
    size_t at = rank_of(range->start) - 1;
    count--;
    memmove(ranges + at, ranges + at + 1, (count - at) * sizeof(ranges[0]));
    free(range);
    sim_range_changed();
}

sim_range_t *sim_range_find(uintptr_t address)
{
    size_t at = rank_of(address);
    return at > 0 && address - ranges[at - 1]->start < ranges[at - 1]->bytes ? ranges[at - 1]
                                                                             : NULL;
}

sim_range_t *sim_range_at(uintptr_t address)
{
    sim_range_t *range = sim_range_find(address);
    return range != NULL && range->start == address ? range : NULL;
}

sim_range_t *sim_range_within(uintptr_t start, size_t bytes)
{
    size_t at = rank_of(start + bytes - 1);
    return at > 0 && ranges[at - 1]->start + ranges[at - 1]->bytes > start ? ranges[at - 1] : NULL;
}

bool sim_range_overlaps(uintptr_t start, size_t bytes)
{
    return sim_range_within(start, bytes) != NULL;
}

void sim_range_each(void (*visit)(sim_range_t *range, void *data), void *data)
{
    for (size_t i = count; i > 0; i--)
        visit(ranges[i - 1], data);
}

bool sim_is_host(const sim_range_t *range)
{
    return range->what == SIM_PINNED || range->what == SIM_REGISTERED;
}

bool sim_is_synchronous(const sim_range_t *range)
{
    return range->sync_memops && range->what != SIM_POOLED;
}

typedef bool may_fn_t(const sim_context_t *context, const sim_range_t *range, bool writes);

static bool has_right(const sim_range_t *range, int device, bool writes)
{
    return device >= 0 && ((writes ? range->writers : range->readers) & (uint64_t)1 << device) != 0;
}

static bool may_touch(const sim_context_t *context, const sim_range_t *range, bool writes)
{
    switch (range->what) {
    case SIM_MULTICAST:
        return false;
    case SIM_POOLED:
    case SIM_MAPPED:
        return !range->is_pending && has_right(range, context->device->ordinal, writes);
    case SIM_DEVICE_MEMORY:
    case SIM_IMPORTED:
        return range->device == context->device->ordinal || range->context == context ||
               (range->device >= 0 && (context->peers & (uint64_t)1 << range->device) != 0);
    default:
        return true;
    }
}

/* The driver also copies between devices that are not peers. */
static bool may_move(const sim_context_t *context, const sim_range_t *range, bool writes)
{
    if (range->what == SIM_MULTICAST)
        return false;
    if (range->what == SIM_POOLED || range->what == SIM_MAPPED)
        return may_touch(context, range, writes) ||
               (!range->is_pending && has_right(range, range->device, writes));
    return true;
}

static bool may_all(may_fn_t *may, const sim_context_t *context, sim_area_t area)
{
    uintptr_t at = area.start, end = area.start + area.bytes;
    do {
        const sim_range_t *range = sim_range_find(at);
        if (range == NULL || !may(context, range, area.is_written))
            return false;
        at = range->start + range->bytes;
    } while (at < end);
    return true;
}

bool sim_may_touch(const sim_context_t *context, sim_area_t area)
{
    return may_all(may_touch, context, area);
}

bool sim_may_multicast(const sim_context_t *context, uintptr_t address)
{
    const sim_range_t *range = sim_range_find(address);
    return range != NULL && range->what == SIM_MULTICAST &&
           has_right(range, context->device->ordinal, true);
}

bool sim_may_copy(const sim_context_t *context, sim_area_t area)
{
    return may_all(may_move, context, area);
}

bool sim_is_lost(const sim_context_t *context, uintptr_t address)
{
    const sim_range_t *range = sim_range_find(address);
    return range != NULL && range->what != SIM_MANAGED && range->device_index >= 0 &&
           sim_do_peers_lie(context->device->index, range->device_index);
}

static bool may_know(const sim_context_t *context, const sim_range_t *range, bool writes)
{
    (void)context, (void)range, (void)writes;
    return true;
}

bool sim_range_covers(uintptr_t start, size_t bytes)
{
    return may_all(may_know, NULL, (sim_area_t){start, bytes, false});
}
