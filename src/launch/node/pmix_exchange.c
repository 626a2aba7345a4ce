/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2, memmem */
#include "launch/node/pmix_exchange.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pmix_nspace_t job;
    int pipe[2];
} exchange;

int wl_exchange_open(const char *job, int *pipe_out)
{
    PMIX_LOAD_NSPACE(exchange.job, job);
    if (pipe2(exchange.pipe, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SERVICE, "a pipe cannot be made: %s", strerror(errno));
    fcntl(exchange.pipe[0], F_SETFL, O_NONBLOCK);
    *pipe_out = exchange.pipe[0];
    return MPI_SUCCESS;
}

/* This runs on PMIx's thread. The pipe takes thousands of pointers and the loop reads them soon, so
 * the write does not block. */
static void queue_request(const wl_pmix_request_t *request)
{
    while (write(exchange.pipe[1], &request, sizeof(request)) < 0 && errno == EINTR)
        ;
}

/* The key that is asked for; to be freed. NULL: the server does not say which, or there is no
 * memory. */
static char *exchange_key_of(const pmix_info_t infos[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&infos[i], PMIX_REQUIRED_KEY) && infos[i].value.type == PMIX_STRING)
            return weft_strdup(infos[i].value.data.string);
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

/* Store the ranks of a fence in ascending order; none if all ranks take part. */
static bool set_ranks(wl_pmix_request_t *request, const pmix_proc_t processes[], size_t count)
{
    if (count == 1 && processes[0].rank == PMIX_RANK_WILDCARD)
        return true;
    request->ranks = weft_alloc_array(count, sizeof(int));
    if (request->ranks == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        request->ranks[i] = (int)processes[i].rank;
    qsort(request->ranks, count, sizeof(int), exchange_compare_ranks);
    request->count = (int)count;
    return true;
}

static bool are_of_job(const pmix_proc_t processes[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!PMIX_CHECK_NSPACE(processes[i].nspace, exchange.job))
            return false;
    }
    return true;
}

/* A request for something that all of `processes` take part in; NULL: no memory. */
static wl_pmix_request_t *create_fence(wl_fence_purpose_t purpose, const pmix_proc_t processes[],
                                       size_t count)
{
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL || !set_ranks(request, processes, count)) {
        weft_free(request);
        return NULL;
    }
    request->kind = WL_REQUEST_FENCE;
    request->purpose = purpose;
    return request;
}

static pmix_status_t exchange_fence(const pmix_proc_t processes[], size_t count,
                                    const pmix_info_t infos[], size_t info_count, char *data,
                                    size_t bytes, pmix_modex_cbfunc_t answer, void *cookie)
{
    if (!are_of_job(processes, count))
        return PMIX_ERR_NOT_SUPPORTED;
    wl_pmix_request_t *request = create_fence(WL_FOR_FENCE, processes, count);
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->data = data; /* the server hands it over to us */
    request->bytes = bytes;
    request->timeout_s = timeout_of(infos, info_count);
    request->answer = answer;
    request->cookie = cookie;
    queue_request(request);
    return PMIX_SUCCESS;
}

/* Connecting the ranks of one job exchanges nothing, so it is a fence. The entries have to be in
 * the table: without them PMIx 4.2 crashes when the time limit of the call ends. */
static pmix_status_t queue_fence(wl_fence_purpose_t purpose, const pmix_proc_t processes[],
                                 size_t count, pmix_op_cbfunc_t done, void *cookie)
{
    if (!are_of_job(processes, count))
        return PMIX_ERR_NOT_SUPPORTED;
    wl_pmix_request_t *request = create_fence(purpose, processes, count);
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->done = done;
    request->cookie = cookie;
    queue_request(request);
    return PMIX_SUCCESS;
}

static pmix_status_t exchange_connect(const pmix_proc_t processes[], size_t count,
                                      const pmix_info_t infos[], size_t info_count,
                                      pmix_op_cbfunc_t done, void *cookie)
{
    (void)infos, (void)info_count;
    return queue_fence(WL_FOR_CONNECT, processes, count, done, cookie);
}

static pmix_status_t exchange_disconnect(const pmix_proc_t processes[], size_t count,
                                         const pmix_info_t infos[], size_t info_count,
                                         pmix_op_cbfunc_t done, void *cookie)
{
    (void)infos, (void)info_count;
    return queue_fence(WL_FOR_DISCONNECT, processes, count, done, cookie);
}

static pmix_status_t exchange_get(const pmix_proc_t *process, const pmix_info_t infos[],
                                  size_t info_count, pmix_modex_cbfunc_t answer, void *cookie)
{
    if (!are_of_job(process, 1))
        return PMIX_ERR_NOT_SUPPORTED;
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->kind = WL_REQUEST_GET;
    request->rank = (int)process->rank;
    request->key = exchange_key_of(infos, info_count);
    request->timeout_s = timeout_of(infos, info_count);
    request->answer = answer;
    request->cookie = cookie;
    queue_request(request);
    return PMIX_SUCCESS;
}

void wl_exchange_add_upcalls(pmix_server_module_t *upcalls)
{
    upcalls->fence_nb = exchange_fence;
    upcalls->direct_modex = exchange_get;
    upcalls->connect = exchange_connect;
    upcalls->disconnect = exchange_disconnect;
}

wl_pmix_request_t *wl_exchange_next(void)
{
    wl_pmix_request_t *request;
    return read(exchange.pipe[0], &request, sizeof(request)) == (ssize_t)sizeof(request) ? request
                                                                                         : NULL;
}

void wl_exchange_answer(wl_pmix_request_t *request, int status, const char *data, size_t bytes)
{
    char *copy = NULL;
    if (request->done != NULL) {
        request->done(status, request->cookie);
        wl_exchange_release(request);
        return;
    }
    if (bytes > 0) {
        copy = weft_alloc(bytes);
        if (copy == NULL)
            status = PMIX_ERR_NOMEM;
        else
            memcpy(copy, data, bytes);
    }
    request->answer(status, copy, copy == NULL ? 0 : bytes, request->cookie, weft_free, copy);
    wl_exchange_release(request);
}

static pmix_proc_t process_of(const wl_pmix_request_t *request)
{
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, exchange.job, (pmix_rank_t)request->rank);
    return process;
}

static void exchange_key_seen(pmix_status_t status, pmix_value_t *value, void *cookie)
{
    wl_pmix_request_t *request = cookie;
    (void)value; /* belongs to PMIx */
    request->status = status == PMIX_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    queue_request(request);
}

/*
 * PMIx hands out all that a rank has committed so far, whether or not the wanted key is among it,
 * and the asker is told that there is no such key. The rank's server knows its keys, but not those
 * with the scope PMIX_REMOTE; these are found in the data, where keys stand as text.
 */
static void exchange_check_key(wl_pmix_request_t *request)
{
    pmix_proc_t process = process_of(request);
    pmix_info_t at_once;
    bool yes = true;
    if (request->key == NULL ||
        memmem(request->data, request->bytes, request->key, strlen(request->key) + 1) != NULL) {
        queue_request(request);
        return;
    }
    PMIX_INFO_LOAD(&at_once, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    pmix_status_t status =
        PMIx_Get_nb(&process, request->key, &at_once, 1, exchange_key_seen, request);
    if (status != PMIX_SUCCESS)
        exchange_key_seen(status, NULL, request);
}

/* `data` belongs to PMIx and is valid during the call. */
static void exchange_looked_up(pmix_status_t status, char *data, size_t bytes, void *cookie)
{
    wl_pmix_request_t *request = cookie;
    request->status = status;
    request->data = status == PMIX_SUCCESS && bytes > 0 ? weft_alloc(bytes) : NULL;
    if (request->data == NULL) {
        queue_request(request);
        return;
    }
    memcpy(request->data, data, bytes);
    request->bytes = bytes;
    exchange_check_key(request);
}

void wl_exchange_look_up(wl_pmix_request_t *request)
{
    pmix_proc_t process = process_of(request);
    free(request->data); /* of an earlier try */
    request->data = NULL;
    request->bytes = 0;
    pmix_status_t status = PMIx_server_dmodex_request(&process, exchange_looked_up, request);
    if (status != PMIX_SUCCESS) /* then PMIx does not call back */
        exchange_looked_up(status, NULL, 0, request);
}

void wl_exchange_release(wl_pmix_request_t *request)
{
    weft_free(request->ranks);
    weft_free(request->key);
    free(request->data); /* allocated by PMIx, or in the same way */
    weft_free(request);
}
