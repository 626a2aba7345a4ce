/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sigabbrev_np */
#include "launch/mpirun/job_run.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/loop/event_loop.h"
#include "launch/mpirun/first_failure.h"
#include "launch/mpirun/job.h"
#include "launch/mpirun/left_ranks.h"
#include "launch/mpirun/other_mpi.h"
#include "launch/mpirun/output_sinks.h"
#include "launch/mpirun/rank_ends.h"
#include "launch/node/rank_process.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    GRACE_AFTER_SIGNAL_MS = 5000, /* for ranks that want to save their work */
    GRACE_AFTER_FAILURE_MS = 300,
    LINGER_QUIET_MS = 300, /* without output from processes that ranks have left running */
    LINGER_MOST_MS = 2000,
    OUTPUT_LOST = 1, /* exit code of a job that was good but for its output */
};

static const int64_t never = INT64_MAX;

typedef enum phase {
    RUNNING,
    ENDING,    /* ranks have been told to end */
    KILLED,    /* they have been sent SIGKILL */
    LINGERING, /* all ranks have ended well; something still holds their output open */
    OVER,
} phase_t;

typedef struct runner {
    const wl_job_plan_t *plan;
    wl_job_t *job;
    wl_sinks_t sinks;
    wl_first_failure_t failure;
    wl_left_ranks_t left;
    wl_rank_ends_t ends;
    wl_loop_t loop;
    phase_t phase;
    int exit_code, restarts, bereft; /* bereft: started again with others that were lost */
    bool has_connected; /* some rank has called the MPI_Init of a library that uses PMIx */
    bool has_rank_failed;
    bool is_cut_short; /* by a signal or the time limit */
    bool may_leave;    /* a signal came after the end: output without a reader is given up */
    bool is_broken[2]; /* nothing can be written to the channel, and that has been taken care of */
    bool has_lost_output;
    bool has_lost_reader; /* the ranks have been told that the reader of a channel is gone */
    int64_t timeout_at, kill_at, leave_at, linger_at, linger_end_at; /* ms */
} runner_t;

static __attribute__((format(printf, 2, 3))) void job_say(runner_t *runner, const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "%s: ", runner->plan->launcher);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    va_end(arguments);
    used += more;
    if (used > (int)sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    line[used++] = '\n';
    runner->job->ops->gather(runner->job);
    wl_sinks_put(&runner->sinks, WL_STDERR, line, (size_t)used);
    wl_sinks_flush(&runner->sinks);
}

static int count_running(const runner_t *runner)
{
    return runner->job->ops->running(runner->job);
}

static void signal_ranks(runner_t *runner, int signal_number)
{
    runner->job->ops->signal(runner->job, signal_number);
}

static void end_ranks(runner_t *runner, int signal_number, int grace_ms)
{
    runner->phase = ENDING;
    runner->kill_at = weft_clock_ms() + grace_ms;
    signal_ranks(runner, signal_number);
    signal_ranks(runner, SIGCONT); /* a stopped process acts on no other signal */
}

static void kill_ranks(runner_t *runner)
{
    runner->phase = KILLED;
    runner->leave_at = weft_clock_ms() + WL_KILL_PATIENCE_MS;
    signal_ranks(runner, SIGKILL);
}

/* ---- The first failure ---- */

/* In `mpirun | head` the ranks get SIGPIPE; that is no failure to report. */
static bool is_expected(const runner_t *runner)
{
    return runner->failure.reason == WL_SIGNALLED && runner->failure.event.signal == SIGPIPE &&
           runner->has_lost_reader;
}

/* ---- A job that goes on without lost ranks ---- */

/* Events that end the job even if it survives losses. */
static bool ends_job(const runner_t *runner, const wl_rank_event_t *event)
{
    bool has_no_reader = event->kind == WL_RANK_ENDED && event->signal == SIGPIPE;
    bool is_bereft = event->kind == WL_RANK_LOST_PEER && !runner->plan->replaces_lost;
    return !runner->plan->survives_losses || event->kind == WL_RANK_ABORTED || is_bereft ||
           (has_no_reader && runner->has_lost_reader);
}

/* What takes several ranks along is told once for all of them. */
static void take_outage(runner_t *runner, const wl_rank_event_t *event)
{
    const wl_placement_t *placement = &runner->plan->placement;
    int host = placement->host_of[event->rank];
    char ranks[320];
    wl_placement_name_ranks(&placement->hosts[host], ranks, sizeof(ranks));
    if (event->kind == WL_HOST_LOST) {
        job_say(runner, "the host %s with %s is lost (%s); %s", placement->hosts[host].name, ranks,
                event->text,
                runner->plan->replaces_lost ? "ending the job" : "the job goes on without it");
    } else if (event->kind == WL_SERVER_LOST) {
        job_say(runner, "the PMIx server of host %s has ended: %s; ending %s",
                placement->hosts[host].name, event->text, ranks);
        runner->job->ops->end_host(runner->job, host);
    }
}

/* The others would wait for it, which no process will be any more. */
static void end_incomplete(runner_t *runner, int exit_code)
{
    runner->exit_code = exit_code;
    runner->has_rank_failed = true;
    end_ranks(runner, SIGTERM, GRACE_AFTER_FAILURE_MS);
}

/* Has each loss that is counted, and one that may be about to be seen, taken all others along? */
static bool is_bereft_too_often(const runner_t *runner)
{
    return runner->bereft >= (runner->restarts + 1) * runner->plan->size;
}

/* Those that end with another rank are not counted. text: how the rank was lost */
static void replace_rank(runner_t *runner, int rank, const char *text)
{
    const wl_rank_end_t *end = &runner->ends.ends[rank];
    int most = runner->plan->torch.max_restarts;
    if (end->is_bereft && !is_bereft_too_often(runner)) {
        runner->bereft++;
        job_say(runner, "%s and is started again, too", text);
    } else if (runner->restarts < most) {
        runner->restarts++;
        job_say(runner, "%s and is lost; it is started again (%d of at most %d times)", text,
                runner->restarts, most);
    } else {
        job_say(runner, "%s and is lost; ending the job, as --max-restarts is %d", text, most);
        end_incomplete(runner, end->code != 0 ? end->code : 1);
        return;
    }
    if (runner->job->ops->restart(runner->job, rank) != MPI_SUCCESS) {
        job_say(runner, "rank %d cannot be started again: %s; ending the job",
                wl_torch_world_rank(runner->plan, rank), weft_fail_text());
        end_incomplete(runner, 1);
        return;
    }
    wl_rank_ends_renew(&runner->ends, rank);
    wl_left_ranks_renew(&runner->left, rank);
}

static void take_losses(runner_t *runner)
{
    int rank;
    while (runner->plan->survives_losses && runner->phase == RUNNING &&
           (rank = wl_rank_ends_next_lost(&runner->ends, weft_clock_ms())) >= 0) {
        char text[960];
        runner->job->ops->forget(runner->job, rank);
        if (runner->ends.ends[rank].is_with_host) {
            if (runner->plan->replaces_lost)
                end_incomplete(runner, runner->ends.ends[rank].code);
            continue;
        }
        wl_rank_ends_describe(&runner->ends, rank, text, sizeof(text));
        if (runner->plan->replaces_lost)
            replace_rank(runner, rank, text);
        else
            job_say(runner, "%s and is lost; %s", text,
                    runner->ends.lost == runner->plan->size ? "no rank is left"
                                                            : "the job goes on without it");
    }
}

/* An abort ends the job, whatever else has happened: nothing better will come. */
static bool is_certain(const runner_t *runner)
{
    return runner->plan->survives_losses || weft_clock_ms() >= runner->failure.certain_at_ms;
}

static void take_events(runner_t *runner)
{
    wl_rank_event_t event;
    while (runner->job->ops->next_event(runner->job, &event)) {
        runner->has_connected |= event.kind == WL_RANK_CONNECTED;
        if (ends_job(runner, &event))
            wl_first_failure_take(&runner->failure, &event, weft_clock_ms());
        wl_rank_ends_take(&runner->ends, &event, weft_clock_ms());
        wl_left_ranks_take(&runner->left, &event);
        if (runner->plan->survives_losses && runner->phase == RUNNING)
            take_outage(runner, &event);
    }
    take_losses(runner);
}

static bool is_doubtful(const runner_t *runner)
{
    return runner->phase == RUNNING &&
           wl_first_failure_is_doubtful(&runner->failure, count_running(runner));
}

static void end_after_failure(runner_t *runner)
{
    if (runner->failure.reason == WL_NO_REASON || runner->phase != RUNNING ||
        (is_doubtful(runner) && !is_certain(runner)))
        return;
    runner->exit_code = wl_first_failure_exit_code(&runner->failure);
    runner->has_rank_failed = !is_expected(runner);
    if (!is_expected(runner)) {
        char text[960];
        wl_first_failure_describe(&runner->failure, text, sizeof(text));
        job_say(runner, "%s", text);
    }
    end_ranks(runner, SIGTERM, GRACE_AFTER_FAILURE_MS);
}

/* ---- Signals ---- */

static void end_by_signal(runner_t *runner, int signal_number)
{
    if (runner->phase == LINGERING)
        runner->linger_at = 0;
    else if (runner->phase == RUNNING) {
        job_say(runner, "SIG%s received; ending the job", sigabbrev_np(signal_number));
        runner->is_cut_short = true;
        runner->exit_code = 128 + signal_number;
        end_ranks(runner, signal_number, GRACE_AFTER_SIGNAL_MS);
    } else if (runner->phase == ENDING) {
        kill_ranks(runner);
    } else if (runner->phase == OVER) {
        runner->may_leave = true;
    }
}

static void job_signalled(void *owner, int signal_number)
{
    runner_t *runner = owner;
    switch (signal_number) {
    case SIGTSTP:
        signal_ranks(runner, SIGTSTP);
        raise(SIGSTOP);
        break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
        signal_ranks(runner, signal_number);
        break;
    default:
        end_by_signal(runner, signal_number);
    }
}

static int job_open_signals(runner_t *runner)
{
    static const int more[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, 0};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that is as large as it may be is told like a full disk */
    return wl_loop_open_signals(&runner->loop, more, job_signalled, runner);
}

/* ---- The loop ---- */

static void leave_ranks(runner_t *runner)
{
    char ranks[640];
    wl_left_ranks_describe(&runner->left, ranks, sizeof(ranks));
    job_say(runner, "%s not ended %d s after SIGKILL; leaving %s", ranks,
            WL_KILL_PATIENCE_MS / 1000, count_running(runner) == 1 ? "it" : "them");
    runner->phase = OVER;
}

static void job_check_clock(runner_t *runner)
{
    int64_t now = weft_clock_ms();
    if (runner->phase == RUNNING && now >= runner->timeout_at) {
        job_say(runner, "the job has not ended within %ld s; ending it", runner->plan->timeout_s);
        runner->exit_code = WL_TIMEOUT_EXIT_CODE;
        runner->is_cut_short = true;
        end_ranks(runner, SIGTERM, GRACE_AFTER_FAILURE_MS);
    }
    if (runner->phase == ENDING && now >= runner->kill_at)
        kill_ranks(runner);
    if (runner->phase == KILLED && now >= runner->leave_at) {
        leave_ranks(runner);
    }
    if (runner->phase == LINGERING && (now >= runner->linger_at || now >= runner->linger_end_at))
        runner->phase = OVER;
}

/* Is a rank that has ended still to be judged? */
static bool may_be_lost(const runner_t *runner)
{
    return runner->plan->survives_losses && runner->phase == RUNNING && runner->ends.undecided > 0;
}

/* All ranks have ended, those that were lost among them. */
static void end_with_losses(runner_t *runner)
{
    char text[320];
    runner->exit_code = wl_rank_ends_exit_code(&runner->ends);
    if (runner->ends.lost == 0)
        return;
    wl_rank_ends_summarize(&runner->ends, text, sizeof(text));
    job_say(runner, "%s", text);
}

/* Ranks may have left processes that finish their output, such as bash's `> >(tee log)`. */
static void job_check_ranks(runner_t *runner)
{
    if (count_running(runner) > 0 || is_doubtful(runner) || may_be_lost(runner))
        return;
    if (runner->phase == RUNNING) {
        if (runner->plan->survives_losses)
            end_with_losses(runner);
        runner->phase = LINGERING;
        runner->linger_at = weft_clock_ms() + LINGER_QUIET_MS;
        runner->linger_end_at = weft_clock_ms() + LINGER_MOST_MS;
    }
    if (runner->phase != LINGERING || runner->job->ops->is_output_closed(runner->job))
        runner->phase = OVER;
}

/*
 * In `mpirun | head` the ranks lose their reader as head's writer would without mpirun. A full disk
 * does not end a program that writes to it, and it may have other results to save; so the ranks run
 * on there, and mpirun fails in the end.
 */
static void take_broken_channel(runner_t *runner, int channel)
{
    static const char *const names[] = {"standard output", "standard error"};
    int error = wl_sinks_error(&runner->sinks, channel);
    if (error == 0) {
        runner->has_lost_reader = true;
        runner->job->ops->break_output(runner->job, channel);
        return;
    }
    runner->has_lost_output = true;
    job_say(runner, "cannot write %s: %s; what the ranks write to it is lost from here on",
            names[channel], strerror(error));
}

static void check_channels(runner_t *runner)
{
    for (int channel = 0; channel < 2; channel++) {
        if (runner->is_broken[channel] || !wl_sinks_are_broken(&runner->sinks, channel))
            continue;
        runner->is_broken[channel] = true;
        take_broken_channel(runner, channel);
    }
}

static int64_t next_deadline(const runner_t *runner)
{
    if (may_be_lost(runner)) {
        int64_t at = wl_rank_ends_decide_at_ms(&runner->ends);
        return at < runner->timeout_at ? at : runner->timeout_at;
    }
    if (runner->phase == LINGERING)
        return runner->linger_at < runner->linger_end_at ? runner->linger_at
                                                         : runner->linger_end_at;
    if (is_doubtful(runner) && runner->failure.certain_at_ms < runner->timeout_at)
        return runner->failure.certain_at_ms;
    if (runner->phase == KILLED)
        return runner->leave_at;
    return runner->phase == RUNNING ? runner->timeout_at : runner->kill_at;
}

static int64_t wait_ms(const runner_t *runner)
{
    int64_t at = next_deadline(runner), left = at - weft_clock_ms();
    return at == never ? -1 : left < 0 ? 0 : left;
}

static int job_take_turn(runner_t *runner)
{
    int err = runner->job->ops->before_turn(runner->job);
    if (err != MPI_SUCCESS)
        return err;
    int ready = wl_loop_turn(&runner->loop, wait_ms(runner));
    if (ready > 0 && runner->phase == LINGERING)
        runner->linger_at = weft_clock_ms() + LINGER_QUIET_MS;
    take_events(runner);
    wl_sinks_flush(&runner->sinks);
    check_channels(runner);
    end_after_failure(runner);
    job_check_clock(runner);
    job_check_ranks(runner);
    return MPI_SUCCESS;
}

/* Write out what is queued. A reader that does not read holds mpirun up, until a signal comes. */
static void await_flush(runner_t *runner)
{
    wl_sinks_flush(&runner->sinks);
    while (!wl_sinks_are_flushed(&runner->sinks) && !runner->may_leave)
        wl_loop_turn(&runner->loop, -1);
}

static void flush_output(runner_t *runner)
{
    await_flush(runner);
    check_channels(runner); /* the last piece may have been the one that cannot be written */
    await_flush(runner);
}

/* With an MPI library that does not use PMIx each rank runs alone, as a job of one rank. */
static void note_other_mpi(runner_t *runner)
{
    const wl_job_plan_t *plan = runner->plan;
    char library[PATH_MAX];
    if (plan->size == 1 || plan->is_quiet || runner->has_connected || runner->is_cut_short)
        return;
    for (int i = 0; i < plan->app_count; i++) {
        if (!wl_other_mpi_find(&plan->apps[i], library))
            continue;
        job_say(runner,
                "note: no rank has joined this job: %s uses %s, which is not Weft's, so each of "
                "its ranks ran alone",
                plan->apps[i].arguments[0], library);
        return;
    }
}

static int run_job(runner_t *runner)
{
    int err = runner->job->ops->start(runner->job);
    if (runner->plan->timeout_s > 0)
        runner->timeout_at = weft_clock_ms() + runner->plan->timeout_s * 1000;
    while (err == MPI_SUCCESS && runner->phase != OVER)
        err = job_take_turn(runner);
    runner->phase = OVER;
    runner->job->ops->finish(runner->job);
    if (err == MPI_SUCCESS)
        note_other_mpi(runner);
    flush_output(runner);
    return err;
}

static int open_job(runner_t *runner)
{
    const wl_job_plan_t *plan = runner->plan;
    int err = wl_sinks_open(&runner->loop, &runner->sinks);
    if (err == MPI_SUCCESS)
        err = wl_first_failure_open(plan, &runner->failure);
    if (err == MPI_SUCCESS)
        err = wl_left_ranks_open(plan, &runner->left);
    if (err == MPI_SUCCESS)
        err = wl_rank_ends_open(plan, &runner->ends);
    if (err != MPI_SUCCESS)
        return err;
    return wl_job_plan_is_local(plan)
               ? wl_local_job_create(plan, &runner->sinks, &runner->loop, &runner->job)
               : wl_remote_job_create(plan, &runner->sinks, &runner->loop, &runner->job);
}

/* What a job changes in this process, and its ranks are to find as it was. */
typedef struct inherited {
    struct sigaction pipe, file_size;
    sigset_t blocked;
    struct rlimit open_files;
} inherited_t;

static void save_inherited(inherited_t *out)
{
    sigaction(SIGPIPE, NULL, &out->pipe);
    sigaction(SIGXFSZ, NULL, &out->file_size);
    sigprocmask(SIG_SETMASK, NULL, &out->blocked);
    getrlimit(RLIMIT_NOFILE, &out->open_files);
}

static void restore_inherited(const inherited_t *inherited)
{
    setrlimit(RLIMIT_NOFILE, &inherited->open_files);
    sigaction(SIGPIPE, &inherited->pipe, NULL);
    sigaction(SIGXFSZ, &inherited->file_size, NULL);
    sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
}

int wl_job_run(const wl_job_plan_t *plan, wl_job_outcome_t *out)
{
    runner_t runner = {.plan = plan, .timeout_at = never, .kill_at = never};
    inherited_t inherited;
    save_inherited(&inherited);
    wl_loop_open(&runner.loop);
    int err = open_job(&runner);
    if (err == MPI_SUCCESS)
        err = job_open_signals(&runner);
    if (err == MPI_SUCCESS)
        err = run_job(&runner);
    if (runner.job != NULL)
        runner.job->ops->close(runner.job);
    wl_first_failure_release(&runner.failure);
    wl_left_ranks_release(&runner.left);
    wl_sinks_release(&runner.sinks);
    wl_loop_close(&runner.loop);
    restore_inherited(&inherited);
    int exit_code =
        runner.exit_code == 0 && runner.has_lost_output ? OUTPUT_LOST : runner.exit_code;
    *out = (wl_job_outcome_t){.exit_code = exit_code,
                              .restarts = runner.restarts,
                              .has_rank_failed = runner.has_rank_failed && !runner.is_cut_short,
                              .ends = runner.ends};
    return err;
}
