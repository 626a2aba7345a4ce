/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages: the receiver asks for the sender's bytes (READ), the sender's side of this
 * transport writes them to the socket straight out of the user's memory. Only memory that is
 * registered, and under the key it got then, is ever sent.
 */
#include "tcp/tcp_private.h"

#include "base/pool.h"

#include <string.h>

typedef struct entry {
    const char *data;
    size_t bytes;
    uint64_t key; /* 0: nothing is registered here */
    weft_registration_t *registration;
} get_entry_t;

static weft_pool_t entries = WEFT_POOL(get_entry_t);
static uint64_t next_key = 1, next_get = 1;

/* keys[1] says where the entry lies, which is checked before it is looked at. */
bool wefti_tcp_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const struct weft_memory *memory, weft_registration_t *out)
{
    (void)endpoint;
    get_entry_t *entry = memory == NULL ? weft_pool_take(&entries) : NULL;
    if (entry == NULL)
        return false;
    *entry = (get_entry_t){data, bytes, next_key++, out};
    *out = (weft_registration_t){.handle = entry};
    out->rkey.address = (uint64_t)(uintptr_t)data;
    out->rkey.keys[0] = entry->key;
    out->rkey.keys[1] = (uint64_t)(uintptr_t)entry;
    return true;
}

void wefti_tcp_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration)
{
    (void)endpoint;
    get_entry_t *entry = registration->handle;
    entry->key = 0;
    weft_pool_give(&entries, entry);
}

/* NULL: it is not, or no more. */
static const get_entry_t *tcp_get_find_entry(const tcp_read_t *read)
{
    const get_entry_t *entry = (const get_entry_t *)(uintptr_t)read->entry;
    bool is_registered =
        weft_pool_owns(&entries, entry) && entry->key != 0 && entry->key == read->key;
    return is_registered ? entry : NULL;
}

bool wefti_tcp_may_read(const tcp_read_t *read)
{
    const get_entry_t *entry = tcp_get_find_entry(read);
    if (entry == NULL)
        return false;
    uint64_t first = (uint64_t)(uintptr_t)entry->data;
    return read->address >= first && read->address - first <= entry->bytes &&
           read->bytes <= entry->bytes - (read->address - first);
}

void wefti_tcp_registration_ends(const tcp_read_t *read)
{
    const get_entry_t *entry = tcp_get_find_entry(read);
    if (entry != NULL && entry->registration->taken != NULL)
        entry->registration->taken(entry->registration);
}

/* ---- gets, oldest first ---- */

/* In a get of ours `handle` holds its number, `has_failed` says that it was not asked for
 * yet, and `begun` counts what has come. */
static uint64_t number_of(const weft_get_t *get)
{
    return (uint64_t)(uintptr_t)get->handle;
}

weft_get_t *wefti_tcp_find_get(tcp_peer_t *peer, uint64_t number)
{
    for (weft_get_t *get = peer->gets; get != NULL; get = get->next) {
        if (number_of(get) == number)
            return get;
    }
    return NULL;
}

void wefti_tcp_end_get(tcp_peer_t *peer, weft_get_t *get, bool is_good)
{
    weft_get_t **at = &peer->gets;
    while (*at != get)
        at = &(*at)->next;
    *at = get->next;
    peer->wanted_bytes -= get->bytes - get->begun;
    get->done(get, is_good);
}

static bool ask(tcp_peer_t *peer, const weft_get_t *get)
{
    weft_header_t header = {.kind = FRAME_READ, .bytes = sizeof(tcp_read_t)};
    tcp_read_t read = {.address = get->rkey.address,
                       .key = get->rkey.keys[0],
                       .entry = get->rkey.keys[1],
                       .bytes = get->bytes,
                       .get = number_of(get),
                       .ends = get->ends};
    return wefti_tcp_send(&peer->net.endpoint, &header, &read);
}

bool wefti_tcp_ask_gets(tcp_peer_t *peer)
{
    for (weft_get_t *get = peer->gets; get != NULL; get = get->next) {
        if (!get->has_failed)
            continue;
        if (!ask(peer, get))
            return false;
        get->has_failed = false;
    }
    return true;
}

void wefti_tcp_get(weft_get_t *get)
{
    tcp_peer_t *peer = (tcp_peer_t *)get->endpoint;
    weft_get_t **end = &peer->gets;
    if (get->bytes == 0) {
        get->done(get, true);
        return;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = get;
    get->next = NULL;
    get->handle = (void *)(uintptr_t)next_get++;
    get->begun = 0;
    peer->wanted_bytes += get->bytes;
    get->has_failed = !ask(peer, get);
    if (get->has_failed)
        wefti_tcp_note_dirty(peer);
}

void wefti_tcp_gets_close(void)
{
    weft_pool_close(&entries);
}
