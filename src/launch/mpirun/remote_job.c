/* SPDX-License-Identifier: BSD-3-Clause */
/* The team of a job on other hosts, or on several: daemons that are reached through a relay. */
#include "launch/mpirun/job.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "launch/plan/daemon_path.h"
#include "launch/tree/fence_tree.h"
#include "launch/tree/plan_message.h"
#include "launch/plan/program_search.h"
#include "launch/tree/rank_message.h"
#include "launch/tree/router.h"
#include "launch/tree/remote_input.h"
#include "launch/tree/remote_output.h"
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
    LATE_MS = 1000,     /* for daemons on their way, so that they need not complain */
    FAREWELL_MS = 6000, /* for daemons to clean up; they give those below them 4 s */
    PROMPT_MS = 100,
};

typedef struct host_state {
    int running; /* ranks that have not ended */
    bool is_lost, is_output_closed;
    uint64_t owed; /* bytes of its output that it does not know to be taken */
} host_state_t;

typedef struct fleet {
    weft_team_t base;
    weft_relay_t relay;
    weft_fences_t fences;
    weft_writer_t job_text;
    host_state_t *hosts; /* [host_count] */
    int ready;           /* hosts whose ranks can be started */
    bool is_oversubscribed;     /* on one of them ranks outnumber the cores */
    bool is_started, is_cancelled, is_finishing;
    weft_byte_queue_t events; /* of weft_rank_event_t */
    weft_input_source_t input;
    int start_error; /* why nothing was started; MPI_SUCCESS: no reason */
    char start_text[640];
    char daemon[PATH_MAX], agent_words[2 * PATH_MAX];
    weft_agent_plan_t agent;
} fleet_t;

static fleet_t *fleet_of(weft_team_t *team)
{
    return (fleet_t *)team;
}

static const fleet_t *fleet_of_const(const weft_team_t *team)
{
    return (const fleet_t *)team;
}

static const weft_placement_t *placement_of(const fleet_t *fleet)
{
    return &fleet->base.plan->placement;
}

/* ---- What daemons tell ---- */

static __attribute__((format(printf, 4, 5))) void refuse_start(fleet_t *fleet, int err, int node,
                                                               const char *format, ...)
{
    va_list arguments;
    if (fleet->start_error != MPI_SUCCESS)
        return;
    fleet->start_error = err;
    int used = snprintf(fleet->start_text, sizeof(fleet->start_text),
                        "on %s: ", placement_of(fleet)->hosts[node - 1].name);
    va_start(arguments, format);
    vsnprintf(fleet->start_text + used, sizeof(fleet->start_text) - (size_t)used, format,
              arguments);
    va_end(arguments);
}

static void take_failure(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_reader_t reader = weft_read_begin(message);
    int err = (int)weft_read_u32(&reader);
    const char *text = weft_read_text(&reader);
    refuse_start(fleet, err == MPI_SUCCESS ? MPI_ERR_SPAWN : err, message->from, "%s",
                 text == NULL ? "the ranks cannot be started" : text);
}

static void fleet_is_quiet(void *owner)
{
    fleet_t *fleet = owner;
    weft_input_source_look(&fleet->input);
}

static void open_input(fleet_t *fleet, int node)
{
    int err = weft_input_source_open(&fleet->relay, node, &fleet->input);
    if (err != MPI_SUCCESS)
        refuse_start(fleet, err, node, "%s", weft_fail_text());
    else if (isatty(STDIN_FILENO) == 1)
        wl_loop_set_quiet(fleet->base.loop, PROMPT_MS, fleet_is_quiet, fleet);
}

static void start_ranks(fleet_t *fleet)
{
    weft_writer_t body = {0};
    for (int channel = 0; channel < 2; channel++)
        weft_write_u32(&body, weft_sinks_are_terminal(fleet->base.sinks, channel));
    weft_write_u32(&body, fleet->is_oversubscribed);
    weft_relay_send(&fleet->relay, WEFT_MSG_START, WEFT_TO_ALL, &body);
    weft_writer_release(&body);
    int input_rank = fleet->base.plan->files.input_rank;
    if (input_rank != WEFT_NO_RANK)
        open_input(fleet, placement_of(fleet)->host_of[input_rank] + 1);
    fleet->is_started = true;
}

static void take_ready(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_reader_t reader = weft_read_begin(message);
    fleet->is_oversubscribed |= weft_read_u32(&reader) != 0;
    fleet->ready++;
    if (fleet->ready == placement_of(fleet)->host_count && !fleet->is_cancelled)
        start_ranks(fleet);
}

static void add_event(fleet_t *fleet, const weft_rank_event_t *event)
{
    weft_queue_append(&fleet->events, event, sizeof(*event));
}

static void take_event(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_rank_event_t event;
    if (!weft_rank_event_read(message, fleet->base.plan->size, &event))
        return;
    host_state_t *host = &fleet->hosts[placement_of(fleet)->host_of[event.rank]];
    if (event.kind == WEFT_RANK_ENDED && host->running > 0)
        host->running--;
    add_event(fleet, &event);
}

static void take_output(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_reader_t reader = weft_read_begin(message);
    int channel = weft_read_u32(&reader) != 0;
    weft_sinks_put(fleet->base.sinks, channel, reader.at, reader.left);
    fleet->hosts[message->from - 1].owed += reader.left;
}

/* A daemon is lost, and so are those below it: they end their ranks when they see it. */
static void lose(void *context, int node, const char *why)
{
    fleet_t *fleet = context;
    const weft_placement_t *placement = placement_of(fleet);
    if (!fleet->is_started) {
        refuse_start(fleet, MPI_ERR_SPAWN, node, "the daemon was not started or was lost: %s", why);
        return;
    }
    for (int i = 0; i < placement->host_count; i++) {
        host_state_t *host = &fleet->hosts[i];
        if (host->is_lost || !weft_host_tree_is_below(&fleet->relay.tree, node, i + 1))
            continue;
        weft_rank_event_t event = {.kind = WEFT_HOST_LOST, .rank = placement->hosts[i].ranks[0]};
        snprintf(event.text, sizeof(event.text), "%s", why);
        /* A daemon whose ranks have ended has nothing to lose. */
        if (host->running > 0)
            add_event(fleet, &event);
        host->is_lost = true;
        host->running = 0;
    }
}

static void take_loss(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_reader_t reader = weft_read_begin(message);
    uint32_t node = weft_read_u32(&reader);
    const char *why = weft_read_text(&reader);
    if (!reader.has_failed && why != NULL && node > 0 && node < (uint32_t)fleet->relay.tree.count)
        lose(fleet, (int)node, why);
}

static void take_closed(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    fleet->hosts[message->from - 1].is_output_closed = true;
}

static void take_credit(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_input_source_take(&fleet->input, message);
}

static void take_fence(void *owner, const weft_message_t *message)
{
    fleet_t *fleet = owner;
    weft_fences_take(&fleet->fences, message);
}

static const wl_message_rule_t rules[] = {
    {WEFT_MSG_READY, "READY", 4, take_ready},    {WEFT_MSG_FAILED, "FAILED", 8, take_failure},
    {WEFT_MSG_RANK, "RANK", 28, take_event},     {WEFT_MSG_OUTPUT, "OUTPUT", 4, take_output},
    {WEFT_MSG_CLOSED, "CLOSED", 0, take_closed}, {WEFT_MSG_READ, "READ", 8, take_credit},
    {WEFT_MSG_LOST, "LOST", 8, take_loss},       {WEFT_MSG_FENCE, "FENCE", 12, take_fence},
};

static void fleet_deliver(void *context, const weft_message_t *message)
{
    if (message->from > 0) /* we do not write to ourselves */
        wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void tell_job(void *context, int node)
{
    fleet_t *fleet = context;
    weft_relay_send(&fleet->relay, fleet->is_finishing ? WEFT_MSG_FINISH : WEFT_MSG_JOB, node,
                    &fleet->job_text);
}

static const weft_relay_ops_t relay_ops = {
    .deliver = fleet_deliver, .joined = tell_job, .lost = lose};

/* ---- What mpirun's loop wants ---- */

/* Other hosts shall start in the same directory by the same name, which may be that of a link. */
static const char *working_directory(char room[PATH_MAX])
{
    struct stat here, named;
    const char *name = weft_environment("PWD");
    if (name != NULL && name[0] == '/' && stat(".", &here) == 0 && stat(name, &named) == 0 &&
        here.st_dev == named.st_dev && here.st_ino == named.st_ino)
        return name;
    return getcwd(room, PATH_MAX);
}

/* Daemons start agents too, and have another PATH than we: name the agent by its full path. */
static int settle_agent(fleet_t *fleet)
{
    const char *words = fleet->base.plan->route.agent, *search = weft_environment("PATH");
    char name[PATH_MAX], path[PATH_MAX];
    size_t length = words == NULL ? 0 : strcspn(words, " ");
    if (words == NULL)
        return MPI_SUCCESS; /* ssh */
    snprintf(name, sizeof(name), "%.*s", (int)length, words);
    if (strchr(name, '/') == NULL
            ? weft_program_path(search == NULL ? "/usr/bin:/bin" : search, name, path) != 0
            : realpath(name, path) == NULL)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the launch agent %s was not found", name);
    snprintf(fleet->agent_words, sizeof(fleet->agent_words), "%s%s", path, words + length);
    fleet->agent.words = fleet->agent_words;
    return MPI_SUCCESS;
}

/* Tell daemons that their output was taken, unless what they sent still waits to be written. */
static void pay_debts(fleet_t *fleet)
{
    if (!weft_sinks_have_room(fleet->base.sinks, WEFT_STDOUT) ||
        !weft_sinks_have_room(fleet->base.sinks, WEFT_STDERR))
        return;
    for (int i = 0; i < placement_of(fleet)->host_count; i++) {
        host_state_t *host = &fleet->hosts[i];
        if (host->owed < WEFT_OUTPUT_WINDOW / 4)
            continue;
        weft_writer_t body = {0};
        weft_write_u64(&body, host->owed);
        weft_relay_send(&fleet->relay, WEFT_MSG_TAKEN, i + 1, &body);
        weft_writer_release(&body);
        host->owed = 0;
    }
}

static int after_turn(weft_team_t *team)
{
    fleet_t *fleet = fleet_of(team);
    weft_sinks_flush(team->sinks); /* or a debt might stay, and nothing else wake us */
    pay_debts(fleet);
    if (fleet->start_error != MPI_SUCCESS)
        return weft_fail(fleet->start_error, "%s", fleet->start_text);
    return MPI_SUCCESS;
}

static int start(weft_team_t *team)
{
    fleet_t *fleet = fleet_of(team);
    const weft_route_t *route = &team->plan->route;
    char room[PATH_MAX];
    int err = settle_agent(fleet);
    if (err != MPI_SUCCESS)
        return err;
    weft_plan_write(team->plan, working_directory(room), fleet->agent.words, &fleet->job_text);
    if (fleet->job_text.has_failed)
        return weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
    fleet->agent.daemon = fleet->daemon;
    err = weft_relay_start(&fleet->relay, &fleet->agent, placement_of(fleet), route->interface);
    return err == MPI_SUCCESS ? after_turn(team) : err;
}

static bool next_event(weft_team_t *team, weft_rank_event_t *out)
{
    weft_byte_queue_t *events = &fleet_of(team)->events;
    if (weft_queue_bytes(events) == 0)
        return false;
    memcpy(out, weft_queue_front(events), sizeof(*out));
    weft_queue_drop(events, sizeof(*out));
    return true;
}

static void send_signal(weft_team_t *team, int signal_number)
{
    fleet_t *fleet = fleet_of(team);
    bool ends = signal_number != SIGCONT && signal_number != SIGTSTP && signal_number != SIGUSR1 &&
                signal_number != SIGUSR2;
    if (!fleet->is_started) {
        fleet->is_cancelled |= ends;
        return;
    }
    weft_writer_t body = {0};
    weft_write_u32(&body, (uint32_t)signal_number);
    weft_relay_send(&fleet->relay, WEFT_MSG_SIGNAL, WEFT_TO_ALL, &body);
    weft_writer_release(&body);
}

static int running(const weft_team_t *team)
{
    const fleet_t *fleet = fleet_of_const(team);
    int sum = 0;
    for (int i = 0; i < placement_of(fleet)->host_count; i++)
        sum += fleet->hosts[i].running;
    return fleet->is_cancelled ? 0 : sum;
}

/* Daemons send a rank's output before its end. */
static void gather(weft_team_t *team)
{
    (void)team;
}

static void break_output(weft_team_t *team, int channel)
{
    weft_writer_t body = {0};
    weft_write_u32(&body, (uint32_t)channel);
    weft_relay_send(&fleet_of(team)->relay, WEFT_MSG_BREAK, WEFT_TO_ALL, &body);
    weft_writer_release(&body);
}

static bool is_output_closed(const weft_team_t *team)
{
    const fleet_t *fleet = fleet_of_const(team);
    for (int i = 0; i < placement_of(fleet)->host_count; i++) {
        if (!fleet->hosts[i].is_output_closed && !fleet->hosts[i].is_lost)
            return false;
    }
    return true;
}

static void finish(weft_team_t *team)
{
    fleet_t *fleet = fleet_of(team);
    int64_t now = weft_clock_ms(), until_ms = now + FAREWELL_MS,
            latecomers_until_ms = now + LATE_MS;
    fleet->is_finishing = true;
    wl_loop_set_quiet(team->loop, 0, NULL, NULL);
    weft_input_source_close(&fleet->input);
    weft_relay_send(&fleet->relay, WEFT_MSG_FINISH, WEFT_TO_ALL, NULL);
    for (; now < until_ms && !weft_relay_is_alone(&fleet->relay); now = weft_clock_ms()) {
        if (now >= latecomers_until_ms)
            weft_relay_stop_listening(&fleet->relay);
        wl_loop_turn(team->loop, PROMPT_MS);
        weft_sinks_flush(team->sinks);
        pay_debts(fleet);
    }
}

static void close_team(weft_team_t *team)
{
    fleet_t *fleet = fleet_of(team);
    weft_fences_close(&fleet->fences);
    weft_relay_close(&fleet->relay);
    weft_writer_release(&fleet->job_text);
    weft_queue_release(&fleet->events);
    weft_free(fleet->hosts);
    explicit_bzero(fleet->relay.call.secret, WEFT_SECRET_BYTES);
    weft_free(fleet);
}

static const weft_team_ops_t fleet_ops = {
    .start = start,
    .after_turn = after_turn,
    .next_event = next_event,
    .signal = send_signal,
    .running = running,
    .gather = gather,
    .break_output = break_output,
    .is_output_closed = is_output_closed,
    .finish = finish,
    .close = close_team,
};

static int open_hosts(fleet_t *fleet)
{
    const weft_placement_t *placement = placement_of(fleet);
    fleet->hosts = weft_alloc_zeroed((size_t)placement->host_count, sizeof(*fleet->hosts));
    if (fleet->hosts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", placement->host_count);
    for (int i = 0; i < placement->host_count; i++)
        fleet->hosts[i].running = placement->hosts[i].count;
    return MPI_SUCCESS;
}

static int open_relay(fleet_t *fleet)
{
    const weft_route_t *route = &fleet->base.plan->route;
    const weft_host_tree_t tree = {.count = placement_of(fleet)->host_count + 1,
                                   .radix = route->radix};
    int err = weft_relay_open(&tree, 0, NULL, fleet->base.loop, &fleet->relay);
    fleet->relay.lost_after_s = route->lost_after_s;
    fleet->relay.ops = &relay_ops;
    fleet->relay.context = fleet;
    weft_fences_open(placement_of(fleet), &fleet->relay, &fleet->fences);
    return err == MPI_SUCCESS ? weft_random(fleet->relay.call.secret, WEFT_SECRET_BYTES) : err;
}

int weft_fleet_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, wl_loop_t *loop,
                      weft_team_t **out)
{
    fleet_t *fleet = weft_alloc_zeroed(1, sizeof(*fleet));
    if (fleet == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    fleet->base = (weft_team_t){.ops = &fleet_ops, .plan = plan, .sinks = sinks, .loop = loop};
    sigprocmask(SIG_SETMASK, NULL, &fleet->agent.signals);
    int err = open_hosts(fleet);
    if (err == MPI_SUCCESS)
        err = open_relay(fleet);
    if (err == MPI_SUCCESS)
        err = weft_daemon_path(plan->route.prefix, fleet->daemon);
    if (err == MPI_SUCCESS) {
        *out = &fleet->base;
        return MPI_SUCCESS;
    }
    close_team(&fleet->base);
    return err;
}
