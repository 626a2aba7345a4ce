/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/node_ranks.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/mps_program.h"
#include "launch/node/core_share.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int wl_node_ranks_prepare(const wl_job_plan_t *plan, int host, wl_output_target_t target,
                          wl_loop_t *loop, wl_node_ranks_t *out)
{
    const wl_placed_host_t *ours = &plan->placement.hosts[host];
    *out = (wl_node_ranks_t){.loop = loop,
                             .plan = plan,
                             .ours = ours,
                             .host = host,
                             .notes = {.fd = -1, .inherited = -1},
                             .pmix.connection.fd = -1};
    int err = wl_ranks_open(ours->count, &out->ranks);
    if (err == MPI_SUCCESS)
        err = wl_output_open(ours->ranks, ours->count, target, loop, &out->output);
    if (err != MPI_SUCCESS)
        return err;
    out->output.tags_lines = plan->tags_lines;
    out->output.first_number = wl_torch_world_rank(plan, 0);
    out->output.is_immediate = plan->size == 1;
    out->ended = weft_alloc_array((size_t)ours->count, sizeof(int));
    out->restarts = weft_alloc_zeroed((size_t)ours->count, sizeof(int));
    return out->ended != NULL && out->restarts != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", ours->count);
}

/* A rank needs two pipes here, or a socket in the PMIx server. The ranks themselves get the old
 * limit. */
static void raise_file_limit(int count)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count * 3 + 128;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- Ends of ranks ---- */

static void note_end(wl_node_ranks_t *node, int index)
{
    if (index >= 0 && wl_ranks_poll(&node->ranks, index))
        node->ended[node->ended_count++] = index;
}

static void node_rank_ended(void *owner, pid_t first)
{
    wl_node_ranks_t *node = owner;
    note_end(node, wl_ranks_find(&node->ranks, first));
    for (int i = 0; i < node->ranks.count; i++)
        note_end(node, i);
}

int wl_node_ranks_open(wl_node_ranks_t *node)
{
    raise_file_limit(node->ours->count);
    int err = wl_scratch_choose(node->plan->id, node->host, &node->scratch);
    bool has_server = !node->plan->replaces_lost;
    if (err == MPI_SUCCESS)
        wl_mps_choose(node->plan, node->host, &node->scratch, &node->mps);
    if (err == MPI_SUCCESS) /* whenever we are killed from here on, it removes the directory */
        err = wl_watchdog_open(&node->scratch, &node->mps, &node->watchdog);
    if (err == MPI_SUCCESS)
        err = wl_scratch_make(&node->scratch);
    if (err == MPI_SUCCESS) /* early, as these take longest to be ready */
        wl_mps_start(&node->mps);
    if (err == MPI_SUCCESS && has_server)
        err = wl_pmix_server_open(&node->pmix, node->plan, node->host, &node->scratch);
    if (err == MPI_SUCCESS && has_server)
        err = wl_pmix_server_await(&node->pmix, node->loop);
    if (err == MPI_SUCCESS)
        wl_mps_await(&node->mps);
    if (err == MPI_SUCCESS)
        err = wl_rank_notes_open(node->plan, node->host, node->loop, &node->notes);
    if (err == MPI_SUCCESS)
        wl_loop_add_child_watch(node->loop, &node->children, node_rank_ended, node);
    return err;
}

/* ---- Start ---- */

static bool is_started_again(const wl_node_ranks_t *node, int index)
{
    return node->restarts[index] > 0;
}

/* Where a channel of a rank goes: its file, or a pipe to us. */
static int open_channel(wl_node_ranks_t *node, int index, int channel, int *out)
{
    const wl_rank_files_t *files = &node->plan->files;
    int rank = wl_torch_world_rank(node->plan, node->ours->ranks[index]);
    if (!wl_rank_files_take(files, channel))
        return wl_output_connect(&node->output, index, channel, out);
    return is_started_again(node, index)
               ? wl_rank_files_reopen(files, channel, rank, node->plan->id, out)
               : wl_rank_files_open(files, channel, rank, node->plan->id, out);
}

/* With joined stdout and stderr ends[1] is ends[0]. */
static int open_output(wl_node_ranks_t *node, int index, int ends[2])
{
    int err = open_channel(node, index, 0, &ends[0]);
    ends[1] = ends[0];
    if (err != MPI_SUCCESS || node->plan->files.joins_errors)
        return err;
    err = open_channel(node, index, 1, &ends[1]);
    if (err != MPI_SUCCESS)
        close(ends[0]);
    return err;
}

static int start_process(wl_node_ranks_t *node, int index, int in,
                         const wl_variables_t *environment)
{
    const wl_app_t *app = wl_job_plan_app_of(node->plan, node->ours->ranks[index]);
    int ends[2];
    int err = open_output(node, index, ends);
    if (err != MPI_SUCCESS)
        return err;
    weft_cpus_t cores;
    bool is_bound =
        !node->plan->is_unbound && wl_core_share(&node->cores, index, node->ours->count, &cores);
    wl_rank_start_t start = {.path = app->path,
                             .directory = app->directory,
                             .arguments = app->arguments,
                             .environment = environment->entries,
                             .in = in,
                             .out = ends[0],
                             .err = ends[1],
                             .notes = node->notes.inherited,
                             .cores = is_bound ? &cores : NULL,
                             .has_session = weft_cpus_count(&node->cores) >= node->ours->count};
    err = is_started_again(node, index) ? wl_ranks_restart(&node->ranks, index, &start)
                                        : wl_ranks_start(&node->ranks, &start);
    close(ends[0]);
    if (ends[1] != ends[0])
        close(ends[1]);
    return err;
}

/* Variables by which the rank finds its PMIx server; without one, how often it was started. */
static int add_start(const wl_node_ranks_t *node, int index, wl_variables_t *environment)
{
    if (node->plan->replaces_lost)
        return wl_variables_set_number(environment, "TORCHELASTIC_RESTART_COUNT",
                                       node->restarts[index]);
    return wl_pmix_server_extend_environment(&node->pmix, index, environment);
}

/* Are there so many devices? */
static bool are_devices_here(int count)
{
    char path[32];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "/dev/nvidia%d", i);
        if (access(path, F_OK) != 0)
            return false;
    }
    return true;
}

static bool is_mps_here(const wl_variables_t *environment)
{
    return wl_variables_get(environment, WEFT_MPS_PIPES) != NULL ||
           access(WEFT_MPS_PIPES_DEFAULT, F_OK) == 0;
}

/* Streams in which operations of the library wait hold up all others, the library's too, as soon as
 * each hardware queue has one. A process has 8 for a device, a client of MPS has 2, all clients of
 * one MPS can have some 120. More of them make contexts slow: on an H200, 16 processes that share
 * it have theirs after 3 s with 8 queues, after 9 s with 16, and do not get them with 32. So those
 * that seem to have a device each get 16, and clients of MPS what there is for them. NULL: the
 * driver's own number is best. */
static const char *connections_for(int ranks, bool is_mps)
{
    if (is_mps)
        return ranks <= 12 ? "8" : ranks <= 24 ? "4" : NULL;
    return are_devices_here(ranks) ? "16" : NULL;
}

static int add_connections(const wl_node_ranks_t *node, wl_variables_t *environment)
{
    const char *name = "CUDA_DEVICE_MAX_CONNECTIONS";
    if (wl_variables_get(environment, name) != NULL)
        return MPI_SUCCESS;
    const char *connections = connections_for(node->ours->count, is_mps_here(environment));
    return connections == NULL ? MPI_SUCCESS : wl_variables_set(environment, name, connections);
}

static int start_rank(wl_node_ranks_t *node, int index, int in)
{
    int rank = node->ours->ranks[index];
    wl_variables_t environment;
    int err = wl_job_plan_environment(node->plan, rank, &environment);
    if (err != MPI_SUCCESS)
        return err;
    err = add_start(node, index, &environment);
    if (err == MPI_SUCCESS)
        err = wl_mps_extend_environment(&node->mps, &environment);
    if (err == MPI_SUCCESS)
        err = add_connections(node, &environment);
    if (err == MPI_SUCCESS)
        err = wl_rank_notes_extend_environment(&node->notes, node->plan->id, &environment);
    if (err == MPI_SUCCESS && node->is_oversubscribed &&
        wl_variables_get(&environment, "WEFT_CROWDED") == NULL)
        err = wl_variables_set(&environment, "WEFT_CROWDED", "yes");
    if (err == MPI_SUCCESS)
        err = start_process(node, index, in, &environment);
    wl_variables_release(&environment);
    if (err == MPI_SUCCESS)
        wl_watchdog_add(&node->watchdog, node->ranks.processes[index].pid);
    return err;
}

int wl_node_ranks_start(wl_node_ranks_t *node, int in)
{
    int err = MPI_SUCCESS;
    node->cores = weft_cpus_allowed();
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < node->ours->count && err == MPI_SUCCESS; i++)
        err = start_rank(node, i, node->ours->ranks[i] == node->plan->files.input_rank ? in : null);
    if (null >= 0)
        close(null);
    wl_pmix_server_forget_environments(&node->pmix);
    return err;
}

/* What mpirun has read of its input is gone. */
int wl_node_ranks_restart(wl_node_ranks_t *node, int rank)
{
    int index = node->plan->placement.local_rank[rank];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    node->restarts[index]++;
    int err = start_rank(node, index, null);
    if (null >= 0)
        close(null);
    return err;
}

/* ---- Events ---- */

static int pid_of(const wl_node_ranks_t *node, int rank)
{
    return (int)node->ranks.processes[node->plan->placement.local_rank[rank]].pid;
}

/* What the PMIx server tells of a rank that writes notes comes late, or twice. */
static bool next_server_event(wl_node_ranks_t *node, wl_rank_event_t *out)
{
    while (wl_pmix_server_next_event(&node->pmix, out)) {
        if (out->kind == WL_SERVER_LOST || !wl_rank_notes_has_written(&node->notes, out->rank))
            return true;
    }
    return false;
}

static bool next_end(wl_node_ranks_t *node, wl_rank_event_t *out)
{
    if (node->next_ended == node->ended_count) {
        node->next_ended = node->ended_count = 0; /* room for those that are started again */
        return false;
    }
    int index = node->ended[node->next_ended++];
    const wl_rank_process_t *process = &node->ranks.processes[index];
    wl_output_gather(&node->output, index);
    *out = (wl_rank_event_t){.kind = WL_RANK_ENDED,
                             .rank = node->ours->ranks[index],
                             .pid = (int)process->pid,
                             .code = process->exit_code,
                             .signal = process->signal,
                             .has_core = process->has_core,
                             .has_notes =
                                 wl_rank_notes_has_written(&node->notes, node->ours->ranks[index])};
    return true;
}

bool wl_node_ranks_next_event(wl_node_ranks_t *node, wl_rank_event_t *out)
{
    bool is_found = wl_rank_notes_next(&node->notes, out) || next_server_event(node, out);
    if (!is_found && node->next_ended < node->ended_count) {
        wl_pmix_server_read(&node->pmix); /* its end may be why the rank has ended */
        is_found = next_server_event(node, out);
    }
    if (!is_found)
        return next_end(node, out);
    out->pid = pid_of(node, out->rank);
    return true;
}

void wl_node_ranks_lose(wl_node_ranks_t *node, int rank)
{
    if (node->plan->placement.host_of[rank] != node->host)
        return;
    wl_ranks_kill(&node->ranks, node->plan->placement.local_rank[rank]);
    if (!node->plan->replaces_lost)
        wl_pmix_server_lose(&node->pmix, rank);
}

/* ---- End ---- */

void wl_node_ranks_finish(wl_node_ranks_t *node)
{
    /* After a good end too: a job leaves nothing behind in its process groups. */
    wl_ranks_signal(&node->ranks, SIGKILL);
    wl_mps_quit(&node->mps); /* these end while the output is gathered */
    wl_pmix_server_end(&node->pmix);
    wl_loop_remove(node->loop, node->notes.fd);
    wl_loop_remove_child_watch(&node->children);
    wl_output_drain(&node->output);
}

void wl_node_ranks_close(wl_node_ranks_t *node)
{
    wl_loop_remove_child_watch(&node->children);
    wl_rank_notes_close(&node->notes);
    wl_mps_close(&node->mps);
    if (node->scratch.path[0] != '\0')
        wl_scratch_remove(&node->scratch);
    if (node->watchdog.pid > 0)
        wl_watchdog_end(&node->watchdog);
    /* The watchdog and the server have been told to end before either is waited for. */
    wl_pmix_server_close(&node->pmix);
    if (node->watchdog.pid > 0)
        wl_watchdog_close(&node->watchdog);
    wl_ranks_release(&node->ranks);
    wl_output_release(&node->output);
    weft_free(node->ended);
    weft_free(node->restarts);
}
