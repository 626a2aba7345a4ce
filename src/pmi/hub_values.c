/* SPDX-License-Identifier: BSD-3-Clause */
/* The hub's values, the ranks that wait for some, and fences. */
#include "pmi/hub_server_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"
#include "base/text_hash.h"

#include <stdio.h>
#include <string.h>

enum { BUCKETS = 1024, KEY_ROOM = 600 };

typedef struct hub_value {
    weft_link_t link; /* in its bucket */
    char *key;        /* "RANK/KEY" */
    void *data;       /* [bytes] */
    uint32_t bytes;
} hub_value_t;

typedef struct hub_fence {
    weft_link_t link;
    int expected, arrived;
    uint32_t ranks_bytes;
    uint8_t ranks[]; /* [ranks_bytes] as they arrived; none: all ranks */
} hub_fence_t;

static weft_list_t *buckets; /* [BUCKETS] */
static weft_list_t fences;

bool wefti_hub_open_values(void)
{
    weft_list_init(&fences);
    buckets = weft_alloc_array(BUCKETS, sizeof(*buckets));
    for (int i = 0; i < BUCKETS && buckets != NULL; i++)
        weft_list_init(&buckets[i]);
    return buckets != NULL;
}

static void release_value(hub_value_t *value)
{
    weft_list_remove(&value->link);
    weft_free(value->key);
    weft_free(value->data);
    weft_free(value);
}

void wefti_hub_release_values(void)
{
    for (int i = 0; i < BUCKETS && buckets != NULL; i++) {
        while (!weft_list_is_empty(&buckets[i]))
            release_value(WEFT_ELEMENT(buckets[i].next, hub_value_t, link));
    }
    weft_free(buckets);
    buckets = NULL;
    for (weft_link_t *link; (link = weft_list_pop(&fences)) != NULL;)
        weft_free(WEFT_ELEMENT(link, hub_fence_t, link));
}

static weft_list_t *bucket_of(const char *key)
{
    return &buckets[weft_text_hash(key) % BUCKETS];
}

static hub_value_t *find_value(const char *key)
{
    weft_list_t *bucket = bucket_of(key);
    for (weft_link_t *link = bucket->next; link != bucket; link = link->next) {
        hub_value_t *value = WEFT_ELEMENT(link, hub_value_t, link);
        if (strcmp(value->key, key) == 0)
            return value;
    }
    return NULL;
}

static void stop_waiting(hub_client_t *client)
{
    weft_free(client->wanted);
    client->wanted = NULL;
}

static void answer(hub_client_t *client, const hub_value_t *value)
{
    stop_waiting(client);
    wefti_hub_tell(client, &(hub_frame_t){.kind = value == NULL ? HUB_ABSENT : HUB_VALUE,
                                          .data = value == NULL ? NULL : value->data,
                                          .data_bytes = value == NULL ? 0 : value->bytes});
}

static hub_value_t *create_value(const char *key, const hub_frame_t *frame)
{
    hub_value_t *value = weft_alloc_zeroed(1, sizeof(*value));
    if (value == NULL)
        return NULL;
    weft_list_init(&value->link);
    value->key = weft_strdup(key);
    value->data = weft_alloc(frame->data_bytes);
    value->bytes = frame->data_bytes;
    if (value->key == NULL || value->data == NULL) {
        release_value(value);
        return NULL;
    }
    if (frame->data_bytes > 0)
        memcpy(value->data, frame->data, frame->data_bytes);
    return value;
}

void wefti_hub_put(hub_client_t *client, const hub_frame_t *frame)
{
    char key[KEY_ROOM];
    snprintf(key, sizeof(key), "%d/%.*s", client->rank, (int)frame->key_bytes,
             (const char *)frame->key);
    hub_value_t *value = create_value(key, frame), *old = find_value(key);
    if (value == NULL) {
        wefti_hub_lacks_memory();
        return;
    }
    if (old != NULL)
        release_value(old);
    weft_list_append(bucket_of(key), &value->link);
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        hub_client_t *other = wefti_hub.clients[rank];
        if (other != NULL && other->wanted != NULL && strcmp(other->wanted, key) == 0)
            answer(other, value);
    }
}

void wefti_hub_get(hub_client_t *client, const hub_frame_t *frame)
{
    char key[KEY_ROOM];
    snprintf(key, sizeof(key), "%.*s", (int)frame->key_bytes, (const char *)frame->key);
    const hub_value_t *value = find_value(key);
    stop_waiting(client);
    if (value == NULL && frame->number > 0)
        client->wanted = weft_strdup(key);
    if (client->wanted != NULL)
        client->wanted_until_ms = weft_clock_ms() + frame->number;
    else
        answer(client, value);
}

int64_t wefti_hub_next_limit(void)
{
    int64_t next_ms = INT64_MAX;
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        const hub_client_t *client = wefti_hub.clients[rank];
        if (client != NULL && client->wanted != NULL && client->wanted_until_ms < next_ms)
            next_ms = client->wanted_until_ms;
    }
    return next_ms;
}

void wefti_hub_end_waits(void)
{
    int64_t now_ms = weft_clock_ms();
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        hub_client_t *client = wefti_hub.clients[rank];
        if (client != NULL && client->wanted != NULL && client->wanted_until_ms <= now_ms)
            answer(client, NULL);
    }
}

/* The fence of these ranks that some have come to, or a new one. */
static hub_fence_t *find_fence(const hub_frame_t *frame)
{
    for (weft_link_t *link = fences.next; link != &fences; link = link->next) {
        hub_fence_t *fence = WEFT_ELEMENT(link, hub_fence_t, link);
        if (fence->ranks_bytes == frame->key_bytes &&
            memcmp(fence->ranks, frame->key, frame->key_bytes) == 0)
            return fence;
    }
    hub_fence_t *fence = weft_alloc_zeroed(1, sizeof(*fence) + frame->key_bytes);
    if (fence == NULL)
        return NULL;
    fence->ranks_bytes = frame->key_bytes;
    memcpy(fence->ranks, frame->key, frame->key_bytes);
    fence->expected =
        frame->key_bytes == 0 ? wefti_hub.size : (int)(frame->key_bytes / sizeof(int32_t));
    weft_list_append(&fences, &fence->link);
    return fence;
}

bool wefti_hub_survives(const char *why)
{
    if (!weft_config.RECOVERY || !wefti_hub.is_complete)
        return false;
    if (weft_config.REJOIN)
        return wefti_hub.started == wefti_hub.size;
    snprintf(wefti_hub.lost_text, sizeof(wefti_hub.lost_text), "%s", why);
    return weft_list_is_empty(&fences);
}

void wefti_hub_fence(hub_client_t *client, const hub_frame_t *frame)
{
    hub_fence_t *fence = find_fence(frame);
    if (fence == NULL) {
        wefti_hub_lacks_memory();
        return;
    }
    client->fence = fence;
    if (++fence->arrived < fence->expected) {
        if (wefti_hub.lost_text[0] != '\0')
            wefti_hub_end_job(1, WEFTI_NO_HOST, wefti_hub.lost_text);
        return;
    }
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        hub_client_t *other = wefti_hub.clients[rank];
        if (other == NULL || other->fence != fence)
            continue;
        other->fence = NULL;
        wefti_hub_tell(other, &(hub_frame_t){.kind = HUB_FENCED});
    }
    weft_list_remove(&fence->link);
    weft_free(fence);
}
