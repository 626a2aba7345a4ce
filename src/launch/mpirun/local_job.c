/* SPDX-License-Identifier: BSD-3-Clause */
/* A job whose ranks are all on mpirun's own host. */
#include "launch/mpirun/job.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/mpirun/terminal_input.h"
#include "launch/node/node_ranks.h"
#include "mpi.h"

#include <unistd.h>

typedef struct local_job {
    wl_job_t base;
    wl_node_ranks_t node;
    wl_terminal_input_t input;
} local_job_t;

static local_job_t *local_of(wl_job_t *job)
{
    return (local_job_t *)job;
}

static const local_job_t *local_of_const(const wl_job_t *job)
{
    return (const local_job_t *)job;
}

static void local_put(void *context, int channel, const char *data, size_t bytes)
{
    wl_sinks_put(context, channel, data, bytes);
}

static bool local_has_room(void *context, int channel)
{
    return wl_sinks_have_room(context, channel);
}

/* Nothing has come for a moment: the rank with the input may have written a prompt, and waits. */
static void local_job_is_quiet(void *owner)
{
    local_job_t *job = owner;
    const wl_job_plan_t *plan = job->base.plan;
    wl_terminal_input_look(&job->input);
    for (int channel = 0; channel < 2 && job->input.pipe >= 0; channel++) {
        if (wl_sinks_are_terminal(job->base.sinks, channel))
            wl_output_show_prompt(&job->node.output, plan->files.input_rank, channel);
    }
}

static int local_start(wl_job_t *job)
{
    int in = STDIN_FILENO;
    wl_node_ranks_t *node = &local_of(job)->node;
    int err = wl_node_ranks_open(node);
    if (err == MPI_SUCCESS && job->plan->files.input_rank != WL_NO_RANK)
        err = wl_terminal_input_open(job->loop, &local_of(job)->input, &in);
    if (err != MPI_SUCCESS)
        return err;
    if (node->mps.missing[0] != '\0')
        wl_job_note_missing_mps(job, 0, node->mps.missing, 0);
    err = wl_node_ranks_start(node, in);
    if (in != STDIN_FILENO)
        close(in);
    if (err != MPI_SUCCESS)
        wl_ranks_signal(&node->ranks, SIGKILL);
    else if (local_of(job)->input.pipe >= 0)
        wl_loop_set_quiet(job->loop, WL_PROMPT_MS, local_job_is_quiet, job);
    return err;
}

static int local_before_turn(wl_job_t *job)
{
    wl_output_throttle(&local_of(job)->node.output);
    return MPI_SUCCESS;
}

static bool local_next_event(wl_job_t *job, wl_rank_event_t *out)
{
    return wl_node_ranks_next_event(&local_of(job)->node, out);
}

static void local_signal(wl_job_t *job, int signal_number)
{
    wl_ranks_signal(&local_of(job)->node.ranks, signal_number);
}

static void local_forget(wl_job_t *job, int rank)
{
    wl_node_ranks_lose(&local_of(job)->node, rank);
}

static int local_restart(wl_job_t *job, int rank)
{
    return wl_node_ranks_restart(&local_of(job)->node, rank);
}

static void local_end_host(wl_job_t *job, int host)
{
    (void)host; /* there is no other */
    local_signal(job, SIGKILL);
}

static int local_running(const wl_job_t *job)
{
    return local_of_const(job)->node.ranks.running;
}

static void local_gather(wl_job_t *job)
{
    wl_output_gather(&local_of(job)->node.output, -1);
}

static void local_break_output(wl_job_t *job, int channel)
{
    wl_output_break(&local_of(job)->node.output, channel);
}

static bool local_is_output_closed(const wl_job_t *job)
{
    return wl_output_is_closed(&local_of_const(job)->node.output);
}

static void local_finish(wl_job_t *job)
{
    wl_loop_set_quiet(job->loop, 0, NULL, NULL);
    wl_terminal_input_close(&local_of(job)->input);
    wl_node_ranks_finish(&local_of(job)->node);
}

static void local_close(wl_job_t *job)
{
    wl_terminal_input_close(&local_of(job)->input);
    wl_node_ranks_close(&local_of(job)->node);
    weft_free(job);
}

static const wl_job_ops_t local_ops = {
    .start = local_start,
    .before_turn = local_before_turn,
    .next_event = local_next_event,
    .signal = local_signal,
    .forget = local_forget,
    .restart = local_restart,
    .end_host = local_end_host,
    .running = local_running,
    .gather = local_gather,
    .break_output = local_break_output,
    .is_output_closed = local_is_output_closed,
    .finish = local_finish,
    .close = local_close,
};

int wl_local_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                        wl_job_t **out)
{
    local_job_t *job = weft_alloc_zeroed(1, sizeof(*job));
    if (job == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    job->base = (wl_job_t){.ops = &local_ops, .plan = plan, .sinks = sinks, .loop = loop};
    job->input.pipe = -1;
    wl_output_target_t target = {.context = sinks, .put = local_put, .has_room = local_has_room};
    int err = wl_node_ranks_prepare(plan, 0, target, loop, &job->node);
    if (err == MPI_SUCCESS) {
        *out = &job->base;
        return MPI_SUCCESS;
    }
    local_close(&job->base);
    return err;
}
