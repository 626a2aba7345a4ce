/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "launch/node/pmix_exchange.h"

#include "base/memory.h"
#include "launch/node/pmix_request.h"
#include "launch/node/pmix_server.h"
#include "launch/node/pmix_service.h"
#include "launch/node/survivor_fence.h"

#include <pmix.h>
#include <stdlib.h>
#include <string.h>

static pmix_nspace_t exchange_job;

/* A call of PMIx that waits for mpirun's answer. Its address is its name in messages. */
typedef struct exchange_call {
    pmix_modex_cbfunc_t answer; /* PMIx wants this one called, or: */
    pmix_op_cbfunc_t done;
    void *cookie;
} exchange_call_t;

static void write_call(wl_writer_t *body, const void *call)
{
    wl_write_u64(body, (uint64_t)(uintptr_t)call);
}

/* The key that is asked for; NULL: the server does not say which. */
static const char *exchange_key_of(const pmix_info_t infos[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&infos[i], PMIX_REQUIRED_KEY) && infos[i].value.type == PMIX_STRING)
            return infos[i].value.data.string;
    }
    return NULL;
}

static int64_t timeout_of(const pmix_info_t infos[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&infos[i], PMIX_TIMEOUT) && infos[i].value.type == PMIX_INT)
            return infos[i].value.data.integer;
    }
    return 0;
}

static int exchange_compare_ranks(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static bool are_of_job(const pmix_proc_t processes[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!PMIX_CHECK_NSPACE(processes[i].nspace, exchange_job))
            return false;
    }
    return true;
}

/* ---- Fences ---- */

/* The ranks of a fence in ascending order; none if all ranks take part. */
static bool write_ranks(wl_writer_t *body, const pmix_proc_t processes[], size_t count)
{
    if (count == 1 && processes[0].rank == PMIX_RANK_WILDCARD) {
        wl_write_u32(body, 0);
        return true;
    }
    int *ranks = weft_alloc_array(count, sizeof(int));
    if (ranks == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ranks[i] = (int)processes[i].rank;
    qsort(ranks, count, sizeof(int), exchange_compare_ranks);
    wl_write_u32(body, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        wl_write_u32(body, (uint32_t)ranks[i]);
    weft_free(ranks);
    return true;
}

typedef struct exchange_fence {
    wl_fence_purpose_t purpose;
    int64_t timeout_s;
    const pmix_proc_t *processes;
    size_t count;
    const char *data;
    size_t bytes;
} exchange_fence_t;

static pmix_status_t tell_fence(const exchange_fence_t *fence, const exchange_call_t *call)
{
    wl_writer_t body = {0};
    if (!are_of_job(fence->processes, fence->count))
        return PMIX_ERR_NOT_SUPPORTED;
    exchange_call_t *kept = weft_alloc(sizeof(*kept));
    if (kept == NULL)
        return PMIX_ERR_NOMEM;
    *kept = *call;
    write_call(&body, kept);
    wl_write_u32(&body, fence->purpose);
    wl_write_u64(&body, (uint64_t)fence->timeout_s);
    bool is_written = write_ranks(&body, fence->processes, fence->count);
    wl_write_bytes(&body, fence->data, fence->bytes);
    if (!is_written || body.has_failed) {
        wl_writer_release(&body);
        weft_free(kept);
        return PMIX_ERR_NOMEM;
    }
    wli_pmix_tell(WL_PMIX_FENCE, &body);
    return PMIX_SUCCESS;
}

pmix_status_t wl_exchange_fence_ranks(const wl_exchange_fence_t *fence, pmix_modex_cbfunc_t answer,
                                      void *cookie)
{
    size_t count = fence->count == 0 ? 1 : (size_t)fence->count;
    pmix_proc_t *processes = weft_alloc_array(count, sizeof(*processes));
    if (processes == NULL)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        PMIX_LOAD_PROCID(&processes[i], exchange_job,
                         fence->count == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)fence->ranks[i]);
    const exchange_fence_t whole = {WL_FOR_FENCE, 0, processes, count, fence->data, fence->bytes};
    pmix_status_t status =
        tell_fence(&whole, &(exchange_call_t){.answer = answer, .cookie = cookie});
    weft_free(processes);
    return status;
}

static pmix_status_t exchange_fence_nb(const pmix_proc_t processes[], size_t count,
                                       const pmix_info_t infos[], size_t info_count, char *data,
                                       size_t bytes, pmix_modex_cbfunc_t answer, void *cookie)
{
    const exchange_fence_t fence = {
        WL_FOR_FENCE, timeout_of(infos, info_count), processes, count, data, bytes};
    const wl_fence_call_t whole = {processes, count, infos,  info_count,
                                   data,      bytes, answer, cookie};
    pmix_status_t status;
    if (wl_survivor_fence_take(&whole, &status))
        return status;
    status = tell_fence(&fence, &(exchange_call_t){.answer = answer, .cookie = cookie});
    if (status == PMIX_SUCCESS)
        free(data); /* PMIx has handed it over to us */
    return status;
}

/* Connecting the ranks of one job exchanges nothing, so it is a fence. The entries have to be in
 * the table: without them PMIx 4.2 crashes when the time limit of the call ends. */
static pmix_status_t exchange_connect(const pmix_proc_t processes[], size_t count,
                                      const pmix_info_t infos[], size_t info_count,
                                      pmix_op_cbfunc_t done, void *cookie)
{
    (void)infos, (void)info_count;
    const exchange_fence_t fence = {WL_FOR_CONNECT, 0, processes, count, NULL, 0};
    return tell_fence(&fence, &(exchange_call_t){.done = done, .cookie = cookie});
}

static pmix_status_t exchange_disconnect(const pmix_proc_t processes[], size_t count,
                                         const pmix_info_t infos[], size_t info_count,
                                         pmix_op_cbfunc_t done, void *cookie)
{
    (void)infos, (void)info_count;
    const exchange_fence_t fence = {WL_FOR_DISCONNECT, 0, processes, count, NULL, 0};
    return tell_fence(&fence, &(exchange_call_t){.done = done, .cookie = cookie});
}

/* ---- Data of ranks of other hosts ---- */

static pmix_status_t exchange_get(const pmix_proc_t *process, const pmix_info_t infos[],
                                  size_t info_count, pmix_modex_cbfunc_t answer, void *cookie)
{
    wl_writer_t body = {0};
    if (!are_of_job(process, 1))
        return PMIX_ERR_NOT_SUPPORTED;
    exchange_call_t *call = weft_alloc(sizeof(*call));
    if (call == NULL)
        return PMIX_ERR_NOMEM;
    *call = (exchange_call_t){.answer = answer, .cookie = cookie};
    write_call(&body, call);
    wl_write_u32(&body, process->rank);
    wl_write_u64(&body, (uint64_t)timeout_of(infos, info_count));
    wl_write_text(&body, exchange_key_of(infos, info_count));
    wli_pmix_tell(WL_PMIX_GET, &body);
    return PMIX_SUCCESS;
}

void wl_exchange_open(const char *job, pmix_server_module_t *upcalls)
{
    PMIX_LOAD_NSPACE(exchange_job, job);
    upcalls->fence_nb = exchange_fence_nb;
    upcalls->direct_modex = exchange_get;
    upcalls->connect = exchange_connect;
    upcalls->disconnect = exchange_disconnect;
}

void wl_exchange_take_answer(const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    exchange_call_t *call = (exchange_call_t *)(uintptr_t)wl_read_u64(&reader);
    int status = (int)wl_read_u32(&reader);
    char *copy = NULL;
    if (call->done != NULL) {
        call->done(status, call->cookie);
        weft_free(call);
        return;
    }
    if (reader.left > 0) {
        copy = weft_alloc(reader.left);
        if (copy == NULL)
            status = PMIX_ERR_NOMEM;
        else
            memcpy(copy, reader.at, reader.left);
    }
    call->answer(status, copy, copy == NULL ? 0 : reader.left, call->cookie, weft_free, copy);
    weft_free(call);
}

/* ---- Data of ranks of this host, for others ---- */

typedef struct lookup {
    uint64_t call; /* mpirun's name for it */
    pmix_proc_t process;
    char *key; /* NULL: unknown */
    char *data;
    size_t bytes;
} lookup_t;

static void end_lookup(lookup_t *lookup, pmix_status_t status)
{
    wl_writer_t body = {0};
    wl_write_u64(&body, lookup->call);
    wl_write_u32(&body, (uint32_t)status);
    wl_write_bytes(&body, lookup->data, lookup->bytes);
    wli_pmix_tell(WL_PMIX_LOOKED_UP, &body);
    weft_free(lookup->key);
    weft_free(lookup->data);
    weft_free(lookup);
}

static void exchange_key_seen(pmix_status_t status, pmix_value_t *value, void *cookie)
{
    (void)value; /* belongs to PMIx */
    end_lookup(cookie, status == PMIX_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
}

/*
 * PMIx hands out all that a rank has committed so far, whether or not the wanted key is among it,
 * and the asker is told that there is no such key. The rank's server knows its keys, but not those
 * with the scope PMIX_REMOTE; these are found in the data, where keys stand as text.
 */
static void exchange_check_key(lookup_t *lookup)
{
    pmix_info_t at_once;
    bool yes = true;
    if (lookup->key == NULL ||
        memmem(lookup->data, lookup->bytes, lookup->key, strlen(lookup->key) + 1) != NULL) {
        end_lookup(lookup, PMIX_SUCCESS);
        return;
    }
    PMIX_INFO_LOAD(&at_once, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    pmix_status_t status =
        PMIx_Get_nb(&lookup->process, lookup->key, &at_once, 1, exchange_key_seen, lookup);
    if (status != PMIX_SUCCESS)
        exchange_key_seen(status, NULL, lookup);
}

/* `data` belongs to PMIx and is valid during the call. */
static void exchange_looked_up(pmix_status_t status, char *data, size_t bytes, void *cookie)
{
    lookup_t *lookup = cookie;
    lookup->data = status == PMIX_SUCCESS && bytes > 0 ? weft_alloc(bytes) : NULL;
    if (lookup->data == NULL) {
        end_lookup(lookup, status);
        return;
    }
    memcpy(lookup->data, data, bytes);
    lookup->bytes = bytes;
    exchange_check_key(lookup);
}

void wl_exchange_take_look_up(const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    lookup_t *lookup = weft_alloc_zeroed(1, sizeof(*lookup));
    if (lookup == NULL)
        return;
    lookup->call = wl_read_u64(&reader);
    PMIX_LOAD_PROCID(&lookup->process, exchange_job, (pmix_rank_t)wl_read_u32(&reader));
    const char *key = wl_read_text(&reader);
    lookup->key = key == NULL ? NULL : weft_strdup(key);
    pmix_status_t status = PMIx_server_dmodex_request(&lookup->process, exchange_looked_up, lookup);
    if (status != PMIX_SUCCESS) /* then PMIx does not call back */
        exchange_looked_up(status, NULL, 0, lookup);
}
