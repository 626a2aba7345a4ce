/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages: the receiver asks for the sender's bytes (READ), and the sender's transport
 * writes them to the socket straight out of the user's memory. It sends only memory that is
 * registered, and only if the READ carries the key of the registration.
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

/* keys[1] is the address of the entry, which is checked before it is used. */
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

/* NULL: there is no such registration. */
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

/* This transport uses the members of a get so: `handle` is its number, and `begun` counts the bytes
 * that have come. The peer is asked for gets in the order in which they were begun. */
static uint64_t number_of(const weft_get_t *get)
{
    return (uint64_t)(uintptr_t)get->handle;
}

weft_get_t *wefti_tcp_find_get(tcp_peer_t *peer, uint64_t number)
{
    for (weft_get_t *get = peer->gets; get != peer->unasked; get = get->next) {
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
    if (peer->last_get == &get->next)
        peer->last_get = at;
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
    return wefti_tcp_send(&peer->net.endpoint, header, &read);
}

bool wefti_tcp_ask_gets(tcp_peer_t *peer)
{
    while (peer->unasked != NULL) {
        weft_get_t *get = peer->unasked;
        /* Before: a READ that fills the buffer has the buffer written, which comes back here. */
        peer->unasked = get->next;
        if (!ask(peer, get)) {
            peer->unasked = get;
            return false;
        }
    }
    return true;
}

void wefti_tcp_get(weft_get_t *get)
{
    tcp_peer_t *peer = (tcp_peer_t *)get->endpoint;
    if (get->bytes == 0) {
        get->done(get, true);
        return;
    }
    if (peer->gets == NULL)
        peer->last_get = &peer->gets;
    *peer->last_get = get;
    peer->last_get = &get->next;
    get->next = NULL;
    get->handle = (void *)(uintptr_t)next_get++;
    get->begun = 0;
    peer->wanted_bytes += get->bytes;
    if (peer->unasked == NULL)
        peer->unasked = get;
    if (!wefti_tcp_ask_gets(peer))
        wefti_tcp_note_dirty(peer);
}

void wefti_tcp_gets_close(void)
{
    weft_pool_close(&entries);
}
