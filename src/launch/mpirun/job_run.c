/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sigabbrev_np */
#include "launch/mpirun/job_run.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/mpirun/first_failure.h"
#include "launch/loop/event_loop.h"
#include "launch/mpirun/other_mpi.h"
#include "launch/mpirun/output_sinks.h"
#include "launch/mpirun/job.h"
#include "mpi.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    GRACE_AFTER_SIGNAL_MS = 5000, /* for ranks that want to save their work */
    GRACE_AFTER_FAILURE_MS = 300,
    PATIENCE_AFTER_KILL_MS =
        10000,             /* with hosts that do not answer, and processes that cannot die */
    LINGER_QUIET_MS = 300, /* without output, of what ranks have left running */
    LINGER_MOST_MS = 2000,
    TIMEOUT_EXIT_CODE = 124, /* as timeout(1) */
};

static const int64_t never = INT64_MAX;

typedef enum phase {
    RUNNING,
    ENDING,    /* ranks have been told to end */
    KILLED,    /* they have got SIGKILL */
    LINGERING, /* all ranks have ended well; something still holds their output open */
    OVER,
} phase_t;

typedef struct job {
    const weft_job_plan_t *plan;
    weft_team_t *team;
    weft_sinks_t sinks;
    weft_blame_t blame;
    wl_loop_t loop;
    phase_t phase;
    int exit_code;
    bool has_connected; /* some rank has called MPI_Init of a library that speaks PMIx */
    bool is_cut_short;  /* by a signal or the time limit */
    bool may_leave;     /* a signal came after the end: output that nobody reads is given up */
    bool is_broken[2];  /* the ranks know that nobody reads */
    int64_t timeout_at, kill_at, leave_at, linger_at, linger_end_at; /* ms */
} job_t;

static __attribute__((format(printf, 2, 3))) void say(job_t *job, const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "%s: ", job->plan->launcher);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    va_end(arguments);
    used += more;
    if (used > (int)sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    line[used++] = '\n';
    job->team->ops->gather(job->team);
    weft_sinks_put(&job->sinks, WEFT_STDERR, line, (size_t)used);
    weft_sinks_flush(&job->sinks);
}

static int count_running(const job_t *job)
{
    return job->team->ops->running(job->team);
}

static void signal_ranks(job_t *job, int signal_number)
{
    job->team->ops->signal(job->team, signal_number);
}

static void end_ranks(job_t *job, int signal_number, int grace_ms)
{
    job->phase = ENDING;
    job->kill_at = weft_clock_ms() + grace_ms;
    signal_ranks(job, signal_number);
    signal_ranks(job, SIGCONT); /* a stopped process acts on no other signal */
}

static void kill_ranks(job_t *job)
{
    job->phase = KILLED;
    job->leave_at = weft_clock_ms() + PATIENCE_AFTER_KILL_MS;
    signal_ranks(job, SIGKILL);
}

/* ---- Who is to blame ---- */

static void take_events(job_t *job)
{
    weft_rank_event_t event;
    while (job->team->ops->next_event(job->team, &event)) {
        job->has_connected |= event.kind == WEFT_RANK_CONNECTED;
        weft_blame_take(&job->blame, &event, weft_clock_ms());
    }
}

/* mpirun | head: that the ranks get SIGPIPE then is in order and needs no words. */
static bool is_expected(const job_t *job)
{
    return job->blame.reason == WEFT_SIGNALLED && job->blame.event.signal == SIGPIPE &&
           (job->is_broken[0] || job->is_broken[1]);
}

static bool is_doubtful(const job_t *job)
{
    return job->phase == RUNNING && weft_blame_is_doubtful(&job->blame, count_running(job));
}

static void pass_sentence(job_t *job)
{
    if (job->blame.reason == WEFT_NO_REASON || job->phase != RUNNING ||
        (is_doubtful(job) && weft_clock_ms() < job->blame.sentence_at_ms))
        return;
    job->exit_code = weft_blame_exit_code(&job->blame);
    if (!is_expected(job)) {
        char text[960];
        weft_blame_describe(&job->blame, text, sizeof(text));
        say(job, "%s", text);
    }
    end_ranks(job, SIGTERM, GRACE_AFTER_FAILURE_MS);
}

/* ---- Signals ---- */

static void end_by_signal(job_t *job, int signal_number)
{
    if (job->phase == LINGERING)
        job->linger_at = 0;
    else if (job->phase == RUNNING) {
        say(job, "SIG%s received; ending the job", sigabbrev_np(signal_number));
        job->is_cut_short = true;
        job->exit_code = 128 + signal_number;
        end_ranks(job, signal_number, GRACE_AFTER_SIGNAL_MS);
    } else if (job->phase == ENDING) {
        kill_ranks(job);
    } else if (job->phase == OVER) {
        job->may_leave = true;
    }
}

static void job_signalled(void *owner, int signal_number)
{
    job_t *job = owner;
    switch (signal_number) {
    case SIGTSTP:
        signal_ranks(job, SIGTSTP);
        raise(SIGSTOP);
        break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
        signal_ranks(job, signal_number);
        break;
    default:
        end_by_signal(job, signal_number);
    }
}

static int open_signals(job_t *job)
{
    static const int more[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, 0};
    signal(SIGPIPE, SIG_IGN);
    return wl_loop_open_signals(&job->loop, more, job_signalled, job);
}

/* ---- The loop ---- */

static void check_clock(job_t *job)
{
    int64_t now = weft_clock_ms();
    if (job->phase == RUNNING && now >= job->timeout_at) {
        say(job, "the job has not ended within %ld s; ending it", job->plan->timeout_s);
        job->exit_code = TIMEOUT_EXIT_CODE;
        job->is_cut_short = true;
        end_ranks(job, SIGTERM, GRACE_AFTER_FAILURE_MS);
    }
    if (job->phase == ENDING && now >= job->kill_at)
        kill_ranks(job);
    if (job->phase == KILLED && now >= job->leave_at) {
        say(job, "%d ranks have been told to end and nothing is heard of them; leaving them",
            count_running(job));
        job->phase = OVER;
    }
    if (job->phase == LINGERING && (now >= job->linger_at || now >= job->linger_end_at))
        job->phase = OVER;
}

/* Ranks may have left processes that finish their output, such as bash's `> >(tee log)`. */
static void check_ranks(job_t *job)
{
    if (count_running(job) > 0)
        return;
    if (job->phase == RUNNING) {
        job->phase = LINGERING;
        job->linger_at = weft_clock_ms() + LINGER_QUIET_MS;
        job->linger_end_at = weft_clock_ms() + LINGER_MOST_MS;
    }
    if (job->phase != LINGERING || job->team->ops->is_output_closed(job->team))
        job->phase = OVER;
}

static void check_readers(job_t *job)
{
    for (int channel = 0; channel < 2; channel++) {
        if (job->is_broken[channel] || !weft_sinks_are_broken(&job->sinks, channel))
            continue;
        job->is_broken[channel] = true;
        job->team->ops->break_output(job->team, channel);
    }
}

static int64_t next_deadline(const job_t *job)
{
    if (job->phase == LINGERING)
        return job->linger_at < job->linger_end_at ? job->linger_at : job->linger_end_at;
    if (is_doubtful(job) && job->blame.sentence_at_ms < job->timeout_at)
        return job->blame.sentence_at_ms;
    if (job->phase == KILLED)
        return job->leave_at;
    return job->phase == RUNNING ? job->timeout_at : job->kill_at;
}

static int64_t wait_ms(const job_t *job)
{
    int64_t at = next_deadline(job), left = at - weft_clock_ms();
    return at == never ? -1 : left < 0 ? 0 : left;
}

static int take_turn(job_t *job)
{
    int ready = wl_loop_turn(&job->loop, wait_ms(job));
    if (ready > 0 && job->phase == LINGERING)
        job->linger_at = weft_clock_ms() + LINGER_QUIET_MS;
    int err = job->team->ops->after_turn(job->team);
    weft_sinks_flush(&job->sinks);
    if (err != MPI_SUCCESS)
        return err;
    take_events(job);
    check_readers(job);
    pass_sentence(job);
    check_clock(job);
    check_ranks(job);
    return MPI_SUCCESS;
}

/* Write out what is queued. A reader that does not read keeps us, but a signal sets us free. */
static void flush_output(job_t *job)
{
    weft_sinks_flush(&job->sinks);
    while (!weft_sinks_are_flushed(&job->sinks) && !job->may_leave)
        wl_loop_turn(&job->loop, -1);
}

/* Ranks with an MPI library that does not find us each run alone, as a job of one rank. */
static void note_other_mpi(job_t *job)
{
    const weft_job_plan_t *plan = job->plan;
    char library[PATH_MAX];
    if (plan->size == 1 || plan->is_quiet || job->has_connected || job->is_cut_short)
        return;
    for (int i = 0; i < plan->app_count; i++) {
        if (!wl_other_mpi_find(&plan->apps[i], library))
            continue;
        say(job,
            "note: no rank has joined this job: %s uses %s, which is not Weft's, so each of "
            "its ranks ran alone",
            plan->apps[i].arguments[0], library);
        return;
    }
}

static int run(job_t *job)
{
    int err = job->team->ops->start(job->team);
    if (job->plan->timeout_s > 0)
        job->timeout_at = weft_clock_ms() + job->plan->timeout_s * 1000;
    while (err == MPI_SUCCESS && job->phase != OVER)
        err = take_turn(job);
    job->phase = OVER;
    job->team->ops->finish(job->team);
    if (err == MPI_SUCCESS)
        note_other_mpi(job);
    flush_output(job);
    return err;
}

static int open_job(job_t *job)
{
    const weft_job_plan_t *plan = job->plan;
    int err = weft_sinks_open(&job->loop, &job->sinks);
    if (err == MPI_SUCCESS)
        err = weft_blame_open(plan, &job->blame);
    if (err != MPI_SUCCESS)
        return err;
    return weft_job_plan_is_local(plan)
               ? weft_local_team_create(plan, &job->sinks, &job->loop, &job->team)
               : weft_fleet_create(plan, &job->sinks, &job->loop, &job->team);
}

int weft_job_run(const weft_job_plan_t *plan, int *exit_code_out)
{
    job_t job = {.plan = plan, .timeout_at = never, .kill_at = never};
    wl_loop_open(&job.loop);
    int err = open_job(&job);
    if (err == MPI_SUCCESS)
        err = open_signals(&job);
    if (err == MPI_SUCCESS)
        err = run(&job);
    if (job.team != NULL)
        job.team->ops->close(job.team);
    weft_blame_release(&job.blame);
    weft_sinks_release(&job.sinks);
    wl_loop_close(&job.loop);
    if (err == MPI_SUCCESS)
        *exit_code_out = job.exit_code;
    return err;
}
