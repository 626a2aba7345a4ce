/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "launch/tree/daemon.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/node_ranks.h"
#include "launch/plan/daemon_path.h"
#include "launch/tree/fence_tree.h"
#include "launch/tree/plan_message.h"
#include "launch/plan/program_search.h"
#include "launch/tree/rank_message.h"
#include "launch/tree/router.h"
#include "launch/tree/remote_data.h"
#include "launch/tree/remote_input.h"
#include "launch/tree/remote_output.h"
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

typedef struct daemon {
    wl_loop_t loop;
    wl_parent_link_t parent_link;
    wl_received_plan_t job;
    wl_writer_t job_text; /* as received, for our children */
    wl_router_t router;
    wl_node_ranks_t node;
    wl_fences_t fences;
    wl_remote_data_t remote_data;
    wl_remote_output_t output;
    wl_input_drain_t input;
    sigset_t old_signals;
    int exchange_fd;
    bool shows_prompts[2]; /* mpirun's stdout and stderr are a terminal */
    bool is_started, is_told_to_end, is_finishing, has_told_end_of_output;
} daemon_t;

/* ---- Messages ---- */

static void send_failure(daemon_t *daemon, int err)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)err);
    wl_write_text(&body, weft_fail_text());
    wl_router_send(&daemon->router, WL_MSG_FAILED, 0, &body);
    wl_writer_release(&body);
}

static bool has_input_rank(const daemon_t *daemon)
{
    const wl_job_plan_t *plan = daemon->node.plan;
    int rank = plan->files.input_rank;
    return rank != WL_NO_RANK && plan->placement.host_of[rank] == daemon->node.host;
}

static int start_ranks(daemon_t *daemon)
{
    int in = -1, err = MPI_SUCCESS;
    if (has_input_rank(daemon))
        err = wl_input_drain_open(&daemon->router, &daemon->input, &in);
    if (err == MPI_SUCCESS)
        err = wl_node_ranks_start(&daemon->node, in);
    if (in >= 0)
        close(in);
    daemon->is_started = err == MPI_SUCCESS;
    return err;
}

static void daemon_take_start(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    for (int channel = 0; channel < 2; channel++)
        daemon->shows_prompts[channel] = wl_read_u32(&reader) != 0;
    daemon->node.is_oversubscribed = wl_read_u32(&reader) != 0;
    int err = start_ranks(daemon);
    if (err != MPI_SUCCESS)
        send_failure(daemon, err);
}

static void daemon_take_signal(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    wl_ranks_signal(&daemon->node.ranks, (int)wl_read_u32(&reader));
}

static void daemon_take_input(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_input_drain_take(&daemon->input, message);
}

static void daemon_take_credit(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_remote_output_take(&daemon->output, message);
}

static void daemon_take_break(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    wl_output_break(&daemon->node.output, wl_read_u32(&reader) != 0);
}

static void daemon_take_fence(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_fences_take(&daemon->fences, message);
}

static void daemon_take_data(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    wl_remote_data_take(&daemon->remote_data, message);
}

static void daemon_take_finish(void *owner, const wl_message_t *message)
{
    daemon_t *daemon = owner;
    (void)message;
    daemon->is_finishing = true;
}

static const wl_message_rule_t rules[] = {
    {WL_MSG_START, "START", 12, daemon_take_start},
    {WL_MSG_SIGNAL, "SIGNAL", 4, daemon_take_signal},
    {WL_MSG_INPUT, "INPUT", 0, daemon_take_input},
    {WL_MSG_TAKEN, "TAKEN", 8, daemon_take_credit},
    {WL_MSG_BREAK, "BREAK", 4, daemon_take_break},
    {WL_MSG_FENCE, "FENCE", 12, daemon_take_fence},
    {WL_MSG_FENCE_DONE, "FENCE_DONE", 8, daemon_take_fence},
    {WL_MSG_GET, "FETCH", 24, daemon_take_data},
    {WL_MSG_GOT, "FETCHED", 12, daemon_take_data},
    {WL_MSG_FINISH, "FINISH", 0, daemon_take_finish},
};

static void daemon_deliver(void *context, const wl_message_t *message)
{
    wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void daemon_tell_job(void *context, int node)
{
    daemon_t *daemon = context;
    wl_router_send(&daemon->router, WL_MSG_JOB, node, &daemon->job_text);
}

static void daemon_tell_loss(void *context, int node, const char *why)
{
    daemon_t *daemon = context;
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)node);
    wl_write_text(&body, why);
    wl_router_send(&daemon->router, WL_MSG_LOST, 0, &body);
    wl_writer_release(&body);
}

static const wl_router_ops_t router_ops = {
    .deliver = daemon_deliver, .joined = daemon_tell_job, .lost = daemon_tell_loss};

static void tell_events(daemon_t *daemon)
{
    wl_rank_event_t event;
    while (wl_node_ranks_next_event(&daemon->node, &event)) {
        wl_writer_t body = {0};
        wl_remote_output_send(&daemon->output); /* first what the rank had written */
        wl_rank_event_write(&event, &body);
        wl_router_send(&daemon->router, WL_MSG_RANK, 0, &body);
        wl_writer_release(&body);
    }
}

static void daemon_exchange_ready(void *owner, short ready)
{
    daemon_t *daemon = owner;
    wl_pmix_request_t *request;
    (void)ready;
    while ((request = wl_exchange_next()) != NULL) {
        if (request->kind == WL_REQUEST_FENCE)
            wl_fences_enter(&daemon->fences, request);
        else
            wl_remote_data_enter(&daemon->remote_data, request);
    }
}

/* ---- The loop ---- */

/* A signal from outside has the same effect as losing mpirun. */
static void daemon_signalled(void *owner, int signal_number)
{
    daemon_t *daemon = owner;
    (void)signal_number;
    daemon->is_told_to_end = true;
}

static void tell_end_of_output(daemon_t *daemon)
{
    if (!daemon->is_started || daemon->has_told_end_of_output ||
        !wl_output_is_closed(&daemon->node.output))
        return;
    daemon->has_told_end_of_output = true;
    wl_router_send(&daemon->router, WL_MSG_CLOSED, 0, NULL);
}

/* Nothing has come for a moment: the rank with the input may have written a prompt, and waits. */
static void daemon_is_quiet(void *owner)
{
    daemon_t *daemon = owner;
    const wl_job_plan_t *plan = daemon->node.plan;
    for (int channel = 0; channel < 2 && daemon->input.pipe >= 0; channel++) {
        if (daemon->shows_prompts[channel])
            wl_output_show_prompt(&daemon->node.output,
                                  plan->placement.local_rank[plan->files.input_rank], channel);
    }
}

static void take_turn(daemon_t *daemon)
{
    bool may_prompt = daemon->input.pipe >= 0 && !daemon->input.has_ended;
    if (may_prompt != (daemon->loop.quiet_ms > 0))
        wl_loop_set_quiet(&daemon->loop, may_prompt ? WL_PROMPT_MS : 0, daemon_is_quiet, daemon);
    wl_loop_turn(&daemon->loop, -1);
    tell_events(daemon);
    wl_remote_output_send(&daemon->output);
    wl_output_throttle(&daemon->node.output);
    tell_end_of_output(daemon);
}

static bool is_daemon_over(const daemon_t *daemon)
{
    return daemon->is_told_to_end || daemon->is_finishing || wl_router_is_orphaned(&daemon->router);
}

/* ---- Start ---- */

static int open_signals(daemon_t *daemon)
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
static int receive_job(daemon_t *daemon, wl_connection_t *connection)
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

static int start_children(daemon_t *daemon)
{
    const wl_job_plan_t *plan = &daemon->job.plan;
    char path[PATH_MAX];
    int err = wl_daemon_path(plan->route.prefix, path);
    if (err != MPI_SUCCESS)
        return err;
    wl_agent_plan_t agent = {
        .words = plan->route.agent, .daemon = path, .signals = daemon->old_signals};
    daemon->router.lost_after_s = plan->route.lost_after_s;
    daemon->router.ops = &router_ops;
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
static int prepare_ranks(daemon_t *daemon)
{
    wl_job_plan_t *plan = &daemon->job.plan;
    int host = daemon->parent_link.node - 1;
    int err = add_own_variables(plan);
    if (err == MPI_SUCCESS)
        err = wl_programs_find(plan, host);
    if (err == MPI_SUCCESS)
        err = wl_exchange_open(plan->id, &daemon->exchange_fd);
    if (err == MPI_SUCCESS)
        err =
            wl_loop_add(&daemon->loop, daemon->exchange_fd, POLLIN, daemon_exchange_ready, daemon);
    if (err == MPI_SUCCESS)
        err = wl_node_ranks_open(&daemon->node);
    return err;
}

/* The connection to the parent is there: read the plan, and become a node of the tree with ranks.
 */
static int join_job(daemon_t *daemon, int fd)
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
    wl_remote_data_open(&plan->placement, &daemon->router, &daemon->remote_data);
    plan->cores = wl_cores_available();
    if (err == MPI_SUCCESS)
        err = wl_node_ranks_prepare(plan, daemon->parent_link.node - 1,
                                    wl_remote_output_target(&daemon->output), &daemon->loop,
                                    &daemon->node);
    return err;
}

/* ---- End ---- */

/* Wait until the daemons below have ended and the last messages are sent. */
static void take_leave(daemon_t *daemon)
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

static void finish_daemon(daemon_t *daemon)
{
    wl_router_stop_listening(&daemon->router);
    wl_loop_set_quiet(&daemon->loop, 0, NULL, NULL);
    wl_loop_remove(&daemon->loop, daemon->exchange_fd);
    wl_fences_close(&daemon->fences);
    wl_remote_data_close(&daemon->remote_data);
    wl_node_ranks_finish(&daemon->node);
    wl_remote_output_send(&daemon->output);
    wl_input_drain_close(&daemon->input);
    wl_node_ranks_close(&daemon->node);
    take_leave(daemon);
    wl_router_close(&daemon->router);
}

static void tell_ready(daemon_t *daemon)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, daemon->node.ours->count > daemon->job.plan.cores);
    wl_router_send(&daemon->router, WL_MSG_READY, 0, &body);
    wl_writer_release(&body);
}

static void serve(daemon_t *daemon)
{
    int err = start_children(daemon);
    if (err == MPI_SUCCESS)
        err = prepare_ranks(daemon);
    if (err == MPI_SUCCESS)
        tell_ready(daemon);
    else
        send_failure(daemon, err);
    wl_router_read_on(&daemon->router);
    while (!is_daemon_over(daemon))
        take_turn(daemon);
    finish_daemon(daemon);
}

int wl_daemon_run(void)
{
    static daemon_t daemon = {.exchange_fd = -1, .input.pipe = -1, .node.host_fd = -1};
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
    err = join_job(&daemon, fd);
    if (err == MPI_SUCCESS)
        err = open_signals(&daemon);
    if (err != MPI_SUCCESS)
        return err;
    enter_directory(&daemon.job.plan);
    serve(&daemon);
    return MPI_SUCCESS;
}
