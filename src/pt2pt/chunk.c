/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of messages in pinned slots or on shelves, and the queue of transfers that wait for slots.
 */
#include "pt2pt/device_private.h"

#include "runtime/progress.h"
#include "runtime/shelf.h"
#include "base/pool.h"

static weft_pool_t chunks = WEFT_POOL(weft_chunk_t);
static weft_list_t waiting = {&waiting, &waiting};

static weft_chunk_t *chunk_create(size_t offset, size_t bytes)
{
    weft_chunk_t *chunk = weft_pool_take(&chunks);
    if (chunk == NULL)
        return NULL;
    *chunk = (weft_chunk_t){.offset = offset, .bytes = bytes};
    weft_list_init(&chunk->link);
    return chunk;
}

weft_chunk_t *wefti_chunk_take(weft_device_t *device, size_t offset, size_t bytes)
{
    weft_chunk_t *chunk = chunk_create(offset, bytes);
    if (chunk == NULL)
        return NULL;
    chunk->slot = weft_device->take_pinned(device, bytes);
    if (chunk->slot != NULL)
        return chunk;
    weft_pool_give(&chunks, chunk);
    return NULL;
}

weft_chunk_t *wefti_chunk_on_shelf(size_t offset, size_t bytes)
{
    weft_chunk_t *chunk = chunk_create(offset, bytes);
    if (chunk == NULL)
        return NULL;
    chunk->slot = weft_shelf_take();
    if (chunk->slot != NULL) {
        chunk->ticket = wefti_shelf_enter(chunk);
        return chunk;
    }
    weft_pool_give(&chunks, chunk);
    return NULL;
}

weft_chunk_t *wefti_chunk_of_peer(char *piece, uint64_t ticket, size_t offset, size_t bytes)
{
    weft_chunk_t *chunk = chunk_create(offset, bytes);
    if (chunk == NULL)
        return NULL;
    chunk->slot = piece;
    chunk->ticket = ticket;
    chunk->is_peers = true;
    return chunk;
}

void wefti_chunk_give(weft_chunk_t *chunk)
{
    weft_list_remove(&chunk->link);
    if (chunk->ticket == 0) {
        weft_device->give_pinned(chunk->slot);
    } else if (!chunk->is_peers) {
        wefti_shelf_leave(chunk);
        weft_shelf_give(chunk->slot);
    }
    weft_pool_give(&chunks, chunk);
}

/* In each round the first slot waiter tries again; if it gets none it goes to the end. */
static int chunk_retry_first(bool everything)
{
    (void)everything;
    weft_link_t *link = weft_list_pop(&waiting);
    if (link == NULL) {
        weft_progress_remove(chunk_retry_first);
        return 0;
    }
    weft_slot_waiter_t *slot_waiter = WEFT_ELEMENT(link, weft_slot_waiter_t, link);
    slot_waiter->retry(slot_waiter->owner);
    return weft_list_is_empty(&waiting) || waiting.previous != link;
}

void wefti_slot_waiter_init(weft_slot_waiter_t *slot_waiter, void (*retry)(void *owner),
                            void *owner)
{
    weft_list_init(&slot_waiter->link);
    slot_waiter->retry = retry;
    slot_waiter->owner = owner;
}

void wefti_slot_waiter_wait(weft_slot_waiter_t *slot_waiter)
{
    if (!weft_list_is_empty(&slot_waiter->link))
        return;
    weft_list_append(&waiting, &slot_waiter->link);
    weft_progress_need(chunk_retry_first);
}

void wefti_slot_waiter_forget(weft_slot_waiter_t *slot_waiter)
{
    weft_list_remove(&slot_waiter->link);
}

void wefti_chunks_close(void)
{
    weft_progress_remove(chunk_retry_first);
    weft_pool_close(&chunks);
}
