/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulator/ends_private.h"

#include "base/memory.h"

enum { NONE = -1 };

typedef struct node {
    weft_sim_end_t end;
    int32_t next;
} node_t;

/* Chains are in order of time. Ends that have been taken are in a chain of their own. */
struct weft_sim_channels {
    int32_t *firsts, *lasts; /* [mask + 1] */
    size_t mask;
    node_t *nodes;
    size_t count, room;
    int32_t unused;
};

weft_sim_channels_t *weft_sim_channels_create(size_t ends)
{
    weft_sim_channels_t *channels = weft_alloc_zeroed(1, sizeof(*channels));
    if (channels == NULL)
        return NULL;
    size_t buckets = 64;
    while (buckets < ends)
        buckets *= 2;
    channels->mask = buckets - 1;
    channels->unused = NONE;
    channels->firsts = weft_alloc_array(buckets, sizeof(int32_t));
    channels->lasts = weft_alloc_array(buckets, sizeof(int32_t));
    if (channels->firsts == NULL || channels->lasts == NULL) {
        weft_sim_channels_release(channels);
        return NULL;
    }
    for (size_t i = 0; i < buckets; i++)
        channels->firsts[i] = channels->lasts[i] = NONE;
    return channels;
}

void weft_sim_channels_release(weft_sim_channels_t *channels)
{
    for (size_t i = 0; i <= channels->mask && channels->lasts != NULL; i++) {
        for (int32_t at = channels->firsts[i]; at != NONE; at = channels->nodes[at].next)
            weft_free(channels->nodes[at].end.data);
    }
    weft_free(channels->firsts);
    weft_free(channels->lasts);
    weft_free(channels->nodes);
    weft_free(channels);
}

static size_t bucket_of(const weft_sim_channels_t *channels, const weft_sim_end_t *end)
{
    uint64_t key = ((uint64_t)(uint32_t)end->from << 32 | (uint32_t)end->to) ^
                   (uint64_t)(uint16_t)end->part << 20;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 29) & channels->mask;
}

static bool meets(const weft_sim_end_t *a, const weft_sim_end_t *b)
{
    return a->from == b->from && a->to == b->to && a->part == b->part && a->is_send != b->is_send;
}

bool weft_sim_channels_take(weft_sim_channels_t *channels, const weft_sim_end_t *end,
                            weft_sim_end_t *out)
{
    size_t bucket = bucket_of(channels, end);
    int32_t before = NONE, at = channels->firsts[bucket];
    while (at != NONE && !meets(&channels->nodes[at].end, end)) {
        before = at;
        at = channels->nodes[at].next;
    }
    if (at == NONE)
        return false;
    int32_t next = channels->nodes[at].next;
    if (before == NONE)
        channels->firsts[bucket] = next;
    else
        channels->nodes[before].next = next;
    if (channels->lasts[bucket] == at)
        channels->lasts[bucket] = before;
    *out = channels->nodes[at].end;
    channels->nodes[at].next = channels->unused;
    channels->unused = at;
    return true;
}

static int32_t take_unused(weft_sim_channels_t *channels)
{
    int32_t at = channels->unused;
    if (at != NONE) {
        channels->unused = channels->nodes[at].next;
        return at;
    }
    if (channels->count == channels->room) {
        size_t room = channels->room == 0 ? 1024 : channels->room * 2;
        node_t *nodes = weft_realloc(channels->nodes, room * sizeof(*nodes));
        if (nodes == NULL)
            return NONE;
        channels->nodes = nodes;
        channels->room = room;
    }
    return (int32_t)channels->count++;
}

bool weft_sim_channels_keep(weft_sim_channels_t *channels, const weft_sim_end_t *end)
{
    size_t bucket = bucket_of(channels, end);
    int32_t at = take_unused(channels);
    if (at == NONE)
        return false;
    channels->nodes[at] = (node_t){*end, NONE};
    if (channels->lasts[bucket] == NONE)
        channels->firsts[bucket] = at;
    else
        channels->nodes[channels->lasts[bucket]].next = at;
    channels->lasts[bucket] = at;
    return true;
}

bool weft_sim_channels_any(const weft_sim_channels_t *channels, weft_sim_end_t *out)
{
    for (size_t i = 0; i <= channels->mask; i++) {
        if (channels->firsts[i] != NONE) {
            *out = channels->nodes[channels->firsts[i]].end;
            return true;
        }
    }
    return false;
}
