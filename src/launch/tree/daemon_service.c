/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/daemon_private.h"

#include "base/fail.h"
#include "launch/node/host_facts.h"
#include "launch/tree/rank_message.h"
#include "mpi.h"

#include <unistd.h>

void wli_daemon_send_failure(wli_daemon_t *daemon, int err)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)err);
    wl_write_text(&body, weft_fail_text());
    wl_router_send(&daemon->router, WL_MSG_FAILED, 0, &body);
    wl_writer_release(&body);
}

static bool has_input_rank(const wli_daemon_t *daemon)
{
    const wl_job_plan_t *plan = daemon->node.plan;
    int rank = plan->files.input_rank;
    return rank != WL_NO_RANK && plan->placement.host_of[rank] == daemon->node.host;
}

static int daemon_start_ranks(wli_daemon_t *daemon)
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
    wli_daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    for (int channel = 0; channel < 2; channel++)
        daemon->shows_prompts[channel] = wl_read_u32(&reader) != 0;
    daemon->node.is_oversubscribed = wl_read_u32(&reader) != 0;
    int err = daemon_start_ranks(daemon);
    if (err != MPI_SUCCESS)
        wli_daemon_send_failure(daemon, err);
}

static void daemon_take_signal(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    wl_ranks_signal(&daemon->node.ranks, (int)wl_read_u32(&reader));
}

static void daemon_take_input(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_input_drain_take(&daemon->input, message);
}

static void daemon_take_credit(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_remote_output_take(&daemon->output, message);
}

static void daemon_take_break(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    wl_output_break(&daemon->node.output, wl_read_u32(&reader) != 0);
}

static void daemon_take_fence(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_fences_take(&daemon->fences, message);
}

static void daemon_take_data(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_remote_data_take(&daemon->remote_data, message);
}

static void daemon_take_gone(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    wl_reader_t reader = wl_read_begin(message);
    uint32_t rank = wl_read_u32(&reader);
    if (rank >= (uint32_t)daemon->node.plan->size)
        return;
    wl_fences_lose(&daemon->fences, (int)rank);
    wl_remote_data_lose(&daemon->remote_data, (int)rank);
    wl_node_ranks_lose(&daemon->node, (int)rank);
}

static void daemon_take_again(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    const wl_placement_t *placement = &daemon->node.plan->placement;
    wl_reader_t reader = wl_read_begin(message);
    uint32_t rank = wl_read_u32(&reader);
    if (daemon->node.restarts == NULL || rank >= (uint32_t)placement->size ||
        placement->host_of[rank] != daemon->node.host)
        return;
    daemon->has_told_end_of_output = false;
    int err = wl_node_ranks_restart(&daemon->node, (int)rank);
    if (err != MPI_SUCCESS)
        wli_daemon_send_failure(daemon, err);
}

static void daemon_take_finish(void *owner, const wl_message_t *message)
{
    wli_daemon_t *daemon = owner;
    (void)message;
    daemon->is_finishing = true;
}

static const wl_message_rule_t rules[] = {
    {WL_MSG_START, "START", 12, daemon_take_start},
    {WL_MSG_SIGNAL, "SIGNAL", 4, daemon_take_signal},
    {WL_MSG_INPUT, "INPUT", 0, daemon_take_input},
    {WL_MSG_TAKEN, "TAKEN", 8, daemon_take_credit},
    {WL_MSG_BREAK, "BREAK", 4, daemon_take_break},
    {WL_MSG_FENCE, "FENCE", 8, daemon_take_fence},
    {WL_MSG_FENCE_DONE, "FENCE_DONE", 8, daemon_take_fence},
    {WL_MSG_GET, "FETCH", 24, daemon_take_data},
    {WL_MSG_GOT, "FETCHED", 12, daemon_take_data},
    {WL_MSG_GONE, "GONE", 4, daemon_take_gone},
    {WL_MSG_AGAIN, "AGAIN", 4, daemon_take_again},
    {WL_MSG_FINISH, "FINISH", 0, daemon_take_finish},
};

static void daemon_deliver(void *context, const wl_message_t *message)
{
    wl_message_take(rules, sizeof(rules) / sizeof(rules[0]), context, message);
}

static void daemon_tell_job(void *context, int node)
{
    wli_daemon_t *daemon = context;
    wl_router_send(&daemon->router, WL_MSG_JOB, node, &daemon->job_text);
}

static void daemon_tell_loss(void *context, int node, const char *why)
{
    wli_daemon_t *daemon = context;
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)node);
    wl_write_text(&body, why);
    wl_router_send(&daemon->router, WL_MSG_LOST, 0, &body);
    wl_writer_release(&body);
}

const wl_router_ops_t wli_daemon_router_ops = {
    .deliver = daemon_deliver, .joined = daemon_tell_job, .lost = daemon_tell_loss};

void wli_daemon_tell_events(wli_daemon_t *daemon)
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

void wli_daemon_take_request(void *owner, wl_pmix_request_t *request)
{
    wli_daemon_t *daemon = owner;
    if (request->kind == WL_REQUEST_FENCE)
        wl_fences_enter(&daemon->fences, request);
    else
        wl_remote_data_enter(&daemon->remote_data, request);
}

void wli_daemon_tell_end_of_output(wli_daemon_t *daemon)
{
    if (!daemon->is_started || daemon->has_told_end_of_output ||
        !wl_output_is_closed(&daemon->node.output))
        return;
    daemon->has_told_end_of_output = true;
    wl_router_send(&daemon->router, WL_MSG_CLOSED, 0, NULL);
}

void wli_daemon_tell_ready(wli_daemon_t *daemon)
{
    wl_writer_t body = {0};
    wl_variables_t facts = {0};
    wl_write_u32(&body, daemon->node.ours->count > daemon->job.plan.cores);
    wl_write_text(&body, daemon->node.mps.missing);
    if (daemon->job.plan.wants_host_facts && wl_host_facts_collect(&facts) == MPI_SUCCESS) {
        for (int i = 0; i < facts.count; i++)
            wl_write_text(&body, facts.entries[i]);
    }
    wl_variables_release(&facts);
    wl_router_send(&daemon->router, WL_MSG_READY, 0, &body);
    wl_writer_release(&body);
}
