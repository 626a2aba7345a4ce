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
    PROMPT_MS = 100,
    LOST_BEFORE_PLAN_S = 30, /* after so much silence, until the plan says how long to wait */
    FAREWELL_MS = 4000,      /* for the daemons below us to end, and for our last words */
};

typedef struct daemon {
    wl_loop_t loop;
    weft_call_t call;
    weft_received_plan_t job;
    weft_writer_t job_text; /* as received, for our children */
    weft_relay_t relay;
    weft_crew_t crew;
    weft_fences_t fences;
    weft_remote_data_t remote_data;
    weft_remote_output_t output;
    weft_input_drain_t input;
    sigset_t old_signals;
    int exchange_fd;
    bool shows_prompts[2]; /* mpirun's stdout and stderr are a terminal */
    bool is_started, is_told_to_end, is_finishing, has_told_end_of_output;
} daemon_t;

/* ---- Messages ---- */

static void send_failure(daemon_t *daemon, int err)
{
    weft_writer_t body = {0};
    weft_write_u32(&body, (uint32_t)err);
    weft_write_text(&body, weft_fail_text());
    weft_relay_send(&daemon->relay, WEFT_MSG_FAILED, 0, &body);
    weft_writer_release(&body);
}

static bool has_input_rank(const daemon_t *daemon)
{
    const weft_job_plan_t *plan = daemon->crew.plan;
    int rank = plan->files.input_rank;
    return rank != WEFT_NO_RANK && plan->placement.host_of[rank] == daemon->crew.host;
}

static int start_ranks(daemon_t *daemon)
{
    int in = -1, err = MPI_SUCCESS;
    if (has_input_rank(daemon))
        err = weft_input_drain_open(&daemon->relay, &daemon->input, &in);
    if (err == MPI_SUCCESS)
        err = weft_crew_start(&daemon->crew, in);
    if (in >= 0)
        close(in);
    daemon->is_started = err == MPI_SUCCESS;
    return err;
}

static void take_start(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_reader_t reader = weft_read_begin(message);
    for (int channel = 0; channel < 2; channel++)
        daemon->shows_prompts[channel] = weft_read_u32(&reader) != 0;
    daemon->crew.is_oversubscribed = weft_read_u32(&reader) != 0;
    int err = start_ranks(daemon);
    if (err != MPI_SUCCESS)
        send_failure(daemon, err);
}

static void take_signal(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_reader_t reader = weft_read_begin(message);
    weft_ranks_signal(&daemon->crew.ranks, (int)weft_read_u32(&reader));
}

static void take_input(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_input_drain_take(&daemon->input, message);
}

static void take_credit(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_remote_output_take(&daemon->output, message);
}

static void take_break(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_reader_t reader = weft_read_begin(message);
    weft_output_break(&daemon->crew.output, weft_read_u32(&reader) != 0);
}

static void take_fence(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_fences_take(&daemon->fences, message);
}

static void take_data(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    weft_remote_data_take(&daemon->remote_data, message);
}

static void take_finish(void *owner, const weft_message_t *message)
{
    daemon_t *daemon = owner;
    (void)message;
    daemon->is_finishing = true;
}

static const wl_message_rule_t rules[] = {
    {WEFT_MSG_START, "START", 12, take_start},          {WEFT_MSG_SIGNAL, "SIGNAL", 4, take_signal},
    {WEFT_MSG_INPUT, "INPUT", 0, take_input},           {WEFT_MSG_TAKEN, "TAKEN", 8, take_credit},
    {WEFT_MSG_BREAK, "BREAK", 4, take_break},           {WEFT_MSG_FENCE, "FENCE", 12, take_fence},
    {WEFT_MSG_FENCE_DONE, "FENCE_DONE", 8, take_fence}, {WEFT_MSG_FETCH, "FETCH", 24, take_data},
    {WEFT_MSG_FETCHED, "FETCHED", 12, take_data},       {WEFT_MSG_FINISH, "FINISH", 0, take_finish},
};

static void daemon_deliver(void *context, const weft_message_t *message)
{
    wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void tell_job(void *context, int node)
{
    daemon_t *daemon = context;
    weft_relay_send(&daemon->relay, WEFT_MSG_JOB, node, &daemon->job_text);
}

static void tell_loss(void *context, int node, const char *why)
{
    daemon_t *daemon = context;
    weft_writer_t body = {0};
    weft_write_u32(&body, (uint32_t)node);
    weft_write_text(&body, why);
    weft_relay_send(&daemon->relay, WEFT_MSG_LOST, 0, &body);
    weft_writer_release(&body);
}

static const weft_relay_ops_t relay_ops = {
    .deliver = daemon_deliver, .joined = tell_job, .lost = tell_loss};

static void tell_events(daemon_t *daemon)
{
    weft_rank_event_t event;
    while (weft_crew_next_event(&daemon->crew, &event)) {
        weft_writer_t body = {0};
        weft_remote_output_send(&daemon->output); /* what the rank has written before */
        weft_rank_event_write(&event, &body);
        weft_relay_send(&daemon->relay, WEFT_MSG_RANK, 0, &body);
        weft_writer_release(&body);
    }
}

static void exchange_ready(void *owner, short ready)
{
    daemon_t *daemon = owner;
    weft_request_t *request;
    (void)ready;
    while ((request = weft_exchange_next()) != NULL) {
        if (request->kind == WEFT_FENCE)
            weft_fences_enter(&daemon->fences, request);
        else
            weft_remote_data_enter(&daemon->remote_data, request);
    }
}

/* ---- The loop ---- */

/* To be ended by hand is like losing mpirun. */
static void daemon_signalled(void *owner, int signal_number)
{
    daemon_t *daemon = owner;
    (void)signal_number;
    daemon->is_told_to_end = true;
}

static void tell_end_of_output(daemon_t *daemon)
{
    if (!daemon->is_started || daemon->has_told_end_of_output ||
        !weft_output_is_closed(&daemon->crew.output))
        return;
    daemon->has_told_end_of_output = true;
    weft_relay_send(&daemon->relay, WEFT_MSG_CLOSED, 0, NULL);
}

/* Nothing has come for a moment: does a user wait for the rank with the input to say what it wants?
 */
static void daemon_is_quiet(void *owner)
{
    daemon_t *daemon = owner;
    const weft_job_plan_t *plan = daemon->crew.plan;
    for (int channel = 0; channel < 2 && daemon->input.pipe >= 0; channel++) {
        if (daemon->shows_prompts[channel])
            weft_output_show_prompt(&daemon->crew.output,
                                    plan->placement.local_rank[plan->files.input_rank], channel);
    }
}

static void take_turn(daemon_t *daemon)
{
    bool may_prompt = daemon->input.pipe >= 0 && !daemon->input.has_ended;
    if (may_prompt != (daemon->loop.quiet_ms > 0))
        wl_loop_set_quiet(&daemon->loop, may_prompt ? PROMPT_MS : 0, daemon_is_quiet, daemon);
    wl_loop_turn(&daemon->loop, -1);
    tell_events(daemon);
    weft_remote_output_send(&daemon->output);
    weft_output_throttle(&daemon->crew.output);
    tell_end_of_output(daemon);
}

static bool is_over(const daemon_t *daemon)
{
    return daemon->is_told_to_end || daemon->is_finishing || weft_relay_is_orphaned(&daemon->relay);
}

/* ---- Start ---- */

static int open_signals(daemon_t *daemon)
{
    static const int no_more[] = {0};
    sigprocmask(SIG_SETMASK, NULL, &daemon->old_signals);
    signal(SIGPIPE, SIG_IGN);
    return wl_loop_open_signals(&daemon->loop, no_more, daemon_signalled, daemon);
}

static void wire_ready(void *owner, short ready)
{
    (void)ready;
    weft_wire_advance(owner);
}

/* The first message is the job. */
static int receive_job(daemon_t *daemon, weft_wire_t *wire)
{
    weft_message_t message;
    int err = weft_wire_watch(wire, &daemon->loop, wire_ready, wire);
    if (err != MPI_SUCCESS)
        return err;
    while (!weft_wire_next(wire, &message)) {
        if (wire->fd < 0)
            return weft_fail(MPI_ERR_OTHER, "mpirun has gone before it told the job");
        wl_loop_turn(&daemon->loop, -1);
    }
    weft_wire_unwatch(wire);
    if (message.kind == WEFT_MSG_FINISH)
        _exit(0); /* the others could not be started, so we are not needed */
    if (message.kind != WEFT_MSG_JOB)
        return weft_fail(MPI_ERR_OTHER, "message %d came where the job was expected", message.kind);
    weft_write_bytes(&daemon->job_text, message.body, message.bytes);
    return weft_plan_read(&message, &daemon->job);
}

/* Where the ranks start. A directory that this host does not have is no mistake as long as nobody
 * relies on it: programs and -wdir are looked for later. */
static void enter_directory(const weft_job_plan_t *plan)
{
    const char *home = weft_environment("HOME");
    if (plan->directory != NULL && chdir(plan->directory) == 0)
        return;
    if (home == NULL || chdir(home) != 0)
        (void)!chdir("/");
}

static int start_children(daemon_t *daemon)
{
    const weft_job_plan_t *plan = &daemon->job.plan;
    char path[PATH_MAX];
    int err = weft_daemon_path(plan->route.prefix, path);
    if (err != MPI_SUCCESS)
        return err;
    weft_agent_plan_t agent = {
        .words = plan->route.agent, .daemon = path, .signals = daemon->old_signals};
    daemon->relay.lost_after_s = plan->route.lost_after_s;
    daemon->relay.ops = &relay_ops;
    daemon->relay.context = daemon;
    memcpy(daemon->relay.call.secret, daemon->call.secret, sizeof(daemon->call.secret));
    return weft_relay_start(&daemon->relay, &agent, &plan->placement, plan->route.interface);
}

static int add_own_variables(weft_job_plan_t *plan)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        if (plan->apps[i].inherits_all)
            err = weft_variables_add_host(&plan->apps[i].environment);
    }
    return err;
}

/* All that is needed to start the ranks of this host. */
static int prepare_ranks(daemon_t *daemon)
{
    weft_job_plan_t *plan = &daemon->job.plan;
    int host = daemon->call.node - 1;
    int err = add_own_variables(plan);
    if (err == MPI_SUCCESS)
        err = weft_programs_find(plan, host);
    if (err == MPI_SUCCESS)
        err = weft_exchange_open(plan->id, &daemon->exchange_fd);
    if (err == MPI_SUCCESS)
        err = wl_loop_add(&daemon->loop, daemon->exchange_fd, POLLIN, exchange_ready, daemon);
    if (err == MPI_SUCCESS)
        err = weft_crew_open(&daemon->crew);
    return err;
}

/* From the connection to the parent to a node of the tree with a crew. */
static int join_job(daemon_t *daemon, int fd)
{
    weft_wire_t wire;
    weft_wire_open(fd, &wire);
    weft_wire_limit_silence(&wire, LOST_BEFORE_PLAN_S);
    int err = receive_job(daemon, &wire);
    if (err != MPI_SUCCESS)
        return err;
    weft_job_plan_t *plan = &daemon->job.plan;
    const weft_host_tree_t tree = {.count = plan->placement.host_count + 1,
                                   .radix = plan->route.radix};
    if (daemon->call.node < 1 || daemon->call.node >= tree.count)
        return weft_fail(MPI_ERR_OTHER, "this is daemon %d of %d", daemon->call.node,
                         tree.count - 1);
    weft_wire_limit_silence(&wire, plan->route.lost_after_s);
    err = weft_relay_open(&tree, daemon->call.node, &wire, &daemon->loop, &daemon->relay);
    daemon->output.relay = &daemon->relay;
    weft_fences_open(&plan->placement, &daemon->relay, &daemon->fences);
    weft_remote_data_open(&plan->placement, &daemon->relay, &daemon->remote_data);
    plan->cores = weft_cores_available();
    if (err == MPI_SUCCESS)
        err = weft_crew_prepare(plan, daemon->call.node - 1,
                                weft_remote_output_target(&daemon->output), &daemon->loop,
                                &daemon->crew);
    return err;
}

/* ---- End ---- */

/* Wait for the daemons below us and for our words to leave. */
static void take_leave(daemon_t *daemon)
{
    int64_t until_ms = weft_clock_ms() + FAREWELL_MS;
    bool has_said = false;
    while (weft_clock_ms() < until_ms && !weft_relay_is_orphaned(&daemon->relay)) {
        if (!has_said && weft_relay_is_alone(&daemon->relay)) {
            weft_relay_send(&daemon->relay, WEFT_MSG_DONE,
                            weft_host_tree_parent(&daemon->relay.tree, daemon->relay.self), NULL);
            has_said = true;
        }
        if (has_said && weft_relay_is_flushed(&daemon->relay))
            return;
        wl_loop_turn(&daemon->loop, PROMPT_MS);
    }
}

static void finish(daemon_t *daemon)
{
    weft_relay_stop_listening(&daemon->relay);
    wl_loop_set_quiet(&daemon->loop, 0, NULL, NULL);
    wl_loop_remove(&daemon->loop, daemon->exchange_fd);
    weft_fences_close(&daemon->fences);
    weft_remote_data_close(&daemon->remote_data);
    weft_crew_finish(&daemon->crew);
    weft_remote_output_send(&daemon->output);
    weft_input_drain_close(&daemon->input);
    weft_crew_close(&daemon->crew);
    take_leave(daemon);
    weft_relay_close(&daemon->relay);
}

static void tell_ready(daemon_t *daemon)
{
    weft_writer_t body = {0};
    weft_write_u32(&body, daemon->crew.ours->count > daemon->job.plan.cores);
    weft_relay_send(&daemon->relay, WEFT_MSG_READY, 0, &body);
    weft_writer_release(&body);
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
    weft_relay_read_on(&daemon->relay);
    while (!is_over(daemon))
        take_turn(daemon);
    finish(daemon);
}

int weft_daemon_run(void)
{
    static daemon_t daemon = {.exchange_fd = -1, .input.pipe = -1, .crew.host_fd = -1};
    int fd, null;
    wl_loop_open(&daemon.loop);
    setsid(); /* what a terminal or an agent's end send to its group is not for us */
    int err = weft_call_read(STDIN_FILENO, &daemon.call);
    if (err == MPI_SUCCESS)
        err = weft_call_connect(&daemon.call, &fd);
    if (err != MPI_SUCCESS)
        return err;
    /* Ranks without input shall not read what the agent may still send. */
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
