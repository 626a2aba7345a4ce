/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/survivor_fence.h"

#include "base/fail.h"
#include "base/fence_members.h"
#include "base/list.h"
#include "base/memory.h"
#include "launch/loop/byte_queue.h"
#include "launch/node/pmix_exchange.h"
#include "mpi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A rank that waits for the end of the fence. */
typedef struct fence_caller {
    weft_link_t link;
    int rank;
    pmix_modex_cbfunc_t answer;
    void *cookie;
} fence_caller_t;

typedef struct survivor_fence {
    weft_link_t link;
    int *ranks; /* [count] ascending; count 0: all ranks of the job */
    int count;
    weft_list_t callers;
    wl_byte_queue_t data; /* of all that have come, one behind the other */
    bool is_complete;     /* as far as this host goes */
} survivor_fence_t;

/* Upcalls come on a thread of PMIx, answers and losses on the main thread. */
static struct {
    pthread_mutex_t lock;
    const wl_placement_t *placement;
    const wl_placed_host_t *ours;
    bool *is_lost; /* [ours->count] */
    weft_list_t open;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER};

int wl_survivor_fences_open(const wl_placement_t *placement, int host)
{
    weft_list_init(&desk.open);
    desk.placement = placement;
    desk.ours = &placement->hosts[host];
    desk.is_lost = weft_alloc_zeroed((size_t)desk.ours->count, sizeof(bool));
    return desk.is_lost != NULL ? MPI_SUCCESS
                                : weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", desk.ours->count);
}

/* ---- Who takes part ---- */

static const char *members_of(const wl_fence_call_t *call)
{
    for (size_t i = 0; i < call->info_count; i++) {
        if (PMIX_CHECK_KEY(&call->infos[i], WEFT_FENCE_MEMBERS) &&
            call->infos[i].value.type == PMIX_STRING)
            return call->infos[i].value.data.string;
    }
    return NULL;
}

/* Read "0,3,4"; false: it is no ascending list of ranks of the job, or there is no memory. */
static bool read_members(const char *text, int **ranks_out, int *count_out)
{
    int *ranks = weft_alloc_array(strlen(text) / 2 + 1, sizeof(*ranks)), count = 0;
    long least = 0;
    while (ranks != NULL && *text != '\0') {
        char *end;
        long rank = strtol(text, &end, 10);
        if (end == text || rank < least || rank >= desk.placement->size ||
            (*end != ',' && *end != '\0')) {
            weft_free(ranks);
            return false;
        }
        ranks[count++] = (int)rank;
        least = rank + 1;
        text = end + (*end == ',');
    }
    *ranks_out = ranks;
    *count_out = count;
    return ranks != NULL;
}

static bool takes_part(const survivor_fence_t *fence, int rank)
{
    for (int i = 0; i < fence->count; i++) {
        if (fence->ranks[i] == rank)
            return true;
    }
    return fence->count == 0;
}

static fence_caller_t *find_caller(const survivor_fence_t *fence, int rank)
{
    for (weft_link_t *link = fence->callers.next; link != &fence->callers; link = link->next) {
        fence_caller_t *caller = WEFT_ELEMENT(link, fence_caller_t, link);
        if (caller->rank == rank)
            return caller;
    }
    return NULL;
}

/* Have all ranks of this host come that are not lost? */
static bool have_all_come(const survivor_fence_t *fence)
{
    for (int i = 0; i < desk.ours->count; i++) {
        int rank = desk.ours->ranks[i];
        if (!desk.is_lost[i] && takes_part(fence, rank) && find_caller(fence, rank) == NULL)
            return false;
    }
    return true;
}

/* ---- The fence's life ---- */

static survivor_fence_t *find_or_open(int *ranks, int count)
{
    for (weft_link_t *link = desk.open.next; link != &desk.open; link = link->next) {
        survivor_fence_t *fence = WEFT_ELEMENT(link, survivor_fence_t, link);
        if (fence->count == count &&
            (count == 0 || memcmp(fence->ranks, ranks, (size_t)count * sizeof(int)) == 0)) {
            weft_free(ranks);
            return fence;
        }
    }
    survivor_fence_t *fence = weft_alloc_zeroed(1, sizeof(*fence));
    if (fence == NULL) {
        weft_free(ranks);
        return NULL;
    }
    fence->ranks = ranks;
    fence->count = count;
    weft_list_init(&fence->callers);
    weft_list_append(&desk.open, &fence->link);
    return fence;
}

static void answer_caller(fence_caller_t *caller, pmix_status_t status, const char *data,
                          size_t bytes)
{
    char *copy = bytes > 0 ? weft_alloc(bytes) : NULL;
    if (copy != NULL)
        memcpy(copy, data, bytes);
    else if (bytes > 0)
        status = PMIX_ERR_NOMEM;
    caller->answer(status, copy, copy == NULL ? 0 : bytes, caller->cookie, weft_free, copy);
    weft_free(caller);
}

/* The fence is over: tell all that wait. Their next fence of the same ranks is another one, so this
 * one leaves the list first. */
static void survivor_fence_ended(pmix_status_t status, const char *data, size_t bytes, void *cookie,
                                 pmix_release_cbfunc_t release, void *release_cookie)
{
    survivor_fence_t *fence = cookie;
    weft_link_t *link;
    pthread_mutex_lock(&desk.lock);
    weft_list_remove(&fence->link);
    pthread_mutex_unlock(&desk.lock);
    while ((link = weft_list_pop(&fence->callers)) != NULL)
        answer_caller(WEFT_ELEMENT(link, fence_caller_t, link), status, data, bytes);
    if (release != NULL)
        release(release_cookie);
    wl_queue_release(&fence->data);
    weft_free(fence->ranks);
    weft_free(fence);
}

/* All ranks of this host have come: the other hosts are next, if there are any. */
static void pass_fence_on(survivor_fence_t *fence)
{
    const wl_exchange_fence_t whole = {.ranks = fence->ranks,
                                       .count = fence->count,
                                       .data = wl_queue_front(&fence->data),
                                       .bytes = wl_queue_bytes(&fence->data)};
    pmix_status_t status = PMIX_SUCCESS;
    if (desk.placement->host_count > 1)
        status = wl_exchange_fence_ranks(&whole, survivor_fence_ended, fence);
    if (desk.placement->host_count == 1 || status != PMIX_SUCCESS)
        survivor_fence_ended(status, whole.data, whole.bytes, fence, NULL, NULL);
}

/* Mark it complete if it is, once; the caller passes it on without the lock. */
static bool completes(survivor_fence_t *fence)
{
    if (fence->is_complete || !have_all_come(fence))
        return false;
    fence->is_complete = true;
    return true;
}

/* PMIx may have changed the order of the two. */
static int caller_rank(const wl_fence_call_t *call)
{
    size_t length = strlen(call->processes[0].nspace), tail = strlen(WEFT_FENCE_STRANGER);
    bool is_stranger = length > tail &&
                       strcmp(call->processes[0].nspace + length - tail, WEFT_FENCE_STRANGER) == 0;
    return (int)call->processes[is_stranger ? 1 : 0].rank;
}

static pmix_status_t enter(const wl_fence_call_t *call, int *ranks, int count)
{
    fence_caller_t *caller = weft_alloc(sizeof(*caller));
    pthread_mutex_lock(&desk.lock);
    survivor_fence_t *fence = caller == NULL ? NULL : find_or_open(ranks, count);
    int rank = caller_rank(call);
    bool is_new = fence != NULL && find_caller(fence, rank) == NULL &&
                  wl_queue_append(&fence->data, call->data, call->bytes);
    bool is_complete = false;
    if (is_new) {
        *caller = (fence_caller_t){.rank = rank, .answer = call->answer, .cookie = call->cookie};
        weft_list_append(&fence->callers, &caller->link);
        is_complete = completes(fence);
    }
    pthread_mutex_unlock(&desk.lock);
    if (!is_new) {
        weft_free(caller);
        return PMIX_ERR_RESOURCE_BUSY;
    }
    free(call->data); /* PMIx has handed it over to us */
    if (is_complete)
        pass_fence_on(fence);
    return PMIX_SUCCESS;
}

bool wl_survivor_fence_take(const wl_fence_call_t *call, pmix_status_t *status_out)
{
    int *ranks, count;
    const char *members = members_of(call);
    if (members == NULL || call->count != 2)
        return false;
    *status_out =
        read_members(members, &ranks, &count) ? enter(call, ranks, count) : PMIX_ERR_BAD_PARAM;
    return true;
}

/* One that the loss completes; NULL: there is none. */
static survivor_fence_t *next_complete(void)
{
    for (weft_link_t *link = desk.open.next; link != &desk.open; link = link->next) {
        survivor_fence_t *fence = WEFT_ELEMENT(link, survivor_fence_t, link);
        if (completes(fence))
            return fence;
    }
    return NULL;
}

void wl_survivor_fences_lose(int rank)
{
    survivor_fence_t *fence;
    pthread_mutex_lock(&desk.lock);
    desk.is_lost[desk.placement->local_rank[rank]] = true;
    while ((fence = next_complete()) != NULL) {
        pthread_mutex_unlock(&desk.lock);
        pass_fence_on(fence);
        pthread_mutex_lock(&desk.lock);
    }
    pthread_mutex_unlock(&desk.lock);
}
