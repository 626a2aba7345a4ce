/* SPDX-License-Identifier: BSD-3-Clause */
/* A launcher with a PMIx server: Weft's mpirun, `srun --mpi=pmix`, prterun. */
#include "pmi/bootstrap_private.h"
#include "pmi/pmi_private.h"

#include "base/abort_mark.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/fence_members.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef enum state { CLOSED, CONNECTED, RESTING } pmi_state_t;

static struct {
    _Atomic pmi_state_t state; /* pmix_abort() reads it in any thread */
    pmix_proc_t self;
    int *local_ranks;
    bool is_one_host;
    int size;
    bool has_uncommitted;
    int opened;    /* how often it has connected, at all ranks alike */
    char key[512]; /* of this time: servers keep the values of earlier times */
} pmi;

int weft_pmi_failed(pmix_status_t status, const char *what)
{
    return weft_fail(MPI_ERR_OTHER, "%s: %s (status %d of PMIx)", what, PMIx_Error_string(status),
                     status);
}

/* The next call overwrites it. */
static const char *key_of_this_time(const char *key)
{
    if (pmi.opened <= 1)
        return key;
    snprintf(pmi.key, sizeof(pmi.key), "%s.%d", key, pmi.opened);
    return pmi.key;
}

static pmix_proc_t process(const pmix_proc_t *self, pmix_rank_t rank)
{
    pmix_proc_t result = *self;
    result.rank = rank;
    return result;
}

/* how  PMIX_OPTIONAL: only what is here; PMIX_IMMEDIATE: what the server has, too */
static pmix_status_t look_up(const pmix_proc_t *whose, const char *key, const char *how,
                             pmix_value_t **out)
{
    pmix_info_t directive;
    bool yes = true;
    PMIX_INFO_LOAD(&directive, how, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(whose, key, &directive, 1, out);
    PMIX_INFO_DESTRUCT(&directive);
    return status;
}

pmix_value_t *weft_pmi_fact(const pmix_proc_t *self, pmix_rank_t rank, const char *key)
{
    pmix_proc_t whose = process(self, rank);
    pmix_value_t *value = NULL;
    /* Some servers send the facts only to the first connection of a process. */
    const char *how = pmi.opened > 1 ? PMIX_IMMEDIATE : PMIX_OPTIONAL;
    return look_up(&whose, key, how, &value) == PMIX_SUCCESS ? value : NULL;
}

static int number_of_entry(pmix_rank_t rank, const char *key, int fallback)
{
    pmix_value_t *value = weft_pmi_fact(&pmi.self, rank, key);
    if (value == NULL)
        return fallback;
    int number = value->type == PMIX_UINT32 ? (int)value->data.uint32 : fallback;
    PMIX_VALUE_RELEASE(value);
    return number;
}

/* Launchers write "@" and "/" into the name of a job, which is to be part of file names. */
static void set_id(const char *from, weft_pmi_job_t *job)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    snprintf(job->id, sizeof(job->id), "%s", from);
    for (char *c = job->id; *(c += strspn(c, allowed)) != '\0';)
        *c = '_';
}

static int describe_job(weft_pmi_job_t *job)
{
    *job = (weft_pmi_job_t){.rank = (int)pmi.self.rank};
    job->size = number_of_entry(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, 0);
    if (job->size <= job->rank)
        return weft_fail(MPI_ERR_OTHER, "the PMIx server gives rank %d of a job of size %d",
                         job->rank, job->size);
    job->app_number = number_of_entry(pmi.self.rank, PMIX_APPNUM, 0);
    job->universe_size = number_of_entry(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, job->size);
    /* Open MPI's launcher gives its slots, and starts more ranks than slots when told to. */
    if (job->universe_size < job->size)
        job->universe_size = job->size;
    set_id(pmi.self.nspace, job);
    return weft_pmi_find_locality(&pmi.self, job);
}

static void note_connection(void)
{
    pmi.state = CONNECTED;
    weft_pmi_note(WEFT_NOTE_CONNECTED, 0, NULL);
    weft_pmi_mark_process(weft_environment("PMIX_NAMESPACE"), (int)pmi.self.rank);
}

static int open_connection(weft_pmi_job_t *job)
{
    pmix_status_t status = PMIx_Init(&pmi.self, NULL, 0);
    if (status != PMIX_SUCCESS)
        return weft_pmi_failed(status, "the launcher's PMIx server cannot be reached");
    pmi.opened++;
    int err = describe_job(job);
    if (err != MPI_SUCCESS) {
        PMIx_Finalize(NULL, 0);
        return err;
    }
    pmi.local_ranks = (int *)job->local_ranks;
    pmi.is_one_host = job->local_size == job->size;
    pmi.size = job->size;
    weft_pmi_notes_open(pmi.self.nspace, (int)pmi.self.rank);
    note_connection();
    return MPI_SUCCESS;
}

static int pmix_open(weft_pmi_job_t *out)
{
    bool has_server;
    weft_pmi_job_t job;
    int err = weft_pmi_find_server(&has_server);
    if (err != MPI_SUCCESS)
        return err;
    if (!has_server)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    err = open_connection(&job);
    if (err == MPI_SUCCESS)
        *out = job;
    return err;
}

static int pmix_put(const char *key, const void *data, size_t bytes)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                          .data.bo = {.bytes = (char *)data, .size = bytes}};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key_of_this_time(key), &value);
    if (status != PMIX_SUCCESS)
        return weft_pmi_failed(status, key);
    pmi.has_uncommitted = true;
    return MPI_SUCCESS;
}

static int commit_values(void)
{
    if (!pmi.has_uncommitted)
        return MPI_SUCCESS;
    pmix_status_t status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return weft_pmi_failed(status, "the start-up data cannot be sent to the launcher");
    pmi.has_uncommitted = false;
    return MPI_SUCCESS;
}

static int pmix_publish(const char *key, const void *data, size_t bytes)
{
    int err = pmix_put(key, data, bytes);
    return err == MPI_SUCCESS ? commit_values() : err;
}

static bool is_launcher_ours(void)
{
    return pmi.state == CONNECTED && strncmp(pmi.self.nspace, "weft-", 5) == 0;
}

/*
 * A fence ends with PMIX_ERR_PARTIAL_SUCCESS when a process of one of the other ranks ends
 * meanwhile. It may be an earlier one, since ranks may run MPI programs one after the other; so the
 * fence is repeated, to which the rank's next program comes. If there is none, mpirun ends the job;
 * not every launcher does. Where this process itself has joined before, the others may be about to
 * leave what they had joined before, each of them once.
 */
static pmix_status_t fence_members(const pmix_proc_t *members, size_t count,
                                   const pmix_info_t *infos, size_t info_count)
{
    pmix_status_t status;
    int leavers = pmi.opened > 1 ? pmi.size : 0;
    do
        status = PMIx_Fence(members, count, infos, info_count);
    while (status == PMIX_ERR_PARTIAL_SUCCESS && (is_launcher_ours() || leavers-- > 0));
    return status;
}

/* Other launchers end the job, or let PMIx count; they know nothing of the directive. */
static bool survives_losses(void)
{
    return weft_config.RECOVERY && is_launcher_ours();
}

/* The members are told as a directive (base/fence_members.h), which `infos` has room for. */
static pmix_status_t fence_survivors(const char *members, pmix_info_t *infos, size_t info_count)
{
    pmix_proc_t pair[2] = {pmi.self, {.rank = 0}};
    snprintf(pair[1].nspace, sizeof(pair[1].nspace), "%.200s" WEFT_FENCE_STRANGER, pmi.self.nspace);
    PMIX_INFO_LOAD(&infos[info_count], WEFT_FENCE_MEMBERS, members, PMIX_STRING);
    pmix_status_t status = PMIx_Fence(pair, 2, infos, info_count + 1);
    PMIX_INFO_DESTRUCT(&infos[info_count]);
    return status;
}

static int judge_fence(pmix_status_t status)
{
    return status == PMIX_SUCCESS ? MPI_SUCCESS
                                  : weft_pmi_failed(status, "the ranks cannot be synchronised");
}

static int pmix_fence(void)
{
    int err = commit_values();
    if (err != MPI_SUCCESS)
        return err;
    pmix_proc_t all = process(&pmi.self, PMIX_RANK_WILDCARD);
    pmix_info_t infos[2];
    bool yes = true;
    PMIX_INFO_LOAD(&infos[0], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    /* The server of this host has the data of its ranks; only those of other hosts are missing. */
    size_t count = pmi.is_one_host ? 0 : 1;
    pmix_status_t status = survives_losses() ? fence_survivors("", infos, count)
                                             : fence_members(&all, 1, infos, count);
    PMIX_INFO_DESTRUCT(&infos[0]);
    return judge_fence(status);
}

/* "0,3,4" */
static char *write_members(const int *ranks, int count)
{
    enum { LETTERS = 12 };
    char *text = weft_alloc((size_t)count * LETTERS + 1);
    size_t used = 0;
    for (int i = 0; i < count && text != NULL; i++)
        used += (size_t)snprintf(text + used, LETTERS, "%s%d", i == 0 ? "" : ",", ranks[i]);
    return text;
}

static int fence_some_survivors(const int *ranks, int count)
{
    pmix_info_t info;
    char *members = write_members(ranks, count);
    if (members == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", count);
    pmix_status_t status = fence_survivors(members, &info, 0);
    weft_free(members);
    return judge_fence(status);
}

static int pmix_fence_ranks(const int *ranks, int count)
{
    if (count == 1)
        return MPI_SUCCESS;
    if (survives_losses())
        return fence_some_survivors(ranks, count);
    pmix_proc_t *members = weft_alloc_array((size_t)count, sizeof(*members));
    if (members == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", count);
    for (int i = 0; i < count; i++)
        members[i] = process(&pmi.self, (pmix_rank_t)ranks[i]);
    pmix_status_t status = fence_members(members, (size_t)count, NULL, 0);
    weft_free(members);
    if (status != PMIX_SUCCESS)
        return weft_pmi_failed(status, "some of the ranks cannot be synchronised");
    return MPI_SUCCESS;
}

static int pmix_get(int rank, const char *key, void **out, size_t *bytes_out)
{
    pmix_proc_t whose = process(&pmi.self, (pmix_rank_t)rank);
    pmix_value_t *value = NULL;
    pmix_status_t status = look_up(&whose, key_of_this_time(key), PMIX_IMMEDIATE, &value);
    if (status != PMIX_SUCCESS)
        return weft_fail(MPI_ERR_OTHER, "there is no start-up data %s of rank %d: %s", key, rank,
                         PMIx_Error_string(status));
    int err = value->type == PMIX_BYTE_OBJECT
                  ? weft_pmi_copy_value(value->data.bo.bytes, value->data.bo.size, out)
                  : weft_fail(MPI_ERR_OTHER, "start-up data %s of rank %d is no blob", key, rank);
    if (err == MPI_SUCCESS)
        *bytes_out = value->data.bo.size;
    PMIX_VALUE_RELEASE(value);
    return err;
}

static int pmix_await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out)
{
    pmix_proc_t whose = process(&pmi.self, (pmix_rank_t)rank);
    return weft_pmi_await_blob(&whose, key_of_this_time(key), limit_s, out, bytes_out);
}

static int pmix_find_nodes(int *node_of)
{
    return weft_pmi_find_hosts(&pmi.self, pmi.size, node_of);
}

static int pmix_find_psets(weft_pmi_pset_t sets[])
{
    return pmi.state == CONNECTED ? weft_pmi_find_psets_of(&pmi.self, pmi.size, sets) : 0;
}

/* Weft's mpirun prints the message, with the rank and its host. Other launchers print nothing, or
 * that they do not have the message. */
static void pmix_abort(int code, const char *message, bool is_bereft)
{
    char marked[512];
    bool is_ours = is_launcher_ours();
    if (message[0] != '\0' && !is_ours)
        weft_log_write(WEFT_ERROR, "pmi", "%s", message);
    snprintf(marked, sizeof(marked), "%c%s", WEFT_BEREFT_MARK, message);
    bool is_told =
        pmi.state == CONNECTED &&
        weft_pmi_note(is_bereft ? WEFT_NOTE_LOST_PEER : WEFT_NOTE_ABORTED, code, message);
    if (pmi.state == CONNECTED && !is_told)
        PMIx_Abort(code, is_ours && is_bereft ? marked : message, NULL, 0);
}

/* A PMIx server takes no second process for a rank. */
static void pmix_started(void)
{
}

/* PMIx stays connected: each PMIx_Init after a PMIx_Finalize takes a millisecond, and 150 KB that
 * it never gives back (PMIx 4.2). */
static void pmix_rest(void)
{
    if (pmi.state != CONNECTED)
        return;
    pmi.state = RESTING;
    weft_pmi_note(WEFT_NOTE_FINALIZED, 0, NULL);
    weft_pmi_unmark_process();
}

static void pmix_wake(void)
{
    if (pmi.state == RESTING)
        note_connection();
}

static int pmix_close(void)
{
    pmi_state_t was = pmi.state;
    pmi.state = CLOSED;
    if (was == CONNECTED) { /* else it has been told */
        weft_pmi_note(WEFT_NOTE_FINALIZED, 0, NULL);
        weft_pmi_unmark_process();
    }
    pmix_status_t status = PMIx_Finalize(NULL, 0);
    weft_free(pmi.local_ranks);
    pmi.local_ranks = NULL;
    return status == PMIX_SUCCESS ? MPI_SUCCESS
                                  : weft_pmi_failed(status, "the launcher did not take the end");
}

static const weft_bootstrap_calls_t pmix_calls = {
    .put = pmix_put,
    .publish = pmix_publish,
    .fence = pmix_fence,
    .fence_ranks = pmix_fence_ranks,
    .get = pmix_get,
    .await = pmix_await,
    .find_nodes = pmix_find_nodes,
    .find_psets = pmix_find_psets,
    .started = pmix_started,
    .rest = pmix_rest,
    .wake = pmix_wake,
    .abort = pmix_abort,
    .close = pmix_close,
};

const weft_bootstrap_t weft_pmix_bootstrap = {"pmix", pmix_open, &pmix_calls};
