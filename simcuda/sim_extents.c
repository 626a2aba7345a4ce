/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static void insert(sim_extents_t *extents, size_t at, uint64_t start, uint64_t bytes)
{
    if (extents->count == extents->room) {
        extents->room = 2 * extents->room + 16;
        extents->list = realloc(extents->list, extents->room * sizeof(*extents->list));
        if (extents->list == NULL)
            sim_die("no memory for %zu extents", extents->room);
    }
    memmove(extents->list + at + 1, extents->list + at,
            (extents->count - at) * sizeof(*extents->list));
    extents->list[at] = (sim_extent_t){start, bytes};
    extents->count++;
}

static void drop(sim_extents_t *extents, size_t at)
{
    extents->count--;
    memmove(extents->list + at, extents->list + at + 1,
            (extents->count - at) * sizeof(*extents->list));
}

/* Cuts [start, start + bytes) out of the extent that holds it. */
static void cut(sim_extents_t *extents, size_t at, uint64_t start, uint64_t bytes)
{
    sim_extent_t old = extents->list[at];
    uint64_t end = start + bytes, old_end = old.start + old.bytes;
    drop(extents, at);
    if (end < old_end)
        insert(extents, at, end, old_end - end);
    if (old.start < start)
        insert(extents, at, old.start, start - old.start);
}

void sim_extents_give(sim_extents_t *extents, uint64_t start, uint64_t bytes)
{
    size_t at = 0;
    while (at < extents->count && extents->list[at].start < start)
        at++;
    insert(extents, at, start, bytes);
    sim_extent_t *list = extents->list;
    if (at + 1 < extents->count && start + bytes == list[at + 1].start) {
        list[at].bytes += list[at + 1].bytes;
        drop(extents, at + 1);
    }
    if (at > 0 && list[at - 1].start + list[at - 1].bytes == start) {
        list[at - 1].bytes += list[at].bytes;
        drop(extents, at);
    }
}

bool sim_extents_take_at(sim_extents_t *extents, uint64_t start, uint64_t bytes)
{
    for (size_t i = 0; i < extents->count; i++) {
        const sim_extent_t *extent = &extents->list[i];
        if (start >= extent->start && start + bytes <= extent->start + extent->bytes) {
            cut(extents, i, start, bytes);
            return true;
        }
    }
    return false;
}

bool sim_extents_take(sim_extents_t *extents, uint64_t bytes, uint64_t alignment,
                      uint64_t *start_out)
{
    for (size_t i = 0; i < extents->count; i++) {
        const sim_extent_t *extent = &extents->list[i];
        uint64_t start = (extent->start + alignment - 1) / alignment * alignment;
        if (start + bytes <= extent->start + extent->bytes) {
            cut(extents, i, start, bytes);
            *start_out = start;
            return true;
        }
    }
    return false;
}

void sim_extents_end(sim_extents_t *extents)
{
    free(extents->list);
    *extents = (sim_extents_t){0};
}
