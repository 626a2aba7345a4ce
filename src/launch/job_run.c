/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sigabbrev_np */
#include "launch/job_run.h"

#include "launch/core_share.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/pmix_host.h"
#include "launch/rank_output.h"
#include "launch/rank_process.h"
#include "launch/scratch.h"
#include "launch/terminal_input.h"
#include "launch/watchdog.h"
#include "mpi.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    GRACE_AFTER_SIGNAL_MS = 5000, /* for ranks that want to save their work */
    GRACE_AFTER_FAILURE_MS = 300,
    LINGER_QUIET_MS = 300, /* without output, of what ranks have left running */
    LINGER_MOST_MS = 2000,
    PROMPT_MS = 100,
    /* A dying process loses its sockets before we hear of its death, so ranks that fail because of
     * it may be seen first. So long we wait for somebody with a better claim to the blame. */
    DOUBT_MS = 100,
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

/* The reasons to end a job. */
typedef enum reason {
    NO_REASON,
    EXIT_CODE,
    NO_FINALIZE, /* connected, then exited with 0 without MPI_Finalize: the others wait for it */
    ABORTED,
    SIGNALLED, /* never a consequence of another rank's end, which an abort may be */
} reason_t;

typedef struct failure {
    reason_t reason;
    int rank;
    int code; /* of an abort */
    char text[480];
} failure_t;

typedef struct rank_state {
    bool is_connected; /* between MPI_Init and MPI_Finalize */
    bool is_judged;    /* its end has been looked at */
} rank_state_t;

typedef struct job {
    const weft_job_plan_t *plan;
    weft_scratch_t scratch;
    weft_watchdog_t watchdog;
    weft_ranks_t ranks;
    weft_output_t output;
    weft_input_t input;
    rank_state_t *states; /* [size] */
    struct pollfd *polls; /* room for all that we wait for */
    int signal_fd, host_fd;
    cpu_set_t cores; /* that mpirun may use */
    phase_t phase;
    failure_t suspect;   /* who failed first, as far as we know */
    int64_t sentence_at; /* ms; when we stop doubting that */
    int exit_code;
    int64_t timeout_at, kill_at, linger_at, linger_end_at; /* ms */
} job_t;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
    line[used] = '\n';
    line[used + 1] = '\0';
    weft_output_add_message(&job->output, line);
}

static void end_ranks(job_t *job, int signal_number, int grace_ms)
{
    job->phase = ENDING;
    job->kill_at = now_ms() + grace_ms;
    weft_ranks_signal(&job->ranks, signal_number);
    weft_ranks_signal(&job->ranks, SIGCONT); /* a stopped process acts on no other signal */
}

static void kill_ranks(job_t *job)
{
    job->phase = KILLED;
    job->kill_at = never;
    weft_ranks_signal(&job->ranks, SIGKILL);
}

/* ---- Who is to blame ---- */

static void suspect(job_t *job, reason_t reason, int rank, const weft_host_event_t *event)
{
    if (job->suspect.reason != NO_REASON &&
        (reason != SIGNALLED || job->suspect.reason == SIGNALLED))
        return;
    if (job->suspect.reason == NO_REASON)
        job->sentence_at = now_ms() + DOUBT_MS;
    job->suspect = (failure_t){.reason = reason, .rank = rank};
    if (event != NULL) {
        job->suspect.code = event->code;
        snprintf(job->suspect.text, sizeof(job->suspect.text), "%s", event->text);
    }
}

static void take_host_events(job_t *job)
{
    weft_host_event_t event;
    while (weft_host_next_event(&event)) {
        if (event.kind == WEFT_RANK_ABORTED)
            suspect(job, ABORTED, event.rank, &event);
        else
            job->states[event.rank].is_connected = event.kind == WEFT_RANK_CONNECTED;
    }
}

static void judge_end(job_t *job, int rank)
{
    const weft_rank_process_t *process = &job->ranks.processes[rank];
    rank_state_t *state = &job->states[rank];
    if (!process->has_ended || state->is_judged)
        return;
    state->is_judged = true;
    if (process->signal != 0)
        suspect(job, SIGNALLED, rank, NULL);
    else if (process->exit_code != 0)
        suspect(job, EXIT_CODE, rank, NULL);
    else if (state->is_connected && job->plan->size > 1)
        suspect(job, NO_FINALIZE, rank, NULL);
}

/* `first` is the process whose signal came first; others may have ended since. */
static void take_ends(job_t *job, pid_t first)
{
    for (int rank = 0; rank < job->ranks.count; rank++)
        weft_ranks_poll(&job->ranks, rank);
    take_host_events(job); /* a rank's MPI_Finalize is told before its end */
    int first_rank = weft_ranks_find(&job->ranks, first);
    if (first_rank >= 0)
        judge_end(job, first_rank);
    for (int rank = 0; rank < job->ranks.count; rank++)
        judge_end(job, rank);
}

/* An exit status has eight bits; a code like 256 must not look like success. */
static int exit_status(int code)
{
    return code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff;
}

static void describe_failure(job_t *job, const failure_t *failure)
{
    const weft_rank_process_t *process = &job->ranks.processes[failure->rank];
    char host[256] = "", who[320];
    gethostname(host, sizeof(host) - 1);
    snprintf(who, sizeof(who), "rank %d (process %d on %s)", failure->rank, (int)process->pid,
             host);
    if (failure->reason == ABORTED)
        say(job, "%s aborted the job with code %d%s%s", who, failure->code,
            failure->text[0] == '\0' ? "" : ": ", failure->text);
    else if (failure->reason == SIGNALLED)
        say(job, "%s was killed by signal %d (%s)%s; ending the job", who, process->signal,
            strsignal(process->signal), process->has_core ? ", core dumped" : "");
    else if (failure->reason == NO_FINALIZE)
        say(job, "%s exited without calling MPI_Finalize; ending the job", who);
    else
        say(job, "%s exited with code %d; ending the job", who, process->exit_code);
}

static int exit_code_of(const job_t *job, const failure_t *failure)
{
    if (failure->reason == ABORTED)
        return exit_status(failure->code);
    if (failure->reason == NO_FINALIZE)
        return 1;
    return job->ranks.processes[failure->rank].exit_code;
}

/* mpirun | head: that the ranks get SIGPIPE then is in order and needs no words. */
static bool is_expected(const job_t *job, const failure_t *failure)
{
    return failure->reason == SIGNALLED && weft_output_is_broken(&job->output) &&
           job->ranks.processes[failure->rank].signal == SIGPIPE;
}

static bool is_doubtful(const job_t *job)
{
    return job->phase == RUNNING && job->suspect.reason != NO_REASON &&
           job->suspect.reason != SIGNALLED && job->ranks.running > 0;
}

static void pass_sentence(job_t *job)
{
    const failure_t *failure = &job->suspect;
    if (failure->reason == NO_REASON || job->phase != RUNNING ||
        (is_doubtful(job) && now_ms() < job->sentence_at))
        return;
    job->exit_code = exit_code_of(job, failure);
    if (!is_expected(job, failure))
        describe_failure(job, failure);
    end_ranks(job, SIGTERM, GRACE_AFTER_FAILURE_MS);
}

/* ---- Signals ---- */

static void end_by_signal(job_t *job, int signal_number)
{
    if (job->phase == LINGERING)
        job->linger_at = 0;
    else if (job->phase == RUNNING) {
        say(job, "SIG%s received; ending the job", sigabbrev_np(signal_number));
        job->exit_code = 128 + signal_number;
        end_ranks(job, signal_number, GRACE_AFTER_SIGNAL_MS);
    } else if (job->phase == ENDING) {
        kill_ranks(job);
    }
}

static void take_signal(job_t *job, const struct signalfd_siginfo *info)
{
    int signal_number = (int)info->ssi_signo;
    switch (signal_number) {
    case SIGCHLD:
        take_ends(job, (pid_t)info->ssi_pid);
        break;
    case SIGTSTP:
        weft_ranks_signal(&job->ranks, SIGTSTP);
        raise(SIGSTOP);
        break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
        weft_ranks_signal(&job->ranks, signal_number);
        break;
    default:
        end_by_signal(job, signal_number);
    }
}

static void take_signals(job_t *job)
{
    struct signalfd_siginfo info;
    while (read(job->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        take_signal(job, &info);
}

static int open_signals(int *out)
{
    static const int handled[] = {SIGCHLD, SIGINT,  SIGTERM, SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        sigaddset(&set, handled[i]);
    struct sigaction hang_up;
    sigaction(SIGHUP, NULL, &hang_up);
    if (hang_up.sa_handler != SIG_IGN) /* nohup */
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *out = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *out >= 0 ? MPI_SUCCESS : weft_fail(MPI_ERR_SPAWN, "signals cannot be received");
}

/* ---- The loop ---- */

static void check_clock(job_t *job)
{
    int64_t now = now_ms();
    if (job->phase == RUNNING && now >= job->timeout_at) {
        say(job, "the job has not ended within %ld s; ending it", job->plan->timeout_s);
        job->exit_code = TIMEOUT_EXIT_CODE;
        end_ranks(job, SIGTERM, GRACE_AFTER_FAILURE_MS);
    }
    if (job->phase == ENDING && now >= job->kill_at)
        kill_ranks(job);
    if (job->phase == LINGERING && (now >= job->linger_at || now >= job->linger_end_at))
        job->phase = OVER;
}

/* Ranks may have left processes that finish their output, such as bash's `> >(tee log)`. */
static void check_ranks(job_t *job)
{
    if (job->ranks.running > 0)
        return;
    if (job->phase == RUNNING) {
        job->phase = LINGERING;
        job->linger_at = now_ms() + LINGER_QUIET_MS;
        job->linger_end_at = now_ms() + LINGER_MOST_MS;
    }
    if (job->phase != LINGERING || weft_output_is_closed(&job->output))
        job->phase = OVER;
}

static int64_t next_deadline(const job_t *job)
{
    if (job->phase == LINGERING)
        return job->linger_at < job->linger_end_at ? job->linger_at : job->linger_end_at;
    if (is_doubtful(job) && job->sentence_at < job->timeout_at)
        return job->sentence_at;
    return job->phase == RUNNING ? job->timeout_at : job->kill_at;
}

static int poll_timeout_ms(const job_t *job)
{
    int64_t at = next_deadline(job);
    int64_t most = job->input.pipe >= 0 ? PROMPT_MS : INT32_MAX;
    int64_t left = at == never ? most : at - now_ms();
    if (left > most)
        left = most;
    if (left < 0)
        return 0;
    return left == INT32_MAX ? -1 : (int)left;
}

static void take_turn(job_t *job)
{
    struct pollfd *polls = job->polls;
    enum { SIGNALS, HOST, FIXED };
    polls[SIGNALS] = (struct pollfd){.fd = job->signal_fd, .events = POLLIN};
    polls[HOST] = (struct pollfd){.fd = job->host_fd, .events = POLLIN};
    int inputs = weft_input_prepare_poll(&job->input, polls + FIXED);
    int outputs = weft_output_prepare_poll(&job->output, polls + FIXED + inputs);
    int ready = poll(polls, (nfds_t)(FIXED + inputs + outputs), poll_timeout_ms(job));
    if (ready > 0) {
        weft_output_advance(&job->output, polls + FIXED + inputs, outputs);
        if (inputs > 0)
            weft_input_advance(&job->input, polls + FIXED);
        if (job->phase == LINGERING)
            job->linger_at = now_ms() + LINGER_QUIET_MS;
    } else if (ready == 0) {
        weft_output_show_prompt(&job->output);
    }
    take_signals(job);
    take_host_events(job);
    pass_sentence(job);
    check_clock(job);
    check_ranks(job);
}

/* ---- Start and end ---- */

/* A rank needs two pipes here and a socket of PMIx. Ranks get the old limit. */
static void raise_file_limit(int size)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)size * 3 + 128;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_rank(job_t *job, int rank, int in)
{
    const weft_app_t *app = weft_job_plan_app_of(job->plan, rank);
    int ends[2];
    weft_variables_t environment;
    int err = weft_job_plan_environment(job->plan, rank, &environment);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_host_extend_environment(rank, &environment);
    if (err == MPI_SUCCESS)
        err = weft_output_connect(&job->output, rank, ends);
    if (err == MPI_SUCCESS) {
        cpu_set_t cores;
        bool is_bound = !job->plan->is_unbound &&
                        weft_core_share(&job->cores, rank, job->plan->size, &cores);
        weft_start_t start = {.path = app->path,
                              .directory = app->directory,
                              .arguments = app->arguments,
                              .environment = environment.entries,
                              .in = in,
                              .out = ends[0],
                              .err = ends[1],
                              .cores = is_bound ? &cores : NULL};
        err = weft_ranks_start(&job->ranks, &start);
        close(ends[0]);
        close(ends[1]);
    }
    weft_variables_release(&environment);
    if (err == MPI_SUCCESS)
        weft_watchdog_add(&job->watchdog, job->ranks.processes[rank].pid);
    return err;
}

static int start_ranks(job_t *job)
{
    int first_in;
    int err = weft_input_open(&job->input, &first_in);
    if (err != MPI_SUCCESS)
        return err;
    if (sched_getaffinity(0, sizeof(job->cores), &job->cores) != 0)
        CPU_ZERO(&job->cores); /* too few for any number of ranks */
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int rank = 0; rank < job->plan->size && err == MPI_SUCCESS; rank++)
        err = start_rank(job, rank, rank == 0 ? first_in : null);
    if (null >= 0)
        close(null);
    if (first_in != STDIN_FILENO)
        close(first_in);
    return err;
}

static int make_room(job_t *job)
{
    enum { OTHER_POLLS = 3 }; /* signals, PMIx server, terminal */
    int size = job->plan->size;
    int err = weft_ranks_open(size, &job->ranks);
    if (err == MPI_SUCCESS)
        err = weft_output_open(size, job->plan->tags_lines, &job->output);
    if (err != MPI_SUCCESS)
        return err;
    size_t polls = (size_t)weft_output_poll_room(&job->output) + OTHER_POLLS;
    job->polls = weft_alloc_array(polls, sizeof(*job->polls));
    job->states = weft_alloc_zeroed((size_t)size, sizeof(*job->states));
    return job->polls != NULL && job->states != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", size);
}

static void release_room(job_t *job)
{
    weft_ranks_release(&job->ranks);
    weft_output_release(&job->output);
    weft_free(job->polls);
    weft_free(job->states);
}

/* Write out what is queued. A reader that does not read keeps us, but a signal sets us free. */
static void flush_output(job_t *job)
{
    while (!weft_output_is_flushed(&job->output)) {
        struct signalfd_siginfo info;
        struct pollfd *polls = job->polls;
        polls[0] = (struct pollfd){.fd = job->signal_fd, .events = POLLIN};
        int outputs = weft_output_prepare_poll(&job->output, polls + 1);
        poll(polls, (nfds_t)(1 + outputs), -1);
        weft_output_advance(&job->output, polls + 1, outputs);
        while (read(job->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
            int number = (int)info.ssi_signo;
            if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
                return;
        }
    }
}

static void finish(job_t *job)
{
    /* Also after a good end: a job leaves nothing behind in its process groups. */
    weft_ranks_signal(&job->ranks, SIGKILL);
    weft_output_drain(&job->output);
    flush_output(job);
    weft_input_close(&job->input);
}

/* Ranks and what surrounds them, once scratch directory and watchdog are there. */
static int run_ranks(job_t *job)
{
    int err = weft_host_open(job->plan, &job->scratch, &job->host_fd);
    if (err == MPI_SUCCESS)
        err = start_ranks(job);
    if (err != MPI_SUCCESS) {
        weft_ranks_signal(&job->ranks, SIGKILL);
        return err;
    }
    if (job->plan->timeout_s > 0)
        job->timeout_at = now_ms() + job->plan->timeout_s * 1000;
    while (job->phase != OVER)
        take_turn(job);
    finish(job);
    return MPI_SUCCESS;
}

static int run_guarded(job_t *job)
{
    int err = weft_scratch_create(&job->scratch);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_watchdog_open(&job->scratch, &job->watchdog);
    if (err == MPI_SUCCESS)
        err = run_ranks(job);
    weft_scratch_remove(&job->scratch);
    if (job->watchdog.pid > 0)
        weft_watchdog_close(&job->watchdog);
    return err;
}

int weft_job_run(const weft_job_plan_t *plan, int *exit_code_out)
{
    job_t job = {.plan = plan, .timeout_at = never, .kill_at = never, .input.pipe = -1};
    int err = make_room(&job);
    if (err == MPI_SUCCESS)
        err = open_signals(&job.signal_fd);
    if (err == MPI_SUCCESS) {
        raise_file_limit(plan->size);
        err = run_guarded(&job);
    }
    release_room(&job);
    if (err == MPI_SUCCESS)
        *exit_code_out = job.exit_code;
    return err;
}
