/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of messages in pinned slots, and the queue of those who wait for slots. */
#include "pt2pt/device_private.h"

#include "core/progress.h"
#include "base/pool.h"

static weft_pool_t chunks = WEFT_POOL(weft_chunk_t);
static weft_list_t waiting = {&waiting, &waiting};

weft_chunk_t *wefti_chunk_take(weft_device_t *device, size_t offset, size_t bytes)
{
    weft_chunk_t *chunk = weft_pool_take(&chunks);
    if (chunk == NULL)
        return NULL;
    *chunk = (weft_chunk_t){.offset = offset, .bytes = bytes};
    weft_list_init(&chunk->link);
    chunk->slot = weft_pinned_take(device, bytes);
    if (chunk->slot != NULL)
        return chunk;
    weft_pool_give(&chunks, chunk);
    return NULL;
}

void wefti_chunk_give(weft_chunk_t *chunk)
{
    weft_list_remove(&chunk->link);
    weft_pinned_give(chunk->slot);
    weft_pool_give(&chunks, chunk);
}

/* One tries in each round; who has to wait again goes to the end. */
static int retry_first(bool everything)
{
    (void)everything;
    weft_link_t *link = weft_list_pop(&waiting);
    if (link == NULL) {
        weft_progress_remove(retry_first);
        return 0;
    }
    weft_starved_t *starved = WEFT_ELEMENT(link, weft_starved_t, link);
    starved->retry(starved->owner);
    return weft_list_is_empty(&waiting) || waiting.previous != link;
}

void wefti_starved_init(weft_starved_t *starved, void (*retry)(void *owner), void *owner)
{
    weft_list_init(&starved->link);
    starved->retry = retry;
    starved->owner = owner;
}

void wefti_starved_wait(weft_starved_t *starved)
{
    if (!weft_list_is_empty(&starved->link))
        return;
    weft_list_append(&waiting, &starved->link);
    weft_progress_add(retry_first);
}

void wefti_starved_forget(weft_starved_t *starved)
{
    weft_list_remove(&starved->link);
}

void wefti_chunks_close(void)
{
    weft_progress_remove(retry_first);
    weft_pool_close(&chunks);
}
