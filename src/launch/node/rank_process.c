/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vfork */
#include "launch/node/rank_process.h"

#include "launch/plan/program_search.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REAP_PAUSE_NS = 1000000 };

/* Why a child did not reach its program; the child writes it, as it shares our memory until then.
 */
typedef struct failure {
    int error; /* errno; 0: none */
    const char *what;
} failure_t;

static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int wl_ranks_open(int count, wl_ranks_t *out)
{
    wl_ranks_t ranks = {.processes = weft_alloc_zeroed((size_t)count, sizeof(*ranks.processes))};
    if (ranks.processes == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d processes", count);
    sigprocmask(SIG_SETMASK, NULL, &ranks.signals);
    getrlimit(RLIMIT_NOFILE, &ranks.open_files);
    ranks.ignores_sigpipe = is_ignored(SIGPIPE);
    ranks.ignores_sigxfsz = is_ignored(SIGXFSZ);
    *out = ranks;
    return MPI_SUCCESS;
}

static __attribute__((noreturn)) void give_up(volatile failure_t *failure, const char *what)
{
    failure->what = what;
    failure->error = errno;
    _exit(127);
}

static void connect_standard_files(const wl_rank_start_t *start)
{
    if (start->in != STDIN_FILENO)
        dup2(start->in, STDIN_FILENO);
    dup2(start->out, STDOUT_FILENO);
    dup2(start->err, STDERR_FILENO);
}

/*
 * A shell that starts mpirun with '&' makes it ignore SIGINT and SIGQUIT, so that ^C does not end
 * it. The terminal does not signal the ranks, which have process groups of their own; a signal that
 * they get was sent on purpose, by mpirun.
 */
static void restore_signals(const wl_ranks_t *ranks)
{
    signal(SIGPIPE, ranks->ignores_sigpipe ? SIG_IGN : SIG_DFL);
    signal(SIGXFSZ, ranks->ignores_sigxfsz ? SIG_IGN : SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
}

/* The child between vfork and exec: it runs in mpirun's memory while mpirun's main thread sleeps
 * and others may hold locks, so it makes system calls only. */
static __attribute__((noreturn)) void become_rank(const wl_ranks_t *ranks,
                                                  const wl_rank_start_t *start, pid_t mpirun,
                                                  volatile failure_t *failure)
{
    if (start->has_session)
        setsid();
    else
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != mpirun) /* the parent died before prctl took effect */
        _exit(127);
    connect_standard_files(start);
    fcntl(start->notes, F_SETFD, 0); /* the program inherits it */
    if (start->cores != NULL)
        weft_cpus_run_on(start->cores);
    if (start->directory != NULL && chdir(start->directory) != 0)
        give_up(failure, start->directory);
    setrlimit(RLIMIT_NOFILE, &ranks->open_files);
    restore_signals(ranks);
    sigprocmask(SIG_SETMASK, &ranks->signals, NULL);
    wl_program_execute(start->path, start->arguments, start->environment);
    give_up(failure, start->path);
}

static int rank_refuse_start(const failure_t *failure)
{
    int error = failure->error;
    int class = error == ENOENT || error == ENOTDIR ? MPI_ERR_NO_SUCH_FILE : MPI_ERR_ACCESS;
    /* The file was there a moment ago, so the interpreter that it names is missing. */
    if (error == ENOENT && access(failure->what, X_OK) == 0)
        return weft_fail(class, "the interpreter that %s asks for was not found", failure->what);
    return weft_fail(class, "%s cannot be used: %s", failure->what, strerror(error));
}

static int start_process(const wl_ranks_t *ranks, const wl_rank_start_t *start, pid_t *out)
{
    volatile failure_t failure = {0};
    pid_t mpirun = getpid();
    pid_t pid = vfork();
    if (pid == 0)
        become_rank(ranks, start, mpirun, &failure);
    if (pid < 0)
        return weft_fail(MPI_ERR_SPAWN, "a process cannot be started: %s", strerror(errno));
    if (failure.error != 0) {
        failure_t seen = {failure.error, failure.what};
        waitpid(pid, NULL, 0);
        return rank_refuse_start(&seen);
    }
    *out = pid;
    return MPI_SUCCESS;
}

int wl_ranks_start(wl_ranks_t *ranks, const wl_rank_start_t *start)
{
    pid_t pid;
    int err = start_process(ranks, start, &pid);
    if (err != MPI_SUCCESS)
        return err;
    ranks->processes[ranks->count++] = (wl_rank_process_t){.pid = pid};
    ranks->running++;
    return MPI_SUCCESS;
}

int wl_ranks_restart(wl_ranks_t *ranks, int rank, const wl_rank_start_t *start)
{
    pid_t pid;
    int err = start_process(ranks, start, &pid);
    if (err != MPI_SUCCESS)
        return err;
    waitpid(ranks->processes[rank].pid, NULL, WNOHANG); /* a zombie until now */
    ranks->processes[rank] = (wl_rank_process_t){.pid = pid};
    ranks->running++;
    return MPI_SUCCESS;
}

/* How a process has ended; false: it has not. */
static bool find_end(pid_t pid, siginfo_t *out)
{
    *out = (siginfo_t){0};
    if (waitid(P_PID, (id_t)pid, out, WEXITED | WNOHANG | WNOWAIT) == 0)
        return out->si_pid != 0;
    if (errno != ECHILD)
        return false;
    /* The process was reaped by other code in this process. Its exit code is lost; a failure that
     * was none does less harm than one that nobody sees. */
    WEFT_LOG(WEFT_WARN, "launch", "the exit code of process %d is not known; taken for 1",
             (int)pid);
    out->si_code = CLD_EXITED;
    out->si_status = 1;
    return true;
}

bool wl_ranks_poll(wl_ranks_t *ranks, int rank)
{
    wl_rank_process_t *process = &ranks->processes[rank];
    siginfo_t info;
    if (process->has_ended || !find_end(process->pid, &info))
        return false;
    process->has_ended = true;
    process->has_core = info.si_code == CLD_DUMPED;
    process->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    process->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    ranks->running--;
    return true;
}

int wl_ranks_find(const wl_ranks_t *ranks, pid_t pid)
{
    for (int rank = 0; rank < ranks->count; rank++) {
        if (ranks->processes[rank].pid == pid)
            return rank;
    }
    return -1;
}

void wl_ranks_signal(wl_ranks_t *ranks, int signal_number)
{
    if (signal_number == SIGKILL && ranks->killed_at_ms == 0)
        ranks->killed_at_ms = weft_clock_ms();
    for (int rank = 0; rank < ranks->count; rank++) {
        kill(-ranks->processes[rank].pid, signal_number);
        /* SIGTSTP stops no process that is alone in its session, unless it has a handler */
        if (signal_number == SIGTSTP)
            kill(-ranks->processes[rank].pid, SIGSTOP);
    }
}

void wl_ranks_kill(const wl_ranks_t *ranks, int rank)
{
    if (rank < ranks->count)
        kill(-ranks->processes[rank].pid, SIGKILL);
}

static void reap_or_leave(pid_t pid, int64_t until_ms)
{
    while (waitpid(pid, NULL, WNOHANG) == 0 && weft_clock_ms() < until_ms)
        nanosleep(&(struct timespec){.tv_nsec = REAP_PAUSE_NS}, NULL);
}

void wl_ranks_release(wl_ranks_t *ranks)
{
    int64_t killed_at_ms = ranks->killed_at_ms > 0 ? ranks->killed_at_ms : weft_clock_ms();
    for (int rank = 0; rank < ranks->count; rank++)
        reap_or_leave(ranks->processes[rank].pid, killed_at_ms + WL_KILL_PATIENCE_MS);
    weft_free(ranks->processes);
    *ranks = (wl_ranks_t){0};
}
