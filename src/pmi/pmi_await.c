/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for a value of another rank, on any host. The time limit is kept here, since not every
 * server obeys PMIX_TIMEOUT (Slurm's waits for ever for a rank of another host).
 */
#include "pmi/pmi_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* The answer may come after the wait has ended: the later of waiter and answer frees it. */
typedef struct answer {
    pthread_mutex_t lock;
    pthread_cond_t has_come;
    bool is_here, is_abandoned;
    pmix_status_t status;
    void *data; /* [bytes], of weft_alloc */
    size_t bytes;
} pmi_answer_t;

static void free_answer(pmi_answer_t *answer)
{
    pthread_cond_destroy(&answer->has_come);
    pthread_mutex_destroy(&answer->lock);
    weft_free(answer->data);
    weft_free(answer);
}

static void take_value(pmi_answer_t *answer, pmix_status_t status, const pmix_value_t *value)
{
    answer->status = status;
    if (status != PMIX_SUCCESS)
        return;
    answer->status = PMIX_ERR_TYPE_MISMATCH;
    if (value == NULL || value->type != PMIX_BYTE_OBJECT)
        return;
    answer->data = weft_alloc(value->data.bo.size + 1);
    answer->status = answer->data == NULL ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
    if (answer->data == NULL)
        return;
    memcpy(answer->data, value->data.bo.bytes, value->data.bo.size);
    answer->bytes = value->data.bo.size;
}

/* Runs on a thread of PMIx. */
static void await_on_value(pmix_status_t status, pmix_value_t *value, void *cookie)
{
    pmi_answer_t *answer = cookie;
    pthread_mutex_lock(&answer->lock);
    take_value(answer, status, value);
    answer->is_here = true;
    bool is_abandoned = answer->is_abandoned;
    pthread_cond_signal(&answer->has_come);
    pthread_mutex_unlock(&answer->lock);
    if (is_abandoned)
        free_answer(answer);
}

static pmi_answer_t *create_answer(void)
{
    pmi_answer_t *answer = weft_alloc_zeroed(1, sizeof(*answer));
    if (answer == NULL)
        return NULL;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&answer->lock, NULL);
    pthread_cond_init(&answer->has_come, &clock);
    pthread_condattr_destroy(&clock);
    return answer;
}

/* True when the answer has come; if not, await_on_value() will free it. */
static bool wait_for(pmi_answer_t *answer, int limit_s)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += limit_s;
    pthread_mutex_lock(&answer->lock);
    while (!answer->is_here && pthread_cond_timedwait(&answer->has_come, &answer->lock, &end) == 0)
        ;
    bool is_here = answer->is_here;
    answer->is_abandoned = !is_here;
    pthread_mutex_unlock(&answer->lock);
    return is_here;
}

/* Ask the server once. *out is set on PMIX_SUCCESS. */
static pmix_status_t ask_for_value(const pmix_proc_t *whose, const char *key, int limit_s,
                                   void **out, size_t *bytes_out)
{
    pmi_answer_t *answer = create_answer();
    if (answer == NULL)
        return PMIX_ERR_NOMEM;
    pmix_status_t status = PMIx_Get_nb(whose, key, NULL, 0, await_on_value, answer);
    if (status != PMIX_SUCCESS) {
        free_answer(answer);
        return status;
    }
    if (!wait_for(answer, limit_s))
        return PMIX_ERR_TIMEOUT;
    status = answer->status;
    if (status == PMIX_SUCCESS) {
        *out = answer->data;
        *bytes_out = answer->bytes;
        answer->data = NULL;
    }
    free_answer(answer);
    return status;
}

/* A server that is asked between two commits of a rank says that there is no such key. */
static bool is_too_early(pmix_status_t status)
{
    return status == PMIX_ERR_NOT_FOUND;
}

static void pause_for(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

int weft_pmi_await_blob(const pmix_proc_t *whose, const char *key, int limit_s, void **out,
                        size_t *bytes_out)
{
    int waited_ms = 0;
    pmix_status_t status = ask_for_value(whose, key, limit_s, out, bytes_out);
    for (int ms = 1; is_too_early(status) && waited_ms < limit_s * 1000; ms += ms < 64 ? ms : 0) {
        pause_for(ms);
        waited_ms += ms;
        status = ask_for_value(whose, key, limit_s, out, bytes_out);
    }
    if (status == PMIX_SUCCESS)
        return MPI_SUCCESS;
    if (status == PMIX_ERR_TIMEOUT || is_too_early(status))
        return weft_fail(MPI_ERR_OTHER,
                         "rank %u has not published %s within %d s: it has not come to MPI_Init, "
                         "or the launcher's servers do not reach each other",
                         whose->rank, key, limit_s);
    return weft_pmi_failed(status, key);
}
