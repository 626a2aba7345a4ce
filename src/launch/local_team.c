/* SPDX-License-Identifier: BSD-3-Clause */
/* The team of a job whose ranks are all on mpirun's own host. */
#include "launch/team.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/crew.h"
#include "launch/terminal_input.h"
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

static int start(weft_team_t *team)
{
    int in = STDIN_FILENO;
    weft_crew_t *crew = &local(team)->crew;
    int err = weft_crew_open(crew);
    if (err == MPI_SUCCESS && team->plan->files.input_rank != WEFT_NO_RANK)
        err = weft_input_open(&local(team)->input, &in);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_crew_start(crew, in);
    if (in != STDIN_FILENO)
        close(in);
    if (err != MPI_SUCCESS)
        weft_ranks_signal(&crew->ranks, SIGKILL);
    return err;
}

static int poll_room(const weft_team_t *team)
{
    return 1 + weft_crew_poll_room(&local_const(team)->crew);
}

/* The terminal comes last: its entry may be missing. */
static int prepare_poll(const weft_team_t *team, struct pollfd *out)
{
    int count = weft_crew_prepare_poll(&local_const(team)->crew, out);
    return count + weft_input_prepare_poll(&local_const(team)->input, out + count);
}

static int advance(weft_team_t *team, const struct pollfd *polls, int count)
{
    weft_input_t *input = &local(team)->input;
    if (count > 0 && weft_input_owns(input, &polls[count - 1]))
        weft_input_advance(input, &polls[--count]);
    weft_crew_advance(&local(team)->crew, polls, count);
    return MPI_SUCCESS;
}

static void child_ended(weft_team_t *team, pid_t pid)
{
    weft_crew_take_ends(&local(team)->crew, pid);
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

static void show_prompt(weft_team_t *team)
{
    for (int channel = 0; channel < 2 && local(team)->input.pipe >= 0; channel++) {
        if (weft_sinks_are_terminal(team->sinks, channel))
            weft_output_show_prompt(&local(team)->crew.output, team->plan->files.input_rank, channel);
    }
}

static bool is_output_closed(const weft_team_t *team)
{
    return weft_output_is_closed(&local_const(team)->crew.output);
}

static int patience_ms(const weft_team_t *team)
{
    return local_const(team)->input.pipe >= 0 ? PROMPT_MS : -1;
}

static void finish(weft_team_t *team)
{
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
    .poll_room = poll_room,
    .prepare_poll = prepare_poll,
    .advance = advance,
    .child_ended = child_ended,
    .next_event = next_event,
    .signal = send_signal,
    .running = running,
    .gather = gather,
    .break_output = break_output,
    .show_prompt = show_prompt,
    .is_output_closed = is_output_closed,
    .patience_ms = patience_ms,
    .finish = finish,
    .close = close_team,
};

int weft_local_team_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, weft_team_t **out)
{
    local_team_t *team = weft_alloc_zeroed(1, sizeof(*team));
    if (team == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
    team->base = (weft_team_t){.ops = &local_ops, .plan = plan, .sinks = sinks};
    team->input.pipe = -1;
    weft_output_target_t target = {.context = sinks, .put = put, .has_room = has_room};
    int err = weft_crew_prepare(plan, 0, target, &team->crew);
    if (err == MPI_SUCCESS) {
        *out = &team->base;
        return MPI_SUCCESS;
    }
    close_team(&team->base);
    return err;
}
