/* SPDX-License-Identifier: BSD-3-Clause */
/* A job on another host, or on several, whose ranks are started by node daemons; mpirun is the root
 * of their tree. */
#include "launch/mpirun/remote_job_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "launch/plan/daemon_path.h"
#include "launch/plan/program_search.h"
#include "launch/tree/plan_message.h"
#include "launch/tree/remote_output.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LATE_MS = 1000,     /* for daemons that are still starting, so that they find their parent and
                         * need not complain */
    FAREWELL_MS = 6000, /* for daemons to clean up; they give the daemons below them 4 s */
};

static wli_remote_job_t *remote_of(wl_job_t *job)
{
    return (wli_remote_job_t *)job;
}

static const wli_remote_job_t *remote_of_const(const wl_job_t *job)
{
    return (const wli_remote_job_t *)job;
}

/* The directory by the name that the user knows, which may be that of a link: other hosts start
 * ranks in a directory of that name. */
static const char *working_directory(char room[PATH_MAX])
{
    struct stat here, named;
    const char *name = weft_environment("PWD");
    if (name != NULL && name[0] == '/' && stat(".", &here) == 0 && stat(name, &named) == 0 &&
        here.st_dev == named.st_dev && here.st_ino == named.st_ino)
        return name;
    return getcwd(room, PATH_MAX);
}

/* Daemons start agents too, with another PATH, so the agent gets its full path. */
static int settle_agent(wli_remote_job_t *remote)
{
    const char *words = remote->base.plan->route.agent, *search = weft_environment("PATH");
    char name[PATH_MAX], path[PATH_MAX];
    size_t length = words == NULL ? 0 : strcspn(words, " ");
    if (words == NULL)
        return MPI_SUCCESS; /* ssh */
    snprintf(name, sizeof(name), "%.*s", (int)length, words);
    if (strchr(name, '/') == NULL
            ? wl_program_path(search == NULL ? "/usr/bin:/bin" : search, name, path) != 0
            : realpath(name, path) == NULL)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the launch agent %s was not found", name);
    snprintf(remote->agent_words, sizeof(remote->agent_words), "%s%s", path, words + length);
    remote->agent.words = remote->agent_words;
    return MPI_SUCCESS;
}

/* Give daemons credit for output that was taken, unless much output still waits to be written. */
static void give_credit(wli_remote_job_t *remote)
{
    if (!wl_sinks_have_room(remote->base.sinks, WL_STDOUT) ||
        !wl_sinks_have_room(remote->base.sinks, WL_STDERR))
        return;
    for (int i = 0; i < wli_remote_placement(remote)->host_count; i++) {
        wli_host_state_t *host = &remote->hosts[i];
        if (host->owed < WL_OUTPUT_CREDIT / 4)
            continue;
        wl_writer_t body = {0};
        wl_write_u64(&body, host->owed);
        wl_router_send(&remote->router, WL_MSG_TAKEN, i + 1, &body);
        wl_writer_release(&body);
        host->owed = 0;
    }
}

static int remote_before_turn(wl_job_t *job)
{
    wli_remote_job_t *remote = remote_of(job);
    give_credit(remote);
    if (remote->start_error != MPI_SUCCESS)
        return weft_fail(remote->start_error, "%s", remote->start_text);
    return MPI_SUCCESS;
}

static int remote_start(wl_job_t *job)
{
    wli_remote_job_t *remote = remote_of(job);
    const wl_route_t *route = &job->plan->route;
    char room[PATH_MAX];
    int err = settle_agent(remote);
    if (err != MPI_SUCCESS)
        return err;
    wl_plan_write(job->plan, working_directory(room), remote->agent.words, &remote->job_text);
    if (remote->job_text.has_failed)
        return weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
    remote->agent.daemon = remote->daemon;
    err = wl_router_start(&remote->router, &remote->agent, wli_remote_placement(remote),
                          route->interface);
    return err == MPI_SUCCESS ? remote_before_turn(job) : err;
}

static bool remote_next_event(wl_job_t *job, wl_rank_event_t *out)
{
    wl_byte_queue_t *events = &remote_of(job)->events;
    if (wl_queue_bytes(events) == 0)
        return false;
    memcpy(out, wl_queue_front(events), sizeof(*out));
    wl_queue_drop(events, sizeof(*out));
    return true;
}

static void send_signal(wli_remote_job_t *remote, int node, int signal_number)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)signal_number);
    wl_router_send(&remote->router, WL_MSG_SIGNAL, node, &body);
    wl_writer_release(&body);
}

static void remote_signal(wl_job_t *job, int signal_number)
{
    wli_remote_job_t *remote = remote_of(job);
    bool ends = signal_number != SIGCONT && signal_number != SIGTSTP && signal_number != SIGUSR1 &&
                signal_number != SIGUSR2;
    if (!remote->is_started) {
        remote->is_cancelled |= ends;
        return;
    }
    send_signal(remote, WL_TO_ALL, signal_number);
}

static void tell_of_rank(wli_remote_job_t *remote, wl_message_kind_t kind, int node, int rank)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)rank);
    wl_router_send(&remote->router, kind, node, &body);
    wl_writer_release(&body);
}

static void remote_forget(wl_job_t *job, int rank)
{
    wl_fences_lose(&remote_of(job)->fences, rank);
    tell_of_rank(remote_of(job), WL_MSG_GONE, WL_TO_ALL, rank);
}

/* A daemon that cannot start it says so, which ends the job. */
static int remote_restart(wl_job_t *job, int rank)
{
    wli_remote_job_t *remote = remote_of(job);
    int index = wli_remote_placement(remote)->host_of[rank];
    wli_host_state_t *host = &remote->hosts[index];
    if (host->is_lost)
        return weft_fail(MPI_ERR_SPAWN, "its host is lost");
    host->running++;
    host->is_output_closed = false;
    tell_of_rank(remote, WL_MSG_AGAIN, index + 1, rank);
    return MPI_SUCCESS;
}

static void remote_end_host(wl_job_t *job, int host)
{
    send_signal(remote_of(job), host + 1, SIGKILL);
}

static int remote_running(const wl_job_t *job)
{
    const wli_remote_job_t *remote = remote_of_const(job);
    int sum = 0;
    for (int i = 0; i < wli_remote_placement(remote)->host_count; i++)
        sum += remote->hosts[i].running;
    return remote->is_cancelled ? 0 : sum;
}

/* Daemons send a rank's output before its end. */
static void remote_gather(wl_job_t *job)
{
    (void)job;
}

static void remote_break_output(wl_job_t *job, int channel)
{
    wl_writer_t body = {0};
    if (remote_of(job)->is_finishing)
        return;
    wl_write_u32(&body, (uint32_t)channel);
    wl_router_send(&remote_of(job)->router, WL_MSG_BREAK, WL_TO_ALL, &body);
    wl_writer_release(&body);
}

static bool remote_is_output_closed(const wl_job_t *job)
{
    const wli_remote_job_t *remote = remote_of_const(job);
    for (int i = 0; i < wli_remote_placement(remote)->host_count; i++) {
        if (!remote->hosts[i].is_output_closed && !remote->hosts[i].is_lost)
            return false;
    }
    return true;
}

static void remote_finish(wl_job_t *job)
{
    wli_remote_job_t *remote = remote_of(job);
    int64_t now = weft_clock_ms(), until_ms = now + FAREWELL_MS,
            latecomers_until_ms = now + LATE_MS;
    remote->is_finishing = true;
    wl_loop_set_quiet(job->loop, 0, NULL, NULL);
    wl_input_source_close(&remote->input);
    wl_router_send(&remote->router, WL_MSG_FINISH, WL_TO_ALL, NULL);
    for (; now < until_ms && !wl_router_is_alone(&remote->router); now = weft_clock_ms()) {
        if (now >= latecomers_until_ms)
            wl_router_stop_listening(&remote->router);
        wl_loop_turn(job->loop, WL_PROMPT_MS);
        wl_sinks_flush(job->sinks);
        give_credit(remote);
    }
}

static void remote_close(wl_job_t *job)
{
    wli_remote_job_t *remote = remote_of(job);
    wl_fences_close(&remote->fences);
    wl_router_close(&remote->router);
    wl_writer_release(&remote->job_text);
    wl_queue_release(&remote->events);
    weft_free(remote->hosts);
    explicit_bzero(remote->router.parent_link.secret, WEFT_SECRET_BYTES);
    weft_free(remote);
}

static const wl_job_ops_t remote_job_ops = {
    .start = remote_start,
    .before_turn = remote_before_turn,
    .next_event = remote_next_event,
    .signal = remote_signal,
    .forget = remote_forget,
    .restart = remote_restart,
    .end_host = remote_end_host,
    .running = remote_running,
    .gather = remote_gather,
    .break_output = remote_break_output,
    .is_output_closed = remote_is_output_closed,
    .finish = remote_finish,
    .close = remote_close,
};

static int open_hosts(wli_remote_job_t *remote)
{
    const wl_placement_t *placement = wli_remote_placement(remote);
    remote->hosts = weft_alloc_zeroed((size_t)placement->host_count, sizeof(*remote->hosts));
    if (remote->hosts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", placement->host_count);
    for (int i = 0; i < placement->host_count; i++)
        remote->hosts[i].running = placement->hosts[i].count;
    return MPI_SUCCESS;
}

static int open_router(wli_remote_job_t *remote)
{
    const wl_route_t *route = &remote->base.plan->route;
    const wl_host_tree_t tree = {.count = wli_remote_placement(remote)->host_count + 1,
                                 .radix = route->radix};
    int err = wl_router_open(&tree, 0, NULL, remote->base.loop, &remote->router);
    remote->router.lost_after_s = route->lost_after_s;
    remote->router.ops = &wli_remote_router_ops;
    remote->router.context = remote;
    wl_fences_open(wli_remote_placement(remote), &remote->router, &remote->fences);
    return err == MPI_SUCCESS ? weft_random(remote->router.parent_link.secret, WEFT_SECRET_BYTES)
                              : err;
}

int wl_remote_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                         wl_job_t **out)
{
    wli_remote_job_t *remote = weft_alloc_zeroed(1, sizeof(*remote));
    if (remote == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    remote->base = (wl_job_t){.ops = &remote_job_ops, .plan = plan, .sinks = sinks, .loop = loop};
    sigprocmask(SIG_SETMASK, NULL, &remote->agent.signals);
    int err = open_hosts(remote);
    if (err == MPI_SUCCESS)
        err = open_router(remote);
    if (err == MPI_SUCCESS)
        err = wl_daemon_path(plan->route.prefix, remote->daemon);
    if (err == MPI_SUCCESS) {
        *out = &remote->base;
        return MPI_SUCCESS;
    }
    remote_close(&remote->base);
    return err;
}
