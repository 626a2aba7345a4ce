/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun does with the messages of its daemons. */
#include "launch/mpirun/remote_job_private.h"

#include "base/fail.h"
#include "launch/node/rank_output.h"
#include "launch/tree/rank_message.h"
#include "mpi.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static __attribute__((format(printf, 4, 5))) void
service_refuse_start(wli_remote_job_t *remote, int err, int node, const char *format, ...)
{
    va_list arguments;
    if (remote->start_error != MPI_SUCCESS)
        return;
    remote->start_error = err;
    int used = snprintf(remote->start_text, sizeof(remote->start_text),
                        "on %s: ", wli_remote_placement(remote)->hosts[node - 1].name);
    va_start(arguments, format);
    vsnprintf(remote->start_text + used, sizeof(remote->start_text) - (size_t)used, format,
              arguments);
    va_end(arguments);
}

static void remote_take_failure(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    int err = (int)wl_read_u32(&reader);
    const char *text = wl_read_text(&reader);
    service_refuse_start(remote, err == MPI_SUCCESS ? MPI_ERR_SPAWN : err, message->from, "%s",
                         text == NULL ? "the ranks cannot be started" : text);
}

static void remote_job_is_quiet(void *owner)
{
    wli_remote_job_t *remote = owner;
    wl_input_source_look(&remote->input);
}

static void open_input(wli_remote_job_t *remote, int node)
{
    int err = wl_input_source_open(&remote->router, node, &remote->input);
    if (err != MPI_SUCCESS)
        service_refuse_start(remote, err, node, "%s", weft_fail_text());
    else if (isatty(STDIN_FILENO) == 1)
        wl_loop_set_quiet(remote->base.loop, WL_PROMPT_MS, remote_job_is_quiet, remote);
}

static void service_start_ranks(wli_remote_job_t *remote)
{
    wl_writer_t body = {0};
    if (remote->without_mps > 0)
        wl_job_note_missing_mps(&remote->base, remote->first_without_mps, remote->mps_missing,
                                remote->without_mps - 1);
    for (int channel = 0; channel < 2; channel++)
        wl_write_u32(&body, wl_sinks_are_terminal(remote->base.sinks, channel));
    wl_write_u32(&body, remote->is_oversubscribed);
    wl_router_send(&remote->router, WL_MSG_START, WL_TO_ALL, &body);
    wl_writer_release(&body);
    int input_rank = remote->base.plan->files.input_rank;
    if (input_rank != WL_NO_RANK)
        open_input(remote, wli_remote_placement(remote)->host_of[input_rank] + 1);
    remote->is_started = true;
}

/* A job that is started again tells them again. */
static void take_host_facts(const wli_remote_job_t *remote, int host, wl_reader_t *reader)
{
    wl_variables_t *facts = remote->base.plan->host_facts;
    while (facts != NULL && reader->left > 0 && !reader->has_failed) {
        char name[64];
        const char *entry = wl_read_text(reader);
        const char *equals = entry == NULL ? NULL : strchr(entry, '=');
        if (equals == NULL || (size_t)(equals - entry) >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - entry), entry);
        wl_variables_set(&facts[host], name, equals + 1);
    }
}

/* reason: why the host has no MPS though it should; empty or NULL: no reason */
static void take_missing_mps(wli_remote_job_t *remote, int host, const char *reason)
{
    if (reason == NULL || reason[0] == '\0')
        return;
    if (remote->without_mps++ > 0)
        return;
    remote->first_without_mps = host;
    snprintf(remote->mps_missing, sizeof(remote->mps_missing), "%s", reason);
}

static void remote_take_ready(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    remote->is_oversubscribed |= wl_read_u32(&reader) != 0;
    take_missing_mps(remote, message->from - 1, wl_read_text(&reader));
    take_host_facts(remote, message->from - 1, &reader);
    remote->ready++;
    if (remote->ready == wli_remote_placement(remote)->host_count && !remote->is_cancelled)
        service_start_ranks(remote);
}

static void service_add_event(wli_remote_job_t *remote, const wl_rank_event_t *event)
{
    wl_queue_append(&remote->events, event, sizeof(*event));
}

static void remote_take_event(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_rank_event_t event;
    if (!wl_rank_event_read(message, remote->base.plan->size, &event))
        return;
    wli_host_state_t *host = &remote->hosts[wli_remote_placement(remote)->host_of[event.rank]];
    if (event.kind == WL_RANK_ENDED && host->running > 0)
        host->running--;
    service_add_event(remote, &event);
}

static void remote_take_output(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    int channel = wl_read_u32(&reader) != 0;
    wl_sinks_put(remote->base.sinks, channel, reader.at, reader.left);
    remote->hosts[message->from - 1].owed += reader.left;
}

/* A daemon is lost, and with it those below it, which end their ranks when they find their parent
 * gone. */
static void remote_lose(void *context, int node, const char *why)
{
    wli_remote_job_t *remote = context;
    const wl_placement_t *placement = wli_remote_placement(remote);
    if (!remote->is_started) {
        service_refuse_start(remote, MPI_ERR_SPAWN, node,
                             "the daemon was not started or was lost: %s", why);
        return;
    }
    for (int i = 0; i < placement->host_count; i++) {
        wli_host_state_t *host = &remote->hosts[i];
        if (host->is_lost || !wl_host_tree_is_below(&remote->router.tree, node, i + 1))
            continue;
        wl_rank_event_t event = {.kind = WL_HOST_LOST, .rank = placement->hosts[i].ranks[0]};
        snprintf(event.text, sizeof(event.text), "%s", why);
        /* If all its ranks had ended, the job does not suffer. */
        if (host->running > 0)
            service_add_event(remote, &event);
        host->is_lost = true;
        host->running = 0;
    }
}

static void remote_take_loss(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_reader_t reader = wl_read_begin(message);
    uint32_t node = wl_read_u32(&reader);
    const char *why = wl_read_text(&reader);
    if (!reader.has_failed && why != NULL && node > 0 && node < (uint32_t)remote->router.tree.count)
        remote_lose(remote, (int)node, why);
}

static void remote_take_closed(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    remote->hosts[message->from - 1].is_output_closed = true;
}

static void remote_take_credit(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_input_source_take(&remote->input, message);
}

static void remote_take_fence(void *owner, const wl_message_t *message)
{
    wli_remote_job_t *remote = owner;
    wl_fences_take(&remote->fences, message);
}

static const wl_message_rule_t rules[] = {
    {WL_MSG_READY, "READY", 8, remote_take_ready},
    {WL_MSG_FAILED, "FAILED", 8, remote_take_failure},
    {WL_MSG_RANK, "RANK", 28, remote_take_event},
    {WL_MSG_OUTPUT, "OUTPUT", 4, remote_take_output},
    {WL_MSG_CLOSED, "CLOSED", 0, remote_take_closed},
    {WL_MSG_READ, "READ", 8, remote_take_credit},
    {WL_MSG_LOST, "LOST", 8, remote_take_loss},
    {WL_MSG_FENCE, "FENCE", 8, remote_take_fence},
};

static void remote_job_deliver(void *context, const wl_message_t *message)
{
    if (message->from > 0) /* mpirun does not send messages to itself */
        wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void remote_tell_job(void *context, int node)
{
    wli_remote_job_t *remote = context;
    wl_router_send(&remote->router, remote->is_finishing ? WL_MSG_FINISH : WL_MSG_JOB, node,
                   &remote->job_text);
}

const wl_router_ops_t wli_remote_router_ops = {
    .deliver = remote_job_deliver, .joined = remote_tell_job, .lost = remote_lose};
