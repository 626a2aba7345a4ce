/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/fence_tree.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <pmix.h>
#include <string.h>

/* What tells one fence from another. */
typedef struct fence_key {
    wl_fence_purpose_t purpose;
    int *ranks; /* [count] in ascending order; count 0: all of the job */
    int count;
} fence_key_t;

typedef struct fence {
    weft_link_t link;
    fence_key_t key; /* owns its ranks */
    /* of this host's server; NULL: it has not come yet, or was answered */
    wl_pmix_request_t *request;
    bool has_entered;   /* this host's data are among those that have come */
    bool *is_awaited;   /* [children + 1] has a child of this node, or at the end this host, still
                         * to come? */
    int awaited;        /* how many of these */
    bool is_whole_here; /* all hosts of the fence are at or below this node */
    bool is_sent;       /* all have come, and the parent has been told */
    wl_byte_queue_t data;
} fence_t;

/* Mark the hosts with ranks in the fence. */
static void mark_hosts(const wl_placement_t *placement, const fence_t *fence, bool *is_in)
{
    for (int i = 0; i < placement->host_count; i++)
        is_in[i] = fence->key.count == 0;
    for (int i = 0; i < fence->key.count; i++)
        is_in[placement->host_of[fence->key.ranks[i]]] = true;
}

/* Is a marked host at or below that child? */
static bool leads_to(const wl_fences_t *fences, int child, const bool *is_in)
{
    const wl_host_tree_t *tree = &fences->router->tree;
    for (int i = 0; i < fences->placement->host_count; i++) {
        if (is_in[i] && wl_host_tree_is_below(tree, child, i + 1))
            return true;
    }
    return false;
}

static bool *allocate_marks(const wl_fences_t *fences)
{
    return weft_alloc_array((size_t)fences->placement->host_count, sizeof(bool));
}

/* Has the host a rank in the fence that is not lost? */
static bool is_host_living(const wl_fences_t *fences, const fence_t *fence, int host)
{
    if (fences->is_lost == NULL)
        return true;
    if (fence->key.count == 0)
        return fences->lost_of_host[host] < fences->placement->hosts[host].count;
    for (int i = 0; i < fence->key.count; i++) {
        int rank = fence->key.ranks[i];
        if (fences->placement->host_of[rank] == host && !fences->is_lost[rank])
            return true;
    }
    return false;
}

/* Of the parts that have to come: that of a host at or below this node; -1: it is elsewhere. */
static int part_of_host(const wl_router_t *router, int host)
{
    int child = wl_host_tree_child_to(&router->tree, router->self, host + 1);
    if (child >= 0)
        return child - router->children[0].node;
    return host + 1 == router->self ? router->child_count : -1;
}

static void await_parts(const wl_fences_t *fences, fence_t *fence, const bool *is_in)
{
    fence->is_whole_here = true;
    for (int i = 0; i < fences->placement->host_count; i++) {
        int part = part_of_host(fences->router, i);
        if (is_in[i] && part >= 0 && !fence->is_awaited[part] && is_host_living(fences, fence, i)) {
            fence->is_awaited[part] = true;
            fence->awaited++;
        }
        fence->is_whole_here = fence->is_whole_here && (!is_in[i] || part >= 0);
    }
}

static bool fence_open_parts(const wl_fences_t *fences, fence_t *fence)
{
    bool *is_in = allocate_marks(fences);
    fence->is_awaited =
        weft_alloc_zeroed((size_t)fences->router->child_count + 1, sizeof(*fence->is_awaited));
    bool is_allocated = is_in != NULL && fence->is_awaited != NULL;
    if (is_allocated) {
        mark_hosts(fences->placement, fence, is_in);
        await_parts(fences, fence, is_in);
    }
    weft_free(is_in);
    return is_allocated;
}

static void part_has_come(fence_t *fence, int part)
{
    if (!fence->is_awaited[part])
        return;
    fence->is_awaited[part] = false;
    fence->awaited--;
}

static void release_fence(fence_t *fence)
{
    weft_free(fence->key.ranks);
    weft_free(fence->is_awaited);
    wl_queue_release(&fence->data);
    weft_free(fence);
}

static bool are_keys_equal(const fence_key_t *a, const fence_key_t *b)
{
    return a->purpose == b->purpose && a->count == b->count &&
           (a->count == 0 || memcmp(a->ranks, b->ranks, (size_t)a->count * sizeof(int)) == 0);
}

static fence_t *find_fence(const wl_fences_t *fences, const fence_key_t *key)
{
    for (weft_link_t *link = fences->open.next; link != &fences->open; link = link->next) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        if (are_keys_equal(&fence->key, key))
            return fence;
    }
    return NULL;
}

static fence_t *find_or_open(wl_fences_t *fences, const fence_key_t *key)
{
    fence_t *fence = find_fence(fences, key);
    if (fence != NULL)
        return fence;
    fence = weft_alloc_zeroed(1, sizeof(*fence));
    if (fence == NULL)
        return NULL;
    size_t bytes = (size_t)key->count * sizeof(int);
    fence->key = (fence_key_t){key->purpose, weft_alloc(bytes), key->count};
    if (fence->key.ranks != NULL && bytes > 0)
        memcpy(fence->key.ranks, key->ranks, bytes);
    if (fence->key.ranks == NULL || !fence_open_parts(fences, fence)) {
        release_fence(fence);
        return NULL;
    }
    weft_list_append(&fences->open, &fence->link);
    return fence;
}

static void write_head(const fence_t *fence, wl_writer_t *out)
{
    wl_write_u32(out, fence->key.purpose);
    wl_write_u32(out, (uint32_t)fence->key.count);
    for (int i = 0; i < fence->key.count; i++)
        wl_write_u32(out, (uint32_t)fence->key.ranks[i]);
}

static void send_fence_up(const wl_fences_t *fences, const fence_t *fence)
{
    wl_router_t *router = fences->router;
    wl_writer_t body = {0};
    write_head(fence, &body);
    wl_write_bytes(&body, wl_queue_front(&fence->data), wl_queue_bytes(&fence->data));
    wl_router_send(router, WL_MSG_FENCE, wl_host_tree_parent(&router->tree, router->self), &body);
    wl_writer_release(&body);
}

/* Tell the children that lead to hosts of the fence; `body` is the message's. */
static void send_fence_down(const wl_fences_t *fences, const fence_t *fence,
                            const wl_writer_t *body)
{
    wl_router_t *router = fences->router;
    bool *is_in = allocate_marks(fences);
    if (is_in == NULL)
        return;
    mark_hosts(fences->placement, fence, is_in);
    for (int i = 0; i < router->child_count; i++) {
        if (leads_to(fences, router->children[i].node, is_in))
            wl_router_send(router, WL_MSG_FENCE_DONE, router->children[i].node, body);
    }
    weft_free(is_in);
}

/* The fence is complete; `data` is what all its hosts have brought. */
static void end_fence(wl_fences_t *fences, fence_t *fence, const char *data, size_t bytes)
{
    wl_writer_t body = {0};
    write_head(fence, &body);
    wl_write_bytes(&body, data, bytes);
    send_fence_down(fences, fence, &body);
    wl_writer_release(&body);
    weft_list_remove(&fence->link);
    if (fence->request != NULL)
        wl_pmix_answer(fence->request, PMIX_SUCCESS, data, bytes);
    release_fence(fence);
}

static void check_fence(wl_fences_t *fences, fence_t *fence)
{
    if (fence->awaited > 0 || fence->is_sent)
        return;
    fence->is_sent = true;
    if (fence->is_whole_here)
        end_fence(fences, fence, wl_queue_front(&fence->data), wl_queue_bytes(&fence->data));
    else
        send_fence_up(fences, fence);
}

/* Add what this host brings; false: no memory. */
static bool enter_first(wl_fences_t *fences, fence_t *fence)
{
    if (!wl_queue_append(&fence->data, fence->request->data, fence->request->bytes))
        return false;
    fence->has_entered = true;
    part_has_come(fence, fences->router->child_count);
    check_fence(fences, fence);
    return true;
}

/* After a time-out a host may enter the fence again: it counts once, and its first data stand. */
void wl_fences_enter(wl_fences_t *fences, wl_pmix_request_t *request)
{
    const fence_key_t key = {request->purpose, request->ranks, request->count};
    fence_t *fence = find_or_open(fences, &key);
    if (fence == NULL || fence->request != NULL) {
        wl_pmix_answer(request, fence == NULL ? PMIX_ERR_NOMEM : PMIX_ERR_RESOURCE_BUSY, NULL, 0);
        return;
    }
    fence->request = request;
    request->answer_by_ms = wl_pmix_request_end_ms(request);
    wl_timer_hasten(fences->router->loop, &fences->timer, request->answer_by_ms);
    if (!fence->has_entered && !enter_first(fences, fence)) {
        fence->request = NULL;
        wl_pmix_answer(request, PMIX_ERR_NOMEM, NULL, 0);
    }
}

/* Read the head of a message; false: it is invalid. */
static bool read_head(const wl_fences_t *fences, wl_reader_t *reader, fence_key_t *out)
{
    fence_key_t key = {.purpose = (wl_fence_purpose_t)wl_read_u32(reader)};
    key.count = (int)wl_read_count(reader, sizeof(uint32_t));
    key.ranks = weft_alloc_array((size_t)key.count, sizeof(int));
    bool is_sound = key.ranks != NULL && !reader->has_failed;
    for (int i = 0; i < key.count && is_sound; i++) {
        key.ranks[i] = (int)wl_read_u32(reader);
        is_sound = key.ranks[i] >= 0 && key.ranks[i] < fences->placement->size;
    }
    if (!is_sound) {
        weft_free(key.ranks);
        return false;
    }
    *out = key;
    return true;
}

void wl_fences_take(wl_fences_t *fences, const wl_message_t *message)
{
    fence_key_t key;
    wl_reader_t reader = wl_read_begin(message);
    if (!read_head(fences, &reader, &key))
        return;
    bool is_done = message->kind == WL_MSG_FENCE_DONE;
    fence_t *fence = is_done ? find_fence(fences, &key) : find_or_open(fences, &key);
    weft_free(key.ranks);
    if (fence == NULL)
        return;
    if (is_done) {
        end_fence(fences, fence, reader.at, reader.left);
        return;
    }
    int part = part_of_host(fences->router, message->from - 1);
    if (part < 0 || !wl_queue_append(&fence->data, reader.at, reader.left))
        return;
    part_has_come(fence, part);
    check_fence(fences, fence);
}

/* ---- Lost ranks ---- */

static bool open_lost_lists(wl_fences_t *fences)
{
    if (fences->is_lost != NULL)
        return true;
    int *lost = weft_alloc_zeroed((size_t)fences->placement->host_count, sizeof(*lost));
    bool *is_lost = weft_alloc_zeroed((size_t)fences->placement->size, sizeof(*is_lost));
    if (lost == NULL || is_lost == NULL) {
        weft_free(lost);
        weft_free(is_lost);
        return false;
    }
    fences->lost_of_host = lost;
    fences->is_lost = is_lost;
    return true;
}

/* Await the parts only that have a living rank in the fence. */
static void await_living(const wl_fences_t *fences, fence_t *fence, const bool *is_in)
{
    const wl_router_t *router = fences->router;
    for (int part = 0; part <= router->child_count; part++) {
        bool is_living = false;
        for (int i = 0; i < fences->placement->host_count && fence->is_awaited[part]; i++)
            is_living = is_living || (is_in[i] && part_of_host(router, i) == part &&
                                      is_host_living(fences, fence, i));
        if (!is_living)
            part_has_come(fence, part);
    }
}

void wl_fences_lose(wl_fences_t *fences, int rank)
{
    bool *is_in = allocate_marks(fences);
    if (is_in == NULL || !open_lost_lists(fences) || fences->is_lost[rank]) {
        weft_free(is_in);
        return;
    }
    fences->is_lost[rank] = true;
    fences->lost_of_host[fences->placement->host_of[rank]]++;
    for (weft_link_t *link = fences->open.next, *after; link != &fences->open; link = after) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        after = link->next;
        mark_hosts(fences->placement, fence, is_in);
        await_living(fences, fence, is_in);
        check_fence(fences, fence);
    }
    weft_free(is_in);
}

static void fence_time_is_up(void *owner)
{
    wl_fences_t *fences = owner;
    int64_t now = weft_clock_ms(), next = INT64_MAX;
    for (weft_link_t *link = fences->open.next; link != &fences->open; link = link->next) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        if (fence->request == NULL)
            continue;
        if (fence->request->answer_by_ms <= now) {
            wl_pmix_answer(fence->request, PMIX_ERR_TIMEOUT, NULL, 0);
            fence->request = NULL;
        } else if (fence->request->answer_by_ms < next) {
            next = fence->request->answer_by_ms;
        }
    }
    wl_timer_set(fences->router->loop, &fences->timer, next);
}

void wl_fences_open(const wl_placement_t *placement, wl_router_t *router, wl_fences_t *out)
{
    *out = (wl_fences_t){.placement = placement, .router = router};
    weft_list_init(&out->open);
    wl_timer_init(&out->timer, fence_time_is_up, out);
}

void wl_fences_close(wl_fences_t *fences)
{
    wl_timer_stop(&fences->timer);
    while (fences->open.next != NULL && !weft_list_is_empty(&fences->open)) {
        fence_t *fence = WEFT_ELEMENT(weft_list_pop(&fences->open), fence_t, link);
        if (fence->request != NULL)
            wl_pmix_request_release(fence->request);
        release_fence(fence);
    }
    weft_free(fences->is_lost);
    weft_free(fences->lost_of_host);
    fences->is_lost = NULL;
    fences->lost_of_host = NULL;
}
