/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "launch/node/node_ranks.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/core_share.h"
#include "launch/node/pmix_host.h"
#include "mpi.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int weft_crew_prepare(const weft_job_plan_t *plan, int host, weft_output_target_t target,
                      wl_loop_t *loop, weft_crew_t *out)
{
    const weft_placed_host_t *ours = &plan->placement.hosts[host];
    *out = (weft_crew_t){.loop = loop, .plan = plan, .ours = ours, .host = host, .host_fd = -1};
    int err = weft_ranks_open(ours->count, &out->ranks);
    if (err == MPI_SUCCESS)
        err = weft_output_open(ours->ranks, ours->count, target, loop, &out->output);
    if (err != MPI_SUCCESS)
        return err;
    out->output.tags_lines = plan->tags_lines;
    out->output.is_immediate = plan->size == 1;
    out->ended = weft_alloc_array((size_t)ours->count, sizeof(int));
    return out->ended != NULL ? MPI_SUCCESS
                              : weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", ours->count);
}

/* A rank needs two pipes here and a socket of PMIx. Ranks get the old limit. */
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

static void note_end(weft_crew_t *crew, int index)
{
    if (index >= 0 && weft_ranks_poll(&crew->ranks, index))
        crew->ended[crew->ended_count++] = index;
}

static void rank_ended(void *owner, pid_t first)
{
    weft_crew_t *crew = owner;
    note_end(crew, weft_ranks_find(&crew->ranks, first));
    for (int i = 0; i < crew->ranks.count; i++)
        note_end(crew, i);
}

int weft_crew_open(weft_crew_t *crew)
{
    raise_file_limit(crew->ours->count);
    int err = weft_scratch_create(crew->plan->id, crew->host, &crew->scratch);
    if (err == MPI_SUCCESS)
        err = weft_watchdog_open(&crew->scratch, &crew->watchdog);
    if (err == MPI_SUCCESS)
        err = weft_host_open(crew->plan, crew->host, &crew->scratch, &crew->host_fd);
    if (err != MPI_SUCCESS)
        return err;
    wl_loop_add_child_watch(crew->loop, &crew->children, rank_ended, crew);
    return wl_loop_add(crew->loop, crew->host_fd, POLLIN, NULL, NULL);
}

/* ---- Start ---- */

/* Where a channel of a rank goes: its file, or a pipe to us. */
static int open_channel(weft_crew_t *crew, int index, int channel, int *out)
{
    const weft_rank_files_t *files = &crew->plan->files;
    if (weft_rank_files_take(files, channel))
        return weft_rank_files_open(files, channel, crew->ours->ranks[index], crew->plan->id, out);
    return weft_output_connect(&crew->output, index, channel, out);
}

/* ends[1] may be ends[0]. */
static int open_output(weft_crew_t *crew, int index, int ends[2])
{
    int err = open_channel(crew, index, 0, &ends[0]);
    ends[1] = ends[0];
    if (err != MPI_SUCCESS || crew->plan->files.joins_errors)
        return err;
    err = open_channel(crew, index, 1, &ends[1]);
    if (err != MPI_SUCCESS)
        close(ends[0]);
    return err;
}

static int start_process(weft_crew_t *crew, int index, int in, const weft_variables_t *environment)
{
    const weft_app_t *app = weft_job_plan_app_of(crew->plan, crew->ours->ranks[index]);
    int ends[2];
    int err = open_output(crew, index, ends);
    if (err != MPI_SUCCESS)
        return err;
    cpu_set_t cores;
    bool is_bound =
        !crew->plan->is_unbound && weft_core_share(&crew->cores, index, crew->ours->count, &cores);
    weft_start_t start = {.path = app->path,
                          .directory = app->directory,
                          .arguments = app->arguments,
                          .environment = environment->entries,
                          .in = in,
                          .out = ends[0],
                          .err = ends[1],
                          .cores = is_bound ? &cores : NULL};
    err = weft_ranks_start(&crew->ranks, &start);
    close(ends[0]);
    if (ends[1] != ends[0])
        close(ends[1]);
    return err;
}

static int start_rank(weft_crew_t *crew, int index, int in)
{
    int rank = crew->ours->ranks[index];
    weft_variables_t environment;
    int err = weft_job_plan_environment(crew->plan, rank, &environment);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_host_extend_environment(rank, &environment);
    if (err == MPI_SUCCESS && crew->is_oversubscribed &&
        weft_variables_get(&environment, "WEFT_CROWDED") == NULL)
        err = weft_variables_set(&environment, "WEFT_CROWDED", "yes");
    if (err == MPI_SUCCESS)
        err = start_process(crew, index, in, &environment);
    weft_variables_release(&environment);
    if (err == MPI_SUCCESS)
        weft_watchdog_add(&crew->watchdog, crew->ranks.processes[index].pid);
    return err;
}

int weft_crew_start(weft_crew_t *crew, int in)
{
    int err = MPI_SUCCESS;
    if (sched_getaffinity(0, sizeof(crew->cores), &crew->cores) != 0)
        CPU_ZERO(&crew->cores); /* too few for any number of ranks */
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < crew->ours->count && err == MPI_SUCCESS; i++)
        err = start_rank(crew, i, crew->ours->ranks[i] == crew->plan->files.input_rank ? in : null);
    if (null >= 0)
        close(null);
    return err;
}

/* ---- Events ---- */

static int pid_of(const weft_crew_t *crew, int rank)
{
    return (int)crew->ranks.processes[crew->plan->placement.local_rank[rank]].pid;
}

bool weft_crew_next_event(weft_crew_t *crew, weft_rank_event_t *out)
{
    if (weft_host_next_event(out)) {
        out->pid = pid_of(crew, out->rank);
        return true;
    }
    if (crew->next_ended == crew->ended_count)
        return false;
    int index = crew->ended[crew->next_ended++];
    const weft_rank_process_t *process = &crew->ranks.processes[index];
    weft_output_gather(&crew->output, index);
    *out = (weft_rank_event_t){.kind = WEFT_RANK_ENDED,
                               .rank = crew->ours->ranks[index],
                               .pid = (int)process->pid,
                               .code = process->exit_code,
                               .signal = process->signal,
                               .has_core = process->has_core};
    return true;
}

/* ---- End ---- */

void weft_crew_finish(weft_crew_t *crew)
{
    /* Also after a good end: a job leaves nothing behind in its process groups. */
    weft_ranks_signal(&crew->ranks, SIGKILL);
    wl_loop_remove(crew->loop, crew->host_fd);
    wl_loop_remove_child_watch(&crew->children);
    weft_output_drain(&crew->output);
}

void weft_crew_close(weft_crew_t *crew)
{
    wl_loop_remove_child_watch(&crew->children);
    if (crew->scratch.path[0] != '\0')
        weft_scratch_remove(&crew->scratch);
    if (crew->watchdog.pid > 0)
        weft_watchdog_close(&crew->watchdog);
    weft_ranks_release(&crew->ranks);
    weft_output_release(&crew->output);
    weft_free(crew->ended);
}
