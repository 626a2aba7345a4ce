/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/pmix_host.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(weft_host_event_t) <= PIPE_BUF, "events are written in one piece");

static struct {
    pmix_nspace_t job;
    int pipe[2];
    char hostname[256];
} host;

/* Asynchronous calls of PMIx of which the main thread waits for all together. */
typedef struct pending {
    pthread_mutex_t lock;
    pthread_cond_t is_done;
    int count;
    pmix_status_t status; /* the first that was not success */
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

static void end_call(pmix_status_t status, void *cookie)
{
    pending_t *pending = cookie;
    pthread_mutex_lock(&pending->lock);
    pending->count--;
    if (status != PMIX_SUCCESS && pending->status == PMIX_SUCCESS)
        pending->status = status;
    pthread_cond_signal(&pending->is_done);
    pthread_mutex_unlock(&pending->lock);
}

/* What the call itself returned: only after PMIX_SUCCESS does a callback come. */
static void check_call(pending_t *pending, pmix_status_t returned)
{
    if (returned == PMIX_OPERATION_SUCCEEDED)
        end_call(PMIX_SUCCESS, pending);
    else if (returned != PMIX_SUCCESS)
        end_call(returned, pending);
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

/* Upcalls run on PMIx's thread. The pipe has room for a hundred events and mpirun's loop is quick.
 */
static pmix_status_t pass_on(weft_host_event_kind_t kind, const pmix_proc_t *process, int code,
                             const char *text)
{
    weft_host_event_t event = {.kind = kind, .rank = (int)process->rank, .code = code};
    if (text != NULL)
        snprintf(event.text, sizeof(event.text), "%s", text);
    if (strncmp(process->nspace, host.job, PMIX_MAX_NSLEN) == 0) {
        while (write(host.pipe[1], &event, sizeof(event)) < 0 && errno == EINTR)
            ;
    }
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_connected(const pmix_proc_t *process, void *object, pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *cookie)
{
    (void)object, (void)info, (void)count, (void)done, (void)cookie;
    return pass_on(WEFT_RANK_CONNECTED, process, 0, NULL);
}

static pmix_status_t on_finalized(const pmix_proc_t *process, void *object, pmix_op_cbfunc_t done,
                                  void *cookie)
{
    (void)object, (void)done, (void)cookie;
    return pass_on(WEFT_RANK_FINALIZED, process, 0, NULL);
}

static pmix_status_t on_aborted(const pmix_proc_t *process, void *object, int code,
                                const char *text, pmix_proc_t others[], size_t count,
                                pmix_op_cbfunc_t done, void *cookie)
{
    (void)object, (void)others, (void)count, (void)done, (void)cookie;
    return pass_on(WEFT_RANK_ABORTED, process, code, text);
}

/* A list of facts under construction; the memory is PMIx's. */
typedef struct facts {
    pmix_info_t *infos;
    size_t count;
} facts_t;

static void add_number(facts_t *facts, const char *key, uint32_t value)
{
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, &value, PMIX_UINT32);
    facts->count++;
}

static void add_rank(facts_t *facts, const char *key, pmix_rank_t value)
{
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, &value, PMIX_PROC_RANK);
    facts->count++;
}

static void add_short(facts_t *facts, const char *key, uint16_t value)
{
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, &value, PMIX_UINT16);
    facts->count++;
}

static void add_text(facts_t *facts, const char *key, const char *value, pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, value, type);
    facts->count++;
}

static void add_no(facts_t *facts, const char *key)
{
    bool no = false;
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, &no, PMIX_BOOL);
    facts->count++;
}

/* Add a copy of `array`, which ends here. */
static void add_array(facts_t *facts, const char *key, pmix_data_array_t *array)
{
    PMIX_INFO_LOAD(&facts->infos[facts->count], key, array, PMIX_DATA_ARRAY);
    facts->count++;
    PMIX_DATA_ARRAY_DESTRUCT(array);
}

static void add_app(facts_t *facts, const weft_job_plan_t *plan, int index)
{
    enum { FACTS = 3 };
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, FACTS, PMIX_INFO);
    facts_t app = {.infos = array.array};
    add_number(&app, PMIX_APPNUM, (uint32_t)index);
    add_number(&app, PMIX_APP_SIZE, (uint32_t)plan->apps[index].count);
    add_rank(&app, PMIX_APPLDR, (pmix_rank_t)plan->apps[index].first_rank);
    add_array(facts, PMIX_APP_INFO_ARRAY, &array);
}

static void add_process(facts_t *facts, const weft_job_plan_t *plan, int rank)
{
    enum { FACTS = 8 };
    const weft_app_t *app = weft_job_plan_app_of(plan, rank);
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, FACTS, PMIX_INFO);
    facts_t process = {.infos = array.array};
    add_rank(&process, PMIX_RANK, (pmix_rank_t)rank); /* has to come first */
    add_short(&process, PMIX_LOCAL_RANK, (uint16_t)rank);
    add_short(&process, PMIX_NODE_RANK, (uint16_t)rank);
    add_number(&process, PMIX_APPNUM, (uint32_t)(app - plan->apps));
    add_number(&process, PMIX_NODEID, 0);
    add_rank(&process, PMIX_GLOBAL_RANK, (pmix_rank_t)rank);
    add_rank(&process, PMIX_APP_RANK, (pmix_rank_t)(rank - app->first_rank));
    add_text(&process, PMIX_HOSTNAME, host.hostname, PMIX_STRING);
    add_array(facts, PMIX_PROC_INFO_ARRAY, &array);
}

/* "0,1,2": all ranks. */
static char *list_ranks(int size)
{
    size_t bytes = (size_t)size * 12 + 1, used = 0;
    char *text = weft_alloc(bytes);
    for (int rank = 0; rank < size && text != NULL; rank++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", rank == 0 ? "" : ",", rank);
    return text;
}

/* Where ranks are: PMIx derives node list, local size, local ranks and more from the two maps. */
static int add_maps(facts_t *facts, const char *ranks)
{
    char *nodes = NULL, *processes = NULL;
    if (PMIx_generate_regex(host.hostname, &nodes) != PMIX_SUCCESS ||
        PMIx_generate_ppn(ranks, &processes) != PMIX_SUCCESS)
        return weft_fail(MPI_ERR_SERVICE, "the PMIx server cannot describe where ranks are");
    add_text(facts, PMIX_NODE_MAP, nodes, PMIX_REGEX);
    add_text(facts, PMIX_PROC_MAP, processes, PMIX_REGEX);
    free(nodes); /* PMIx's */
    free(processes);
    add_text(facts, PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
    return MPI_SUCCESS;
}

static int describe_job(facts_t *facts, const weft_job_plan_t *plan, const weft_scratch_t *scratch)
{
    uint32_t size = (uint32_t)plan->size;
    add_number(facts, PMIX_JOB_SIZE, size);
    add_number(facts, PMIX_UNIV_SIZE, size);
    add_number(facts, PMIX_MAX_PROCS, size);
    add_number(facts, PMIX_LOCAL_SIZE, size);
    add_number(facts, PMIX_NODE_SIZE, size);
    add_number(facts, PMIX_NUM_NODES, 1);
    add_number(facts, PMIX_JOB_NUM_APPS, (uint32_t)plan->app_count);
    add_text(facts, PMIX_JOBID, host.job, PMIX_STRING);
    add_text(facts, PMIX_TMPDIR, scratch->path, PMIX_STRING);
    add_text(facts, PMIX_NSDIR, scratch->path, PMIX_STRING);
    char *ranks = list_ranks(plan->size);
    if (ranks == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", plan->size);
    int err = add_maps(facts, ranks);
    weft_free(ranks);
    for (int i = 0; i < plan->app_count; i++)
        add_app(facts, plan, i);
    for (int rank = 0; rank < plan->size; rank++)
        add_process(facts, plan, rank);
    return err;
}

static int register_job(const weft_job_plan_t *plan, const weft_scratch_t *scratch)
{
    enum { FACTS_OF_JOB = 13 };
    size_t capacity = (size_t)(FACTS_OF_JOB + plan->app_count + plan->size);
    facts_t facts = {0};
    PMIX_INFO_CREATE(facts.infos, capacity);
    if (facts.infos == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%zu facts of the job", capacity);
    int err = describe_job(&facts, plan, scratch);
    if (err == MPI_SUCCESS) {
        pending_t pending = PENDING_INIT;
        begin_call(&pending);
        check_call(&pending, PMIx_server_register_nspace(host.job, plan->size, facts.infos,
                                                         facts.count, end_call, &pending));
        err = wait_for_calls(&pending, "register the job");
    }
    PMIX_INFO_FREE(facts.infos, capacity);
    return err;
}

static int register_ranks(int size)
{
    pending_t pending = PENDING_INIT;
    for (int rank = 0; rank < size; rank++) {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, host.job, (pmix_rank_t)rank);
        begin_call(&pending);
        check_call(&pending, PMIx_server_register_client(&process, getuid(), getgid(), NULL,
                                                         end_call, &pending));
    }
    return wait_for_calls(&pending, "register the ranks");
}

/* Settings of the server alone; ranks get an environment that was copied before. Looking for
 * devices costs hwloc 15 ms (it asks for an X display and for OpenCL) and nobody uses what it
 * finds. */
static void set_up_environment(const weft_job_plan_t *plan)
{
    char topology[64];
    weft_environment_forget_launchers();
    snprintf(topology, sizeof(topology), "core:%d pu:1", plan->cores);
    setenv("HWLOC_SYNTHETIC", topology, 1);
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    setenv("PMIX_MCA_gds", "hash", 0);
}

static int start_server(const weft_scratch_t *scratch)
{
    static pmix_server_module_t upcalls = {
        .client_connected2 = on_connected, .client_finalized = on_finalized, .abort = on_aborted};
    enum { FACTS = 5 };
    pmix_info_t *infos;
    PMIX_INFO_CREATE(infos, FACTS);
    facts_t facts = {.infos = infos};
    char name[sizeof(scratch->id) + 8];
    snprintf(name, sizeof(name), "%s-mpirun", scratch->id);
    add_text(&facts, PMIX_SERVER_TMPDIR, scratch->path, PMIX_STRING);
    add_text(&facts, PMIX_SERVER_NSPACE, name, PMIX_STRING);
    add_rank(&facts, PMIX_SERVER_RANK, 0);
    add_text(&facts, PMIX_HOSTNAME, host.hostname, PMIX_STRING);
    add_no(&facts,
           PMIX_SERVER_TOOL_SUPPORT); /* else it leaves files behind and listens once more */
    pmix_status_t status = PMIx_server_init(&upcalls, infos, facts.count);
    PMIX_INFO_FREE(infos, FACTS);
    return status == PMIX_SUCCESS ? MPI_SUCCESS
                                  : weft_fail(MPI_ERR_SERVICE, "the PMIx server cannot start: %s",
                                              PMIx_Error_string(status));
}

int weft_host_open(const weft_job_plan_t *plan, const weft_scratch_t *scratch, int *pipe_out)
{
    set_up_environment(plan);
    gethostname(host.hostname, sizeof(host.hostname) - 1);
    snprintf(host.job, sizeof(host.job), "%s", scratch->id);
    if (pipe2(host.pipe, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SERVICE, "a pipe cannot be made: %s", strerror(errno));
    fcntl(host.pipe[0], F_SETFL, O_NONBLOCK);
    int err = start_server(scratch);
    if (err == MPI_SUCCESS)
        err = register_job(plan, scratch);
    if (err == MPI_SUCCESS)
        err = register_ranks(plan->size);
    if (err == MPI_SUCCESS)
        *pipe_out = host.pipe[0];
    return err;
}

int weft_host_extend_environment(int rank, weft_variables_t *environment)
{
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, host.job, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_server_setup_fork(&process, &environment->entries);
    weft_variables_recount(environment);
    return status == PMIX_SUCCESS
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_SERVICE, "the PMIx server has no environment for rank %d: %s",
                           rank, PMIx_Error_string(status));
}

bool weft_host_next_event(weft_host_event_t *out)
{
    return read(host.pipe[0], out, sizeof(*out)) == (ssize_t)sizeof(*out);
}
