/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "launch/daemon.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/crew.h"
#include "launch/daemon_path.h"
#include "launch/fence_tree.h"
#include "launch/plan_message.h"
#include "launch/program_search.h"
#include "launch/rank_message.h"
#include "launch/relay.h"
#include "launch/remote_data.h"
#include "launch/remote_input.h"
#include "launch/remote_output.h"
#include "mpi.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    PROMPT_MS = 100,
    LOST_BEFORE_PLAN_S = 30, /* after so much silence, until the plan says how long to wait */
    FAREWELL_MS = 4000, /* for the daemons below us to end, and for our last words */
};

typedef struct daemon {
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
    int signal_fd, exchange_fd;
    struct pollfd *polls;
    int crew_poll, crew_polls; /* where its entries lie in polls[] */
    bool shows_prompts[2];     /* mpirun's stdout and stderr are a terminal */
    bool is_started, is_finishing, has_told_end_of_output;
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
        err = weft_input_drain_open(&daemon->input, &in);
    if (err == MPI_SUCCESS)
        err = weft_crew_start(&daemon->crew, in);
    if (in >= 0)
        close(in);
    daemon->is_started = err == MPI_SUCCESS;
    return err;
}

static void start(daemon_t *daemon, const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    for (int channel = 0; channel < 2; channel++)
        daemon->shows_prompts[channel] = weft_read_u32(&reader) != 0;
    daemon->crew.is_oversubscribed = weft_read_u32(&reader) != 0;
    int err = start_ranks(daemon);
    if (err != MPI_SUCCESS)
        send_failure(daemon, err);
}

static void deliver(void *context, const weft_message_t *message)
{
    daemon_t *daemon = context;
    weft_reader_t reader = weft_read_begin(message);
    switch (message->kind) {
    case WEFT_MSG_START:
        start(daemon, message);
        break;
    case WEFT_MSG_SIGNAL:
        weft_ranks_signal(&daemon->crew.ranks, (int)weft_read_u32(&reader));
        break;
    case WEFT_MSG_INPUT:
        weft_input_drain_take(&daemon->input, message);
        break;
    case WEFT_MSG_TAKEN:
        weft_remote_output_take(&daemon->output, message);
        break;
    case WEFT_MSG_BREAK:
        weft_output_break(&daemon->crew.output, weft_read_u32(&reader) != 0);
        break;
    case WEFT_MSG_FENCE:
    case WEFT_MSG_FENCE_DONE:
        weft_fences_take(&daemon->fences, message);
        break;
    case WEFT_MSG_FETCH:
    case WEFT_MSG_FETCHED:
        weft_remote_data_take(&daemon->remote_data, message);
        break;
    case WEFT_MSG_FINISH:
        daemon->is_finishing = true;
        break;
    default: /* of a later version */
        break;
    }
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
    .deliver = deliver, .joined = tell_job, .lost = tell_loss};

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

static void take_requests(daemon_t *daemon)
{
    weft_request_t *request;
    while ((request = weft_exchange_next()) != NULL) {
        if (request->kind == WEFT_FENCE)
            weft_fences_enter(&daemon->fences, request);
        else
            weft_remote_data_enter(&daemon->remote_data, request);
    }
}

/* ---- The loop ---- */

/* To be ended by hand is like losing mpirun. */
static bool take_signals(daemon_t *daemon)
{
    struct signalfd_siginfo info;
    bool is_told_to_end = false;
    while (read(daemon->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            weft_crew_take_ends(&daemon->crew, (pid_t)info.ssi_pid);
            weft_relay_take_ends(&daemon->relay);
        } else {
            is_told_to_end = true;
        }
    }
    return is_told_to_end;
}

static int earlier(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int patience_ms(daemon_t *daemon)
{
    int most = daemon->input.pipe >= 0 && !daemon->input.has_ended ? PROMPT_MS : -1;
    most = earlier(most, weft_fences_check_clock(&daemon->fences));
    return earlier(most, weft_remote_data_check_clock(&daemon->remote_data));
}

static int prepare_polls(daemon_t *daemon)
{
    struct pollfd *polls = daemon->polls;
    int count = 0;
    polls[count++] = (struct pollfd){.fd = daemon->signal_fd, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = daemon->exchange_fd, .events = POLLIN};
    count += weft_relay_prepare_poll(&daemon->relay, polls + count);
    count += weft_input_drain_prepare_poll(&daemon->input, polls + count);
    daemon->crew_poll = count;
    daemon->crew_polls = weft_crew_prepare_poll(&daemon->crew, polls + count);
    return count + daemon->crew_polls;
}

static void tell_end_of_output(daemon_t *daemon)
{
    if (!daemon->is_started || daemon->has_told_end_of_output ||
        !weft_output_is_closed(&daemon->crew.output))
        return;
    daemon->has_told_end_of_output = true;
    weft_relay_send(&daemon->relay, WEFT_MSG_CLOSED, 0, NULL);
}

/* Nothing has come for a moment: does a user wait for the rank with the input to say what it wants? */
static void show_prompts(daemon_t *daemon)
{
    const weft_job_plan_t *plan = daemon->crew.plan;
    for (int channel = 0; channel < 2 && daemon->input.pipe >= 0; channel++) {
        if (daemon->shows_prompts[channel])
            weft_output_show_prompt(&daemon->crew.output,
                                    plan->placement.local_rank[plan->files.input_rank], channel);
    }
}

/* Returns false when the job is over for us. */
static bool take_turn(daemon_t *daemon)
{
    int patience = patience_ms(daemon);
    int count = prepare_polls(daemon);
    int ready = poll(daemon->polls, (nfds_t)count, patience);
    if (ready == 0)
        show_prompts(daemon);
    if (ready > 0)
        weft_crew_advance(&daemon->crew, daemon->polls + daemon->crew_poll, daemon->crew_polls);
    bool is_told_to_end = take_signals(daemon);
    weft_relay_advance(&daemon->relay);
    take_requests(daemon);
    weft_input_drain_advance(&daemon->input, &daemon->relay);
    tell_events(daemon);
    weft_remote_output_send(&daemon->output);
    tell_end_of_output(daemon);
    return !is_told_to_end && !daemon->is_finishing && !weft_relay_is_orphaned(&daemon->relay);
}

/* ---- Start ---- */

static int open_signals(daemon_t *daemon)
{
    static const int handled[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        sigaddset(&set, handled[i]);
    sigprocmask(SIG_BLOCK, &set, &daemon->old_signals);
    signal(SIGPIPE, SIG_IGN);
    daemon->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return daemon->signal_fd >= 0 ? MPI_SUCCESS
                                  : weft_fail(MPI_ERR_SPAWN, "signals cannot be received");
}

/* The first message is the job. */
static int receive_job(daemon_t *daemon, weft_wire_t *wire)
{
    weft_message_t message;
    while (!weft_wire_next(wire, &message)) {
        struct pollfd poll_entry;
        if (!weft_wire_prepare_poll(wire, &poll_entry))
            return weft_fail(MPI_ERR_OTHER, "mpirun has gone before it told the job");
        poll(&poll_entry, 1, -1);
        weft_wire_advance(wire);
    }
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
        err = weft_crew_open(&daemon->crew);
    return err;
}

static int make_polls(daemon_t *daemon)
{
    enum { OTHERS = 3 }; /* signals, exchange, input */
    size_t count = (size_t)(OTHERS + weft_relay_poll_room(&daemon->relay) +
                            weft_crew_poll_room(&daemon->crew));
    daemon->polls = weft_alloc_array(count, sizeof(*daemon->polls));
    return daemon->polls != NULL ? MPI_SUCCESS
                                 : weft_fail(MPI_ERR_NO_MEM, "a list of %zu files", count);
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
    err = weft_relay_open(&tree, daemon->call.node, &wire, &daemon->relay);
    daemon->output.relay = &daemon->relay;
    weft_fences_open(&plan->placement, &daemon->relay, &daemon->fences);
    weft_remote_data_open(&plan->placement, &daemon->relay, &daemon->remote_data);
    plan->cores = weft_cores_available();
    if (err == MPI_SUCCESS)
        err = weft_crew_prepare(plan, daemon->call.node - 1,
                                weft_remote_output_target(&daemon->output), &daemon->crew);
    return err == MPI_SUCCESS ? make_polls(daemon) : err;
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
        weft_relay_advance(&daemon->relay);
        weft_relay_take_ends(&daemon->relay);
        if (has_said && weft_relay_is_flushed(&daemon->relay))
            return;
        int count = weft_relay_prepare_poll(&daemon->relay, daemon->polls);
        poll(daemon->polls, (nfds_t)count, PROMPT_MS);
    }
}

static void finish(daemon_t *daemon)
{
    weft_relay_stop_listening(&daemon->relay);
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
    while (take_turn(daemon))
        ;
    finish(daemon);
}

int weft_daemon_run(void)
{
    static daemon_t daemon = {
        .signal_fd = -1, .exchange_fd = -1, .input.pipe = -1, .crew.host_fd = -1};
    int fd, null;
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
