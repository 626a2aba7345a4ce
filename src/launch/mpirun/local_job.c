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

typedef struct local_team {
    weft_team_t base;
    weft_crew_t crew;
    weft_input_t input;
} local_team_t;

static local_team_t *local(weft_team_t *team)
{
    return (local_team_t *)team;
}

static const local_team_t *local_const(const weft_team_t *team)
{
    return (const local_team_t *)team;
}

static void put(void *context, int channel, const char *data, size_t bytes)
{
    weft_sinks_put(context, channel, data, bytes);
}

static bool has_room(void *context, int channel)
{
    return weft_sinks_have_room(context, channel);
}

/* Nothing has come for a moment: does a user wait for the rank with the input to say what it wants?
 */
static void local_job_is_quiet(void *owner)
{
    local_team_t *team = owner;
    const weft_job_plan_t *plan = team->base.plan;
    weft_input_look(&team->input);
    for (int channel = 0; channel < 2 && team->input.pipe >= 0; channel++) {
        if (weft_sinks_are_terminal(team->base.sinks, channel))
            weft_output_show_prompt(&team->crew.output, plan->files.input_rank, channel);
    }
}

static int start(weft_team_t *team)
{
    int in = STDIN_FILENO;
    weft_crew_t *crew = &local(team)->crew;
    int err = weft_crew_open(crew);
    if (err == MPI_SUCCESS && team->plan->files.input_rank != WEFT_NO_RANK)
        err = weft_input_open(team->loop, &local(team)->input, &in);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_crew_start(crew, in);
    if (in != STDIN_FILENO)
        close(in);
    if (err != MPI_SUCCESS)
        weft_ranks_signal(&crew->ranks, SIGKILL);
    else if (local(team)->input.pipe >= 0)
        wl_loop_set_quiet(team->loop, PROMPT_MS, local_job_is_quiet, team);
    return err;
}

static int after_turn(weft_team_t *team)
{
    weft_output_throttle(&local(team)->crew.output);
    return MPI_SUCCESS;
}

static bool next_event(weft_team_t *team, weft_rank_event_t *out)
{
    return weft_crew_next_event(&local(team)->crew, out);
}

static void send_signal(weft_team_t *team, int signal_number)
{
    weft_ranks_signal(&local(team)->crew.ranks, signal_number);
}

static int running(const weft_team_t *team)
{
    return local_const(team)->crew.ranks.running;
}

static void gather(weft_team_t *team)
{
    weft_output_gather(&local(team)->crew.output, -1);
}

static void break_output(weft_team_t *team, int channel)
{
    weft_output_break(&local(team)->crew.output, channel);
}

static bool is_output_closed(const weft_team_t *team)
{
    return weft_output_is_closed(&local_const(team)->crew.output);
}

static void finish(weft_team_t *team)
{
    wl_loop_set_quiet(team->loop, 0, NULL, NULL);
    weft_input_close(&local(team)->input);
    weft_crew_finish(&local(team)->crew);
}

static void close_team(weft_team_t *team)
{
    weft_input_close(&local(team)->input);
    weft_crew_close(&local(team)->crew);
    weft_free(team);
}

static const weft_team_ops_t local_ops = {
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

int weft_local_team_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, wl_loop_t *loop,
                           weft_team_t **out)
{
    local_team_t *team = weft_alloc_zeroed(1, sizeof(*team));
    if (team == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    team->base = (weft_team_t){.ops = &local_ops, .plan = plan, .sinks = sinks, .loop = loop};
    team->input.pipe = -1;
    weft_output_target_t target = {.context = sinks, .put = put, .has_room = has_room};
    int err = weft_crew_prepare(plan, 0, target, loop, &team->crew);
    if (err == MPI_SUCCESS) {
        *out = &team->base;
        return MPI_SUCCESS;
    }
    close_team(&team->base);
    return err;
}
