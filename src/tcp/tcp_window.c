/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages: the receiver asks for the bytes of a window (READ), the sender's side of this
 * transport writes them to the socket straight out of the user's memory. Only memory that was
 * exposed, and under the key it got then, is ever sent.
 */
#include "tcp/tcp_private.h"

#include "base/pool.h"

#include <string.h>

typedef struct exposed {
    const char *data;
    size_t bytes;
    uint64_t key; /* 0: nothing is exposed here */
    weft_exposure_t *exposure;
} exposed_t;

static weft_pool_t exposures = WEFT_POOL(exposed_t);
static uint64_t next_key = 1, next_fetch = 1;

/* keys[1] says where the entry lies, which is checked before it is looked at. */
bool wefti_tcp_expose(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                      const struct weft_memory *memory, weft_exposure_t *out)
{
    (void)endpoint;
    exposed_t *entry = memory == NULL ? weft_pool_take(&exposures) : NULL;
    if (entry == NULL)
        return false;
    *entry = (exposed_t){data, bytes, next_key++, out};
    *out = (weft_exposure_t){.registration = entry};
    out->window.address = (uint64_t)(uintptr_t)data;
    out->window.keys[0] = entry->key;
    out->window.keys[1] = (uint64_t)(uintptr_t)entry;
    return true;
}

void wefti_tcp_conceal(weft_endpoint_t *endpoint, weft_exposure_t *exposure)
{
    (void)endpoint;
    exposed_t *entry = exposure->registration;
    entry->key = 0;
    weft_pool_give(&exposures, entry);
}

/* NULL: it is not, or no more. */
static const exposed_t *find_exposed(const tcp_read_t *read)
{
    const exposed_t *entry = (const exposed_t *)(uintptr_t)read->entry;
    bool is_exposed = weft_pool_owns(&exposures, entry) && entry->key != 0 && entry->key == read->key;
    return is_exposed ? entry : NULL;
}

bool wefti_tcp_may_read(const tcp_read_t *read)
{
    const exposed_t *entry = find_exposed(read);
    if (entry == NULL)
        return false;
    uint64_t first = (uint64_t)(uintptr_t)entry->data;
    return read->address >= first && read->address - first <= entry->bytes &&
           read->bytes <= entry->bytes - (read->address - first);
}

void wefti_tcp_window_ends(const tcp_read_t *read)
{
    const exposed_t *entry = find_exposed(read);
    if (entry != NULL && entry->exposure->taken != NULL)
        entry->exposure->taken(entry->exposure);
}

/* ---- fetches, oldest first ---- */

/* In a fetch of ours `registration` holds its number, `has_failed` says that it was not asked for
 * yet, and `begun` counts what has come. */
static uint64_t number_of_get(const weft_fetch_t *fetch)
{
    return (uint64_t)(uintptr_t)fetch->registration;
}

weft_fetch_t *wefti_tcp_find_fetch(tcp_peer_t *peer, uint64_t number)
{
    for (weft_fetch_t *fetch = peer->fetches; fetch != NULL; fetch = fetch->next) {
        if (number_of_get(fetch) == number)
            return fetch;
    }
    return NULL;
}

void wefti_tcp_end_fetch(tcp_peer_t *peer, weft_fetch_t *fetch, bool is_good)
{
    weft_fetch_t **at = &peer->fetches;
    while (*at != fetch)
        at = &(*at)->next;
    *at = fetch->next;
    peer->fetched_bytes -= fetch->bytes - fetch->begun;
    fetch->done(fetch, is_good);
}

static bool ask_peer(tcp_peer_t *peer, const weft_fetch_t *fetch)
{
    weft_header_t header = {.kind = FRAME_READ, .bytes = sizeof(tcp_read_t)};
    tcp_read_t read = {.address = fetch->window.address,
                       .key = fetch->window.keys[0],
                       .entry = fetch->window.keys[1],
                       .bytes = fetch->bytes,
                       .fetch = number_of_get(fetch),
                       .ends = fetch->ends};
    return wefti_tcp_send(&peer->endpoint, &header, &read);
}

bool wefti_tcp_ask_fetches(tcp_peer_t *peer)
{
    for (weft_fetch_t *fetch = peer->fetches; fetch != NULL; fetch = fetch->next) {
        if (!fetch->has_failed)
            continue;
        if (!ask_peer(peer, fetch))
            return false;
        fetch->has_failed = false;
    }
    return true;
}

void wefti_tcp_fetch(weft_fetch_t *fetch)
{
    tcp_peer_t *peer = (tcp_peer_t *)fetch->endpoint;
    weft_fetch_t **end = &peer->fetches;
    if (fetch->bytes == 0) {
        fetch->done(fetch, true);
        return;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = fetch;
    fetch->next = NULL;
    fetch->registration = (void *)(uintptr_t)next_fetch++;
    fetch->begun = 0;
    peer->fetched_bytes += fetch->bytes;
    fetch->has_failed = !ask_peer(peer, fetch);
    if (fetch->has_failed)
        wefti_tcp_note_dirty(peer);
}

void wefti_tcp_window_close(void)
{
    weft_pool_close(&exposures);
}
