/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/fence_tree.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <pmix.h>
#include <string.h>

/* What a fence is known by. */
typedef struct fence_key {
    weft_purpose_t purpose;
    int *ranks; /* [count] in ascending order; count 0: all of the job */
    int count;
} fence_key_t;

typedef struct fence {
    weft_link_t link;
    fence_key_t key;         /* owns its ranks */
    weft_request_t *request; /* of our server; NULL: it has none here yet, or was answered */
    uint32_t hosts_come, hosts_here, hosts_all; /* below us: come, expected; of the whole fence */
    weft_byte_queue_t data;
} fence_t;

/* Mark the hosts with ranks in the fence. */
static void mark_hosts(const weft_placement_t *placement, const fence_t *fence, bool *is_in)
{
    for (int i = 0; i < placement->host_count; i++)
        is_in[i] = fence->key.count == 0;
    for (int i = 0; i < fence->key.count; i++)
        is_in[placement->host_of[fence->key.ranks[i]]] = true;
}

/* Is host `host`, if marked, to be told by way of that child? */
static bool leads_to(const weft_fences_t *fences, int child, const bool *is_in)
{
    const weft_host_tree_t *tree = &fences->relay->tree;
    for (int i = 0; i < fences->placement->host_count; i++) {
        if (is_in[i] && weft_host_tree_is_below(tree, child, i + 1))
            return true;
    }
    return false;
}

static bool *allocate_marks(const weft_fences_t *fences)
{
    return weft_alloc_array((size_t)fences->placement->host_count, sizeof(bool));
}

static bool count_hosts(const weft_fences_t *fences, fence_t *fence)
{
    bool *is_in = allocate_marks(fences);
    if (is_in == NULL)
        return false;
    mark_hosts(fences->placement, fence, is_in);
    for (int i = 0; i < fences->placement->host_count; i++) {
        fence->hosts_all += is_in[i];
        fence->hosts_here +=
            is_in[i] && weft_host_tree_is_below(&fences->relay->tree, fences->relay->self, i + 1);
    }
    weft_free(is_in);
    return true;
}

static void release(fence_t *fence)
{
    weft_free(fence->key.ranks);
    weft_queue_release(&fence->data);
    weft_free(fence);
}

static bool is_equal(const fence_key_t *a, const fence_key_t *b)
{
    return a->purpose == b->purpose && a->count == b->count &&
           (a->count == 0 || memcmp(a->ranks, b->ranks, (size_t)a->count * sizeof(int)) == 0);
}

static fence_t *find(const weft_fences_t *fences, const fence_key_t *key)
{
    for (weft_link_t *link = fences->open.next; link != &fences->open; link = link->next) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        if (is_equal(&fence->key, key))
            return fence;
    }
    return NULL;
}

static fence_t *find_or_open(weft_fences_t *fences, const fence_key_t *key)
{
    fence_t *fence = find(fences, key);
    if (fence != NULL)
        return fence;
    fence = weft_alloc_zeroed(1, sizeof(*fence));
    if (fence == NULL)
        return NULL;
    size_t bytes = (size_t)key->count * sizeof(int);
    fence->key = (fence_key_t){key->purpose, weft_alloc(bytes), key->count};
    if (fence->key.ranks != NULL && bytes > 0)
        memcpy(fence->key.ranks, key->ranks, bytes);
    if (fence->key.ranks == NULL || !count_hosts(fences, fence)) {
        release(fence);
        return NULL;
    }
    weft_list_append(&fences->open, &fence->link);
    return fence;
}

static void write_head(const fence_t *fence, weft_writer_t *out)
{
    weft_write_u32(out, fence->key.purpose);
    weft_write_u32(out, (uint32_t)fence->key.count);
    for (int i = 0; i < fence->key.count; i++)
        weft_write_u32(out, (uint32_t)fence->key.ranks[i]);
}

static void send_up(const weft_fences_t *fences, const fence_t *fence)
{
    weft_relay_t *relay = fences->relay;
    weft_writer_t body = {0};
    write_head(fence, &body);
    weft_write_u32(&body, fence->hosts_come);
    weft_write_bytes(&body, weft_queue_front(&fence->data), weft_queue_bytes(&fence->data));
    weft_relay_send(relay, WEFT_MSG_FENCE, weft_host_tree_parent(&relay->tree, relay->self), &body);
    weft_writer_release(&body);
}

/* Tell the children that lead to hosts of the fence; `body` is the message's. */
static void send_down(const weft_fences_t *fences, const fence_t *fence, const weft_writer_t *body)
{
    weft_relay_t *relay = fences->relay;
    bool *is_in = allocate_marks(fences);
    if (is_in == NULL)
        return;
    mark_hosts(fences->placement, fence, is_in);
    for (int i = 0; i < relay->branch_count; i++) {
        if (leads_to(fences, relay->branches[i].node, is_in))
            weft_relay_send(relay, WEFT_MSG_FENCE_DONE, relay->branches[i].node, body);
    }
    weft_free(is_in);
}

/* The fence is complete, and `data` is what its hosts have brought. */
static void end(weft_fences_t *fences, fence_t *fence, const char *data, size_t bytes)
{
    weft_writer_t body = {0};
    write_head(fence, &body);
    weft_write_bytes(&body, data, bytes);
    send_down(fences, fence, &body);
    weft_writer_release(&body);
    weft_list_remove(&fence->link);
    if (fence->request != NULL)
        weft_exchange_answer(fence->request, PMIX_SUCCESS, data, bytes);
    release(fence);
}

static void check(weft_fences_t *fences, fence_t *fence)
{
    if (fence->hosts_come < fence->hosts_here)
        return;
    if (fence->hosts_here == fence->hosts_all)
        end(fences, fence, weft_queue_front(&fence->data), weft_queue_bytes(&fence->data));
    else
        send_up(fences, fence);
}

void weft_fences_enter(weft_fences_t *fences, weft_request_t *request)
{
    const fence_key_t key = {request->purpose, request->ranks, request->count};
    fence_t *fence = find_or_open(fences, &key);
    if (fence == NULL || !weft_queue_append(&fence->data, request->data, request->bytes)) {
        weft_exchange_answer(request, PMIX_ERR_NOMEM, NULL, 0);
        return;
    }
    fence->request = request;
    request->answer_by_ms =
        request->timeout_s > 0 ? weft_clock_ms() + request->timeout_s * 1000 : INT64_MAX;
    wl_timer_hasten(fences->relay->loop, &fences->timer, request->answer_by_ms);
    fence->hosts_come++;
    check(fences, fence);
}

/* What stands at the head of a message; false: it makes no sense. */
static bool read_head(const weft_fences_t *fences, weft_reader_t *reader, fence_key_t *out)
{
    fence_key_t key = {.purpose = (weft_purpose_t)weft_read_u32(reader)};
    key.count = (int)weft_read_count(reader, sizeof(uint32_t));
    key.ranks = weft_alloc_array((size_t)key.count, sizeof(int));
    bool is_sound = key.ranks != NULL && !reader->has_failed;
    for (int i = 0; i < key.count && is_sound; i++) {
        key.ranks[i] = (int)weft_read_u32(reader);
        is_sound = key.ranks[i] >= 0 && key.ranks[i] < fences->placement->size;
    }
    if (!is_sound) {
        weft_free(key.ranks);
        return false;
    }
    *out = key;
    return true;
}

void weft_fences_take(weft_fences_t *fences, const weft_message_t *message)
{
    fence_key_t key;
    weft_reader_t reader = weft_read_begin(message);
    if (!read_head(fences, &reader, &key))
        return;
    bool is_done = message->kind == WEFT_MSG_FENCE_DONE;
    fence_t *fence = is_done ? find(fences, &key) : find_or_open(fences, &key);
    weft_free(key.ranks);
    if (fence == NULL)
        return;
    if (is_done) {
        end(fences, fence, reader.at, reader.left);
        return;
    }
    fence->hosts_come += weft_read_u32(&reader);
    if (!reader.has_failed && weft_queue_append(&fence->data, reader.at, reader.left))
        check(fences, fence);
}

static void fence_time_is_up(void *owner)
{
    weft_fences_t *fences = owner;
    int64_t now = weft_clock_ms(), next = INT64_MAX;
    for (weft_link_t *link = fences->open.next; link != &fences->open; link = link->next) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        if (fence->request == NULL)
            continue;
        if (fence->request->answer_by_ms <= now) {
            weft_exchange_answer(fence->request, PMIX_ERR_TIMEOUT, NULL, 0);
            fence->request = NULL;
        } else if (fence->request->answer_by_ms < next) {
            next = fence->request->answer_by_ms;
        }
    }
    wl_timer_set(fences->relay->loop, &fences->timer, next);
}

void weft_fences_open(const weft_placement_t *placement, weft_relay_t *relay, weft_fences_t *out)
{
    *out = (weft_fences_t){.placement = placement, .relay = relay};
    weft_list_init(&out->open);
    wl_timer_init(&out->timer, fence_time_is_up, out);
}

void weft_fences_close(weft_fences_t *fences)
{
    wl_timer_stop(&fences->timer);
}
