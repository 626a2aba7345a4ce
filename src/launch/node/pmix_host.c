/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/pmix_host.h"

#include "base/abort_mark.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/fence_members.h"
#include "launch/node/pmix_exchange.h"
#include "launch/node/pmix_guard.h"
#include "launch/node/pmix_job_info.h"
#include "launch/node/pmix_server.h"
#include "launch/node/pmix_service.h"
#include "launch/node/survivor_fence.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_nspace_t job;

/* The server of a host whose ranks could not reach it does not start. */
static struct {
    const char *host; /* its name; NULL: there is a server */
    bool is_needed;   /* the job has several ranks */
} absent;

/* Asynchronous calls of PMIx; the main thread waits until all of them are complete. */
typedef struct pending {
    pthread_mutex_t lock;
    pthread_cond_t is_done;
    int count;
    pmix_status_t status; /* the first one that is not success */
} pending_t;

#define PENDING_INIT                                                                               \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, PMIX_SUCCESS                       \
    }

static void begin_call(pending_t *pending)
{
    pthread_mutex_lock(&pending->lock);
    pending->count++;
    pthread_mutex_unlock(&pending->lock);
}

static void pmix_end_call(pmix_status_t status, void *cookie)
{
    pending_t *pending = cookie;
    pthread_mutex_lock(&pending->lock);
    pending->count--;
    if (status != PMIX_SUCCESS && pending->status == PMIX_SUCCESS)
        pending->status = status;
    pthread_cond_signal(&pending->is_done);
    pthread_mutex_unlock(&pending->lock);
}

/* Take what the call itself returned: PMIx calls back after PMIX_SUCCESS only. */
static void check_call(pending_t *pending, pmix_status_t returned)
{
    if (returned == PMIX_OPERATION_SUCCEEDED)
        pmix_end_call(PMIX_SUCCESS, pending);
    else if (returned != PMIX_SUCCESS)
        pmix_end_call(returned, pending);
}

static int wait_for_calls(pending_t *pending, const char *what)
{
    pthread_mutex_lock(&pending->lock);
    while (pending->count > 0)
        pthread_cond_wait(&pending->is_done, &pending->lock);
    pthread_mutex_unlock(&pending->lock);
    if (pending->status == PMIX_SUCCESS)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_SERVICE, "the PMIx server cannot %s: %s", what,
                     PMIx_Error_string(pending->status));
}

/* Upcalls run on a thread of PMIx. */
static pmix_status_t tell_event(wl_rank_event_kind_t kind, const pmix_proc_t *process, int code,
                                const char *text)
{
    wl_writer_t body = {0};
    wl_rank_event_t event = {.kind = kind, .rank = (int)process->rank, .code = code};
    if (text != NULL)
        snprintf(event.text, sizeof(event.text), "%s", text);
    if (strncmp(process->nspace, job, PMIX_MAX_NSLEN) == 0) {
        wl_write_bytes(&body, &event, sizeof(event));
        wli_pmix_tell(WL_PMIX_EVENT, &body);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t pmix_connected(const pmix_proc_t *process, void *object, pmix_info_t info[],
                                    size_t count, pmix_op_cbfunc_t done, void *cookie)
{
    (void)object, (void)info, (void)count, (void)done, (void)cookie;
    return tell_event(WL_RANK_CONNECTED, process, 0, NULL);
}

static pmix_status_t pmix_finalized(const pmix_proc_t *process, void *object, pmix_op_cbfunc_t done,
                                    void *cookie)
{
    (void)object, (void)done, (void)cookie;
    return tell_event(WL_RANK_FINALIZED, process, 0, NULL);
}

static pmix_status_t pmix_aborted(const pmix_proc_t *process, void *object, int code,
                                  const char *text, pmix_proc_t others[], size_t count,
                                  pmix_op_cbfunc_t done, void *cookie)
{
    (void)object, (void)others, (void)count, (void)done, (void)cookie;
    bool has_lost_peer = text != NULL && text[0] == WEFT_BEREFT_MARK;
    return tell_event(has_lost_peer ? WL_RANK_LOST_PEER : WL_RANK_ABORTED, process, code,
                      has_lost_peer ? text + 1 : text);
}

/* ---- Fences among the ranks of one host ---- */

/*
 * PMIx calls these when all ranks of this host that take part have come, and no rank of another
 * host takes part. Without these entries it would complete the fence itself; but when a rank dies
 * while the others are in a fence, PMIx 4.2 calls the entries in any case.
 */
static pmix_status_t pmix_local_fence(const pmix_proc_t processes[], size_t count,
                                      const pmix_info_t infos[], size_t info_count, char *data,
                                      size_t bytes, pmix_modex_cbfunc_t answer, void *cookie)
{
    const wl_fence_call_t whole = {processes, count, infos,  info_count,
                                   data,      bytes, answer, cookie};
    pmix_status_t status;
    if (wl_survivor_fence_take(&whole, &status))
        return status;
    answer(PMIX_SUCCESS, data, bytes, cookie, free, data);
    return PMIX_SUCCESS;
}

static pmix_status_t pmix_local_connect(const pmix_proc_t processes[], size_t count,
                                        const pmix_info_t infos[], size_t info_count,
                                        pmix_op_cbfunc_t done, void *cookie)
{
    (void)processes, (void)count, (void)infos, (void)info_count;
    done(PMIX_SUCCESS, cookie);
    return PMIX_SUCCESS;
}

static int register_job(const wl_job_plan_t *plan, int index, const wl_scratch_t *scratch)
{
    wl_pmix_infos_t infos;
    int err = wl_pmix_infos_of_job(plan, index, scratch->path, &infos);
    if (err != MPI_SUCCESS)
        return err;
    pending_t pending = PENDING_INIT;
    begin_call(&pending);
    check_call(&pending,
               PMIx_server_register_nspace(job, plan->placement.hosts[index].count, infos.infos,
                                           infos.count, pmix_end_call, &pending));
    err = wait_for_calls(&pending, "register the job");
    wl_pmix_infos_release(&infos);
    return err;
}

/* The job of which fences of survivors name a rank that is on no host here, so that PMIx asks us
 * for their end (base/fence_members.h). */
static int register_stranger(const char *name)
{
    enum { INFOS = 1 };
    wl_pmix_infos_t infos;
    pmix_nspace_t stranger;
    int err = wl_pmix_infos_open(INFOS, &infos);
    if (err != MPI_SUCCESS)
        return err;
    uint32_t size = 1;
    PMIX_INFO_LOAD(&infos.infos[infos.count], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    infos.count++;
    snprintf(stranger, sizeof(stranger), "%s%s", name, WEFT_FENCE_STRANGER);
    pending_t pending = PENDING_INIT;
    begin_call(&pending);
    check_call(&pending, PMIx_server_register_nspace(stranger, 0, infos.infos, infos.count,
                                                     pmix_end_call, &pending));
    err = wait_for_calls(&pending, "register the job of a fence");
    wl_pmix_infos_release(&infos);
    return err;
}

static int register_ranks(const wl_placed_host_t *ours)
{
    pending_t pending = PENDING_INIT;
    for (int i = 0; i < ours->count; i++) {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, job, (pmix_rank_t)ours->ranks[i]);
        begin_call(&pending);
        check_call(&pending, PMIx_server_register_client(&process, getuid(), getgid(), NULL,
                                                         pmix_end_call, &pending));
    }
    return wait_for_calls(&pending, "register the ranks");
}

/*
 * The ranks do not get these settings: their environment was copied before. Looking for devices
 * costs hwloc 15 ms (it asks for an X display and for OpenCL), and its result is not used.
 */
static void set_up_environment(const wl_job_plan_t *plan)
{
    char topology[64];
    wl_environment_forget_launchers();
    snprintf(topology, sizeof(topology), "core:%d pu:1", plan->cores);
    setenv("HWLOC_SYNTHETIC", topology, 1);
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    setenv("PMIX_MCA_gds", "hash", 0);
}

static int start_pmix(const wl_job_plan_t *plan, int index, const wl_scratch_t *scratch)
{
    static pmix_server_module_t upcalls = {
        .client_connected2 = pmix_connected,
        .client_finalized = pmix_finalized,
        .abort = pmix_aborted,
        .fence_nb = pmix_local_fence,
        .connect = pmix_local_connect,
        .disconnect = pmix_local_connect,
    };
    enum { INFOS = 5 };
    char name[sizeof(plan->id) + 8];
    wl_pmix_infos_t infos;
    int err = wl_pmix_infos_open(INFOS, &infos);
    if (err != MPI_SUCCESS)
        return err;
    if (plan->placement.host_count > 1)
        wl_exchange_open(plan->id, &upcalls);
    snprintf(name, sizeof(name), "%s-mpirun", plan->id);
    wl_pmix_infos_add_text(&infos, PMIX_SERVER_TMPDIR, scratch->path);
    wl_pmix_infos_add_text(&infos, PMIX_SERVER_NSPACE, name);
    wl_pmix_infos_add_rank(&infos, PMIX_SERVER_RANK, (pmix_rank_t)index);
    wl_pmix_infos_add_text(&infos, PMIX_HOSTNAME, plan->placement.hosts[index].name);
    /* With tool support the server leaves files behind and opens a second listener. */
    wl_pmix_infos_add_bool(&infos, PMIX_SERVER_TOOL_SUPPORT, false);
    pmix_status_t status = PMIx_server_init(&upcalls, infos.infos, infos.count);
    wl_pmix_infos_release(&infos);
    return status == PMIX_SUCCESS ? MPI_SUCCESS
                                  : weft_fail(MPI_ERR_SERVICE, "the PMIx server cannot start: %s",
                                              PMIx_Error_string(status));
}

/* The rank stays registered: without it PMIx 4.2 lets ranks wait in PMIx_Init that come later. */
void wl_pmix_host_take_loss(const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    int rank = (int)wl_read_u32(&reader);
    if (absent.host == NULL)
        wl_survivor_fences_lose(rank);
}

int wl_pmix_host_open(const wl_job_plan_t *plan, int index, const wl_scratch_t *scratch)
{
    set_up_environment(plan);
    snprintf(job, sizeof(job), "%s", plan->id);
    if (wl_is_loopback_down()) {
        absent.host = plan->placement.hosts[index].name;
        absent.is_needed = plan->size > 1;
        return MPI_SUCCESS;
    }
    wli_pmix_guard();
    int err = wl_survivor_fences_open(&plan->placement, index);
    if (err == MPI_SUCCESS)
        err = start_pmix(plan, index, scratch);
    if (err == MPI_SUCCESS)
        err = register_job(plan, index, scratch);
    if (err == MPI_SUCCESS && plan->survives_losses)
        err = register_stranger(plan->id);
    if (err == MPI_SUCCESS)
        err = register_ranks(&plan->placement.hosts[index]);
    return err;
}

/* Programs that are not MPI run without a server, and a single rank is its own. Others find in
 * WEFT_NO_SERVER why there is none (src/pmi/pmi_launcher.c). */
static int explain_absence(wl_variables_t *environment)
{
    char text[400];
    if (!absent.is_needed)
        return MPI_SUCCESS;
    snprintf(text, sizeof(text),
             "the loopback interface lo of %s is down; \"ip link set lo up\" brings it up",
             absent.host);
    return wl_variables_set(environment, "WEFT_NO_SERVER", text);
}

int wl_pmix_host_extend_environment(int rank, wl_variables_t *environment)
{
    if (absent.host != NULL)
        return explain_absence(environment);
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, job, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_server_setup_fork(&process, &environment->entries);
    wl_variables_recount(environment);
    return status == PMIX_SUCCESS
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_SERVICE, "the PMIx server has no environment for rank %d: %s",
                           rank, PMIx_Error_string(status));
}
