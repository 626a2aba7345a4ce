/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/daemon.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/daemon_path.h"
#include "launch/plan/program_search.h"
#include "launch/tree/daemon_private.h"
#include "mpi.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LOST_BEFORE_PLAN_S = 30, /* limit for silence, until the plan sets it */
    FAREWELL_MS = 4000,      /* for the daemons below this one to end, and for the last messages to
                              * leave */
};

/* ---- The loop ---- */

/* A signal from outside has the same effect as losing mpirun. */
static void daemon_signalled(void *owner, int signal_number)
{
    wli_daemon_t *daemon = owner;
    (void)signal_number;
    daemon->is_told_to_end = true;
}

/* Nothing has come for a moment: the rank with the input may have written a prompt, and waits. */
static void daemon_is_quiet(void *owner)
{
    wli_daemon_t *daemon = owner;
    const wl_job_plan_t *plan = daemon->node.plan;
    for (int channel = 0; channel < 2 && daemon->input.pipe >= 0; channel++) {
        if (daemon->shows_prompts[channel])
            wl_output_show_prompt(&daemon->node.output,
                                  plan->placement.local_rank[plan->files.input_rank], channel);
    }
}

static void daemon_take_turn(wli_daemon_t *daemon)
{
    bool may_prompt = daemon->input.pipe >= 0 && !daemon->input.has_ended;
    if (may_prompt != (daemon->loop.quiet_ms > 0))
        wl_loop_set_quiet(&daemon->loop, may_prompt ? WL_PROMPT_MS : 0, daemon_is_quiet, daemon);
    wl_loop_turn(&daemon->loop, -1);
    wli_daemon_tell_events(daemon);
    wl_remote_output_send(&daemon->output);
    wl_output_throttle(&daemon->node.output);
    wli_daemon_tell_end_of_output(daemon);
}

static bool is_daemon_over(const wli_daemon_t *daemon)
{
    return daemon->is_told_to_end || daemon->is_finishing || wl_router_is_orphaned(&daemon->router);
}

/* ---- Start ---- */

static int daemon_open_signals(wli_daemon_t *daemon)
{
    static const int no_more[] = {0};
    sigprocmask(SIG_SETMASK, NULL, &daemon->old_signals);
    signal(SIGPIPE, SIG_IGN);
    return wl_loop_open_signals(&daemon->loop, no_more, daemon_signalled, daemon);
}

static void daemon_connection_ready(void *owner, short ready)
{
    (void)ready;
    wl_connection_advance(owner);
}

/* The first message is the job. */
static int receive_job(wli_daemon_t *daemon, wl_connection_t *connection)
{
    wl_message_t message;
    int err = wl_connection_watch(connection, &daemon->loop, daemon_connection_ready, connection);
    if (err != MPI_SUCCESS)
        return err;
    while (!wl_connection_next(connection, &message)) {
        if (connection->fd < 0)
            return weft_fail(MPI_ERR_OTHER, "mpirun has gone before it told the job");
        wl_loop_turn(&daemon->loop, -1);
    }
    wl_connection_unwatch(connection);
    if (message.kind == WL_MSG_FINISH)
        _exit(0); /* the others could not be started, so we are not needed */
    if (message.kind != WL_MSG_JOB)
        return weft_fail(MPI_ERR_OTHER, "message %d came where the job was expected", message.kind);
    wl_write_bytes(&daemon->job_text, message.body, message.bytes);
    return wl_plan_read(&message, &daemon->job);
}

/* Enter the directory in which the ranks start. It is no error if this host does not have it: a
 * program or -wdir that is relative to it is looked for later, and missed then. */
static void enter_directory(const wl_job_plan_t *plan)
{
    const char *home = weft_environment("HOME");
    if (plan->directory != NULL && chdir(plan->directory) == 0)
        return;
    if (home == NULL || chdir(home) != 0)
        (void)!chdir("/");
}

static int start_children(wli_daemon_t *daemon)
{
    const wl_job_plan_t *plan = &daemon->job.plan;
    char path[PATH_MAX];
    int err = wl_daemon_path(plan->route.prefix, path);
    if (err != MPI_SUCCESS)
        return err;
    wl_agent_plan_t agent = {
        .words = plan->route.agent, .daemon = path, .signals = daemon->old_signals};
    daemon->router.lost_after_s = plan->route.lost_after_s;
    daemon->router.ops = &wli_daemon_router_ops;
    daemon->router.context = daemon;
    memcpy(daemon->router.parent_link.secret, daemon->parent_link.secret,
           sizeof(daemon->parent_link.secret));
    return wl_router_start(&daemon->router, &agent, &plan->placement, plan->route.interface);
}

static int add_own_variables(wl_job_plan_t *plan)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        if (plan->apps[i].inherits_all)
            err = wl_variables_add_host(&plan->apps[i].environment);
    }
    return err;
}

/* Prepare all that is needed to start the ranks of this host. */
static int prepare_ranks(wli_daemon_t *daemon)
{
    wl_job_plan_t *plan = &daemon->job.plan;
    int host = daemon->parent_link.node - 1;
    int err = add_own_variables(plan);
    if (err == MPI_SUCCESS)
        err = wl_programs_find(plan, host);
    daemon->node.pmix.on_request = wli_daemon_take_request;
    daemon->node.pmix.owner = daemon;
    if (err == MPI_SUCCESS)
        err = wl_node_ranks_open(&daemon->node);
    return err;
}

/* The connection to the parent is there: read the plan, and become a node of the tree with ranks.
 */
static int daemon_join_job(wli_daemon_t *daemon, int fd)
{
    wl_connection_t connection;
    wl_connection_open(fd, &connection);
    wl_connection_limit_silence(&connection, LOST_BEFORE_PLAN_S);
    int err = receive_job(daemon, &connection);
    if (err != MPI_SUCCESS)
        return err;
    wl_job_plan_t *plan = &daemon->job.plan;
    const wl_host_tree_t tree = {.count = plan->placement.host_count + 1,
                                 .radix = plan->route.radix};
    if (daemon->parent_link.node < 1 || daemon->parent_link.node >= tree.count)
        return weft_fail(MPI_ERR_OTHER, "this is daemon %d of %d", daemon->parent_link.node,
                         tree.count - 1);
    wl_connection_limit_silence(&connection, plan->route.lost_after_s);
    err = wl_router_open(&tree, daemon->parent_link.node, &connection, &daemon->loop,
                         &daemon->router);
    daemon->output.router = &daemon->router;
    wl_fences_open(&plan->placement, &daemon->router, &daemon->fences);
    wl_remote_data_open(&plan->placement, &daemon->router, &daemon->node.pmix,
                        &daemon->remote_data);
    plan->cores = wl_cores_available();
    if (err == MPI_SUCCESS)
        err = wl_node_ranks_prepare(plan, daemon->parent_link.node - 1,
                                    wl_remote_output_target(&daemon->output), &daemon->loop,
                                    &daemon->node);
    return err;
}

/* ---- End ---- */

/* Wait until the daemons below have ended and the last messages are sent. */
static void take_leave(wli_daemon_t *daemon)
{
    int64_t until_ms = weft_clock_ms() + FAREWELL_MS;
    bool has_said = false;
    while (weft_clock_ms() < until_ms && !wl_router_is_orphaned(&daemon->router)) {
        if (!has_said && wl_router_is_alone(&daemon->router)) {
            wl_router_send(&daemon->router, WL_MSG_DONE,
                           wl_host_tree_parent(&daemon->router.tree, daemon->router.self), NULL);
            has_said = true;
        }
        if (has_said && wl_router_is_flushed(&daemon->router))
            return;
        wl_loop_turn(&daemon->loop, WL_PROMPT_MS);
    }
}

static void finish_daemon(wli_daemon_t *daemon)
{
    wl_router_stop_listening(&daemon->router);
    wl_loop_set_quiet(&daemon->loop, 0, NULL, NULL);
    wl_fences_close(&daemon->fences);
    wl_remote_data_close(&daemon->remote_data);
    wl_node_ranks_finish(&daemon->node);
    wl_remote_output_send(&daemon->output);
    wl_input_drain_close(&daemon->input);
    wl_node_ranks_close(&daemon->node);
    take_leave(daemon);
    wl_router_close(&daemon->router);
}

static void serve(wli_daemon_t *daemon)
{
    int err = start_children(daemon);
    if (err == MPI_SUCCESS)
        err = prepare_ranks(daemon);
    if (err == MPI_SUCCESS)
        wli_daemon_tell_ready(daemon);
    else
        wli_daemon_send_failure(daemon, err);
    wl_router_read_on(&daemon->router);
    while (!is_daemon_over(daemon))
        daemon_take_turn(daemon);
    finish_daemon(daemon);
}

int wl_daemon_run(void)
{
    static wli_daemon_t daemon = {
        .input.pipe = -1, .node.notes = {.fd = -1, .inherited = -1}, .node.pmix.connection.fd = -1};
    int fd, null;
    wl_loop_open(&daemon.loop);
    setsid(); /* so that signals that a terminal, or the end of the agent, sends to their group do
               * not come here */
    int err = wl_parent_link_read(STDIN_FILENO, &daemon.parent_link);
    if (err == MPI_SUCCESS)
        err = wl_parent_link_connect(&daemon.parent_link, &fd);
    if (err != MPI_SUCCESS)
        return err;
    /* Ranks without input must not read what the agent may still send. */
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null > STDIN_FILENO) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
    err = daemon_join_job(&daemon, fd);
    if (err == MPI_SUCCESS)
        err = daemon_open_signals(&daemon);
    if (err != MPI_SUCCESS)
        return err;
    enter_directory(&daemon.job.plan);
    serve(&daemon);
    return MPI_SUCCESS;
}
