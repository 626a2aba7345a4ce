/* SPDX-License-Identifier: BSD-3-Clause */
/* A job on another host, or on several, whose ranks are started by node daemons; mpirun is the root
 * of their tree. */
#include "launch/mpirun/job.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "launch/plan/daemon_path.h"
#include "launch/plan/program_search.h"
#include "launch/tree/fence_tree.h"
#include "launch/tree/plan_message.h"
#include "launch/tree/rank_message.h"
#include "launch/tree/remote_input.h"
#include "launch/tree/remote_output.h"
#include "launch/tree/router.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
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

typedef struct host_state {
    int running; /* ranks that have not ended */
    bool is_lost, is_output_closed;
    uint64_t owed; /* bytes of its output that were written, but not yet credited */
} host_state_t;

typedef struct remote {
    wl_job_t base;
    wl_router_t router;
    wl_fences_t fences;
    wl_writer_t job_text;
    host_state_t *hosts;    /* [host_count] */
    int ready;              /* number of hosts that have sent READY */
    bool is_oversubscribed; /* on one of them ranks outnumber the cores */
    bool is_started, is_cancelled, is_finishing;
    wl_byte_queue_t events; /* of wl_rank_event_t */
    wl_input_source_t input;
    int start_error; /* why nothing was started; MPI_SUCCESS: no reason */
    char start_text[640];
    char daemon[PATH_MAX], agent_words[2 * PATH_MAX];
    wl_agent_plan_t agent;
} remote_job_t;

static remote_job_t *remote_of(wl_job_t *job)
{
    return (remote_job_t *)job;
}

static const remote_job_t *remote_of_const(const wl_job_t *job)
{
    return (const remote_job_t *)job;
}

static const wl_placement_t *placement_of(const remote_job_t *remote)
{
    return &remote->base.plan->placement;
}

/* ---- What daemons tell ---- */

static __attribute__((format(printf, 4, 5))) void refuse_start(remote_job_t *remote, int err,
                                                               int node, const char *format, ...)
{
    va_list arguments;
    if (remote->start_error != MPI_SUCCESS)
        return;
    remote->start_error = err;
    int used = snprintf(remote->start_text, sizeof(remote->start_text),
                        "on %s: ", placement_of(remote)->hosts[node - 1].name);
    va_start(arguments, format);
    vsnprintf(remote->start_text + used, sizeof(remote->start_text) - (size_t)used, format,
              arguments);
    va_end(arguments);
}

static void remote_take_failure(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    int err = (int)wl_read_u32(&reader);
    const char *text = wl_read_text(&reader);
    refuse_start(remote, err == MPI_SUCCESS ? MPI_ERR_SPAWN : err, message->from, "%s",
                 text == NULL ? "the ranks cannot be started" : text);
}

static void remote_job_is_quiet(void *owner)
{
    remote_job_t *remote = owner;
    wl_input_source_look(&remote->input);
}

static void open_input(remote_job_t *remote, int node)
{
    int err = wl_input_source_open(&remote->router, node, &remote->input);
    if (err != MPI_SUCCESS)
        refuse_start(remote, err, node, "%s", weft_fail_text());
    else if (isatty(STDIN_FILENO) == 1)
        wl_loop_set_quiet(remote->base.loop, WL_PROMPT_MS, remote_job_is_quiet, remote);
}

static void start_ranks(remote_job_t *remote)
{
    wl_writer_t body = {0};
    for (int channel = 0; channel < 2; channel++)
        wl_write_u32(&body, wl_sinks_are_terminal(remote->base.sinks, channel));
    wl_write_u32(&body, remote->is_oversubscribed);
    wl_router_send(&remote->router, WL_MSG_START, WL_TO_ALL, &body);
    wl_writer_release(&body);
    int input_rank = remote->base.plan->files.input_rank;
    if (input_rank != WL_NO_RANK)
        open_input(remote, placement_of(remote)->host_of[input_rank] + 1);
    remote->is_started = true;
}

static void remote_take_ready(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    remote->is_oversubscribed |= wl_read_u32(&reader) != 0;
    remote->ready++;
    if (remote->ready == placement_of(remote)->host_count && !remote->is_cancelled)
        start_ranks(remote);
}

static void add_event(remote_job_t *remote, const wl_rank_event_t *event)
{
    wl_queue_append(&remote->events, event, sizeof(*event));
}

static void remote_take_event(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_rank_event_t event;
    if (!wl_rank_event_read(message, remote->base.plan->size, &event))
        return;
    host_state_t *host = &remote->hosts[placement_of(remote)->host_of[event.rank]];
    if (event.kind == WL_RANK_ENDED && host->running > 0)
        host->running--;
    add_event(remote, &event);
}

static void remote_take_output(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    int channel = wl_read_u32(&reader) != 0;
    wl_sinks_put(remote->base.sinks, channel, reader.at, reader.left);
    remote->hosts[message->from - 1].owed += reader.left;
}

/* A daemon is lost, and with it those below it, which end their ranks when they find their parent
 * gone. */
static void remote_lose(void *context, int node, const char *why)
{
    remote_job_t *remote = context;
    const wl_placement_t *placement = placement_of(remote);
    if (!remote->is_started) {
        refuse_start(remote, MPI_ERR_SPAWN, node, "the daemon was not started or was lost: %s",
                     why);
        return;
    }
    for (int i = 0; i < placement->host_count; i++) {
        host_state_t *host = &remote->hosts[i];
        if (host->is_lost || !wl_host_tree_is_below(&remote->router.tree, node, i + 1))
            continue;
        wl_rank_event_t event = {.kind = WL_HOST_LOST, .rank = placement->hosts[i].ranks[0]};
        snprintf(event.text, sizeof(event.text), "%s", why);
        /* If all its ranks had ended, the job does not suffer. */
        if (host->running > 0)
            add_event(remote, &event);
        host->is_lost = true;
        host->running = 0;
    }
}

static void remote_take_loss(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    uint32_t node = wl_read_u32(&reader);
    const char *why = wl_read_text(&reader);
    if (!reader.has_failed && why != NULL && node > 0 && node < (uint32_t)remote->router.tree.count)
        remote_lose(remote, (int)node, why);
}

static void remote_take_closed(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    remote->hosts[message->from - 1].is_output_closed = true;
}

static void remote_take_credit(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_input_source_take(&remote->input, message);
}

static void remote_take_fence(void *owner, const wl_message_t *message)
{
    remote_job_t *remote = owner;
    wl_fences_take(&remote->fences, message);
}

static const wl_message_rule_t rules[] = {
    {WL_MSG_READY, "READY", 4, remote_take_ready},
    {WL_MSG_FAILED, "FAILED", 8, remote_take_failure},
    {WL_MSG_RANK, "RANK", 28, remote_take_event},
    {WL_MSG_OUTPUT, "OUTPUT", 4, remote_take_output},
    {WL_MSG_CLOSED, "CLOSED", 0, remote_take_closed},
    {WL_MSG_READ, "READ", 8, remote_take_credit},
    {WL_MSG_LOST, "LOST", 8, remote_take_loss},
    {WL_MSG_FENCE, "FENCE", 12, remote_take_fence},
};

static void remote_job_deliver(void *context, const wl_message_t *message)
{
    if (message->from > 0) /* mpirun does not send messages to itself */
        wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void remote_tell_job(void *context, int node)
{
    remote_job_t *remote = context;
    wl_router_send(&remote->router, remote->is_finishing ? WL_MSG_FINISH : WL_MSG_JOB, node,
                   &remote->job_text);
}

static const wl_router_ops_t router_ops = {
    .deliver = remote_job_deliver, .joined = remote_tell_job, .lost = remote_lose};

/* ---- What mpirun's loop wants ---- */

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
static int settle_agent(remote_job_t *remote)
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
static void pay_debts(remote_job_t *remote)
{
    if (!wl_sinks_have_room(remote->base.sinks, WL_STDOUT) ||
        !wl_sinks_have_room(remote->base.sinks, WL_STDERR))
        return;
    for (int i = 0; i < placement_of(remote)->host_count; i++) {
        host_state_t *host = &remote->hosts[i];
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
    remote_job_t *remote = remote_of(job);
    pay_debts(remote);
    if (remote->start_error != MPI_SUCCESS)
        return weft_fail(remote->start_error, "%s", remote->start_text);
    return MPI_SUCCESS;
}

static int remote_start(wl_job_t *job)
{
    remote_job_t *remote = remote_of(job);
    const wl_route_t *route = &job->plan->route;
    char room[PATH_MAX];
    int err = settle_agent(remote);
    if (err != MPI_SUCCESS)
        return err;
    wl_plan_write(job->plan, working_directory(room), remote->agent.words, &remote->job_text);
    if (remote->job_text.has_failed)
        return weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
    remote->agent.daemon = remote->daemon;
    err = wl_router_start(&remote->router, &remote->agent, placement_of(remote), route->interface);
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

static void remote_signal(wl_job_t *job, int signal_number)
{
    remote_job_t *remote = remote_of(job);
    bool ends = signal_number != SIGCONT && signal_number != SIGTSTP && signal_number != SIGUSR1 &&
                signal_number != SIGUSR2;
    if (!remote->is_started) {
        remote->is_cancelled |= ends;
        return;
    }
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)signal_number);
    wl_router_send(&remote->router, WL_MSG_SIGNAL, WL_TO_ALL, &body);
    wl_writer_release(&body);
}

static int remote_running(const wl_job_t *job)
{
    const remote_job_t *remote = remote_of_const(job);
    int sum = 0;
    for (int i = 0; i < placement_of(remote)->host_count; i++)
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
    wl_write_u32(&body, (uint32_t)channel);
    wl_router_send(&remote_of(job)->router, WL_MSG_BREAK, WL_TO_ALL, &body);
    wl_writer_release(&body);
}

static bool remote_is_output_closed(const wl_job_t *job)
{
    const remote_job_t *remote = remote_of_const(job);
    for (int i = 0; i < placement_of(remote)->host_count; i++) {
        if (!remote->hosts[i].is_output_closed && !remote->hosts[i].is_lost)
            return false;
    }
    return true;
}

static void remote_finish(wl_job_t *job)
{
    remote_job_t *remote = remote_of(job);
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
        pay_debts(remote);
    }
}

static void remote_close(wl_job_t *job)
{
    remote_job_t *remote = remote_of(job);
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
    .running = remote_running,
    .gather = remote_gather,
    .break_output = remote_break_output,
    .is_output_closed = remote_is_output_closed,
    .finish = remote_finish,
    .close = remote_close,
};

static int open_hosts(remote_job_t *remote)
{
    const wl_placement_t *placement = placement_of(remote);
    remote->hosts = weft_alloc_zeroed((size_t)placement->host_count, sizeof(*remote->hosts));
    if (remote->hosts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", placement->host_count);
    for (int i = 0; i < placement->host_count; i++)
        remote->hosts[i].running = placement->hosts[i].count;
    return MPI_SUCCESS;
}

static int open_router(remote_job_t *remote)
{
    const wl_route_t *route = &remote->base.plan->route;
    const wl_host_tree_t tree = {.count = placement_of(remote)->host_count + 1,
                                 .radix = route->radix};
    int err = wl_router_open(&tree, 0, NULL, remote->base.loop, &remote->router);
    remote->router.lost_after_s = route->lost_after_s;
    remote->router.ops = &router_ops;
    remote->router.context = remote;
    wl_fences_open(placement_of(remote), &remote->router, &remote->fences);
    return err == MPI_SUCCESS ? weft_random(remote->router.parent_link.secret, WEFT_SECRET_BYTES)
                              : err;
}

int wl_remote_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                         wl_job_t **out)
{
    remote_job_t *remote = weft_alloc_zeroed(1, sizeof(*remote));
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
