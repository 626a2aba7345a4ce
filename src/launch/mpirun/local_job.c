/* SPDX-License-Identifier: BSD-3-Clause */
/* The team of a job whose ranks are all on mpirun's own host. */
#include "launch/mpirun/job.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/node_ranks.h"
#include "launch/mpirun/terminal_input.h"
#include "mpi.h"

#include <unistd.h>

enum { PROMPT_MS = 100 };

typedef struct local_job {
    wl_job_t base;
    wl_node_ranks_t node;
    wl_terminal_input_t input;
} local_job_t;

static local_job_t *local(wl_job_t *job)
{
    return (local_job_t *)job;
}

static const local_job_t *local_const(const wl_job_t *job)
{
    return (const local_job_t *)job;
}

static void put(void *context, int channel, const char *data, size_t bytes)
{
    wl_sinks_put(context, channel, data, bytes);
}

static bool has_room(void *context, int channel)
{
    return wl_sinks_have_room(context, channel);
}

/* Nothing has come for a moment: does a user wait for the rank with the input to say what it wants?
 */
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

static int start(wl_job_t *job)
{
    int in = STDIN_FILENO;
    wl_node_ranks_t *node = &local(job)->node;
    int err = wl_node_ranks_open(node);
    if (err == MPI_SUCCESS && job->plan->files.input_rank != WL_NO_RANK)
        err = wl_terminal_input_open(job->loop, &local(job)->input, &in);
    if (err != MPI_SUCCESS)
        return err;
    err = wl_node_ranks_start(node, in);
    if (in != STDIN_FILENO)
        close(in);
    if (err != MPI_SUCCESS)
        wl_ranks_signal(&node->ranks, SIGKILL);
    else if (local(job)->input.pipe >= 0)
        wl_loop_set_quiet(job->loop, PROMPT_MS, local_job_is_quiet, job);
    return err;
}

static int after_turn(wl_job_t *job)
{
    wl_output_throttle(&local(job)->node.output);
    return MPI_SUCCESS;
}

static bool next_event(wl_job_t *job, wl_rank_event_t *out)
{
    return wl_node_ranks_next_event(&local(job)->node, out);
}

static void send_signal(wl_job_t *job, int signal_number)
{
    wl_ranks_signal(&local(job)->node.ranks, signal_number);
}

static int running(const wl_job_t *job)
{
    return local_const(job)->node.ranks.running;
}

static void gather(wl_job_t *job)
{
    wl_output_gather(&local(job)->node.output, -1);
}

static void break_output(wl_job_t *job, int channel)
{
    wl_output_break(&local(job)->node.output, channel);
}

static bool is_output_closed(const wl_job_t *job)
{
    return wl_output_is_closed(&local_const(job)->node.output);
}

static void finish(wl_job_t *job)
{
    wl_loop_set_quiet(job->loop, 0, NULL, NULL);
    wl_terminal_input_close(&local(job)->input);
    wl_node_ranks_finish(&local(job)->node);
}

static void close_team(wl_job_t *job)
{
    wl_terminal_input_close(&local(job)->input);
    wl_node_ranks_close(&local(job)->node);
    weft_free(job);
}

static const wl_job_ops_t local_ops = {
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

int wl_local_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                        wl_job_t **out)
{
    local_job_t *job = weft_alloc_zeroed(1, sizeof(*job));
    if (job == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    job->base = (wl_job_t){.ops = &local_ops, .plan = plan, .sinks = sinks, .loop = loop};
    job->input.pipe = -1;
    wl_output_target_t target = {.context = sinks, .put = put, .has_room = has_room};
    int err = wl_node_ranks_prepare(plan, 0, target, loop, &job->node);
    if (err == MPI_SUCCESS) {
        *out = &job->base;
        return MPI_SUCCESS;
    }
    close_team(&job->base);
    return err;
}
