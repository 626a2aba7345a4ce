/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/pmix_exchange.h"

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

int weft_exchange_open(const char *job, int *pipe_out)
{
    PMIX_LOAD_NSPACE(exchange.job, job);
    if (pipe2(exchange.pipe, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SERVICE, "a pipe cannot be made: %s", strerror(errno));
    fcntl(exchange.pipe[0], F_SETFL, O_NONBLOCK);
    *pipe_out = exchange.pipe[0];
    return MPI_SUCCESS;
}

/* On PMIx's thread. A pipe takes thousands of pointers, and the loop is quick. */
static void hand_over(const weft_request_t *request)
{
    while (write(exchange.pipe[1], &request, sizeof(request)) < 0 && errno == EINTR)
        ;
}

static int64_t timeout_of(const pmix_info_t infos[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&infos[i], PMIX_TIMEOUT) && infos[i].value.type == PMIX_INT)
            return infos[i].value.data.integer;
    }
    return 0;
}

static int compare_ranks(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The ranks of a fence in ascending order; none for all ranks. */
static bool set_ranks(weft_request_t *request, const pmix_proc_t processes[], size_t count)
{
    if (count == 1 && processes[0].rank == PMIX_RANK_WILDCARD)
        return true;
    request->ranks = weft_alloc_array(count, sizeof(int));
    if (request->ranks == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        request->ranks[i] = (int)processes[i].rank;
    qsort(request->ranks, count, sizeof(int), compare_ranks);
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

static pmix_status_t on_fence(const pmix_proc_t processes[], size_t count,
                              const pmix_info_t infos[], size_t info_count, char *data,
                              size_t bytes, pmix_modex_cbfunc_t answer, void *cookie)
{
    if (!are_of_job(processes, count))
        return PMIX_ERR_NOT_SUPPORTED;
    weft_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL || !set_ranks(request, processes, count)) {
        weft_free(request);
        return PMIX_ERR_NOMEM;
    }
    request->kind = WEFT_FENCE;
    request->data = data; /* ours now */
    request->bytes = bytes;
    request->timeout_s = timeout_of(infos, info_count);
    request->answer = answer;
    request->cookie = cookie;
    hand_over(request);
    return PMIX_SUCCESS;
}

static pmix_status_t on_fetch(const pmix_proc_t *process, const pmix_info_t infos[],
                              size_t info_count, pmix_modex_cbfunc_t answer, void *cookie)
{
    if (!are_of_job(process, 1))
        return PMIX_ERR_NOT_SUPPORTED;
    weft_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL)
        return PMIX_ERR_NOMEM;
    request->kind = WEFT_FETCH;
    request->rank = (int)process->rank;
    request->timeout_s = timeout_of(infos, info_count);
    request->answer = answer;
    request->cookie = cookie;
    hand_over(request);
    return PMIX_SUCCESS;
}

void weft_exchange_add_upcalls(pmix_server_module_t *upcalls)
{
    upcalls->fence_nb = on_fence;
    upcalls->direct_modex = on_fetch;
}

weft_request_t *weft_exchange_next(void)
{
    weft_request_t *request;
    return read(exchange.pipe[0], &request, sizeof(request)) == (ssize_t)sizeof(request) ? request
                                                                                         : NULL;
}

void weft_exchange_answer(weft_request_t *request, int status, const char *data, size_t bytes)
{
    char *copy = NULL;
    if (bytes > 0) {
        copy = weft_alloc(bytes);
        if (copy == NULL)
            status = PMIX_ERR_NOMEM;
        else
            memcpy(copy, data, bytes);
    }
    request->answer(status, copy, copy == NULL ? 0 : bytes, request->cookie, weft_free, copy);
    weft_exchange_release(request);
}

/* `data` is PMIx's and lives during the call. */
static void on_looked_up(pmix_status_t status, char *data, size_t bytes, void *cookie)
{
    weft_request_t *request = cookie;
    request->status = status;
    request->data = status == PMIX_SUCCESS && bytes > 0 ? weft_alloc(bytes) : NULL;
    if (request->data != NULL) {
        memcpy(request->data, data, bytes);
        request->bytes = bytes;
    }
    hand_over(request);
}

int weft_exchange_look_up(int rank, int asker, uint64_t number)
{
    pmix_proc_t process;
    weft_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a request for the data of rank %d", rank);
    *request =
        (weft_request_t){.kind = WEFT_LOOKED_UP, .rank = rank, .asker = asker, .number = number};
    PMIX_LOAD_PROCID(&process, exchange.job, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_server_dmodex_request(&process, on_looked_up, request);
    if (status != PMIX_SUCCESS) /* then nothing is called */
        on_looked_up(status, NULL, 0, request);
    return MPI_SUCCESS;
}

void weft_exchange_release(weft_request_t *request)
{
    weft_free(request->ranks);
    free(request->data); /* PMIx's, or as if */
    weft_free(request);
}
