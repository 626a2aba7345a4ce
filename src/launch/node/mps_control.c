/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/node/mps_control.h"

#include "base/clock.h"
#include "base/mps_program.h"
#include "launch/node/helper_process.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MS = 5000, QUIT_MS = 4000, PAUSE_NS = 1000000 };

/* Clients that cannot end would hold up the end of the server; after 2 s it goes without them. */
static const char quit_command[] = "quit -t 2\n";

/* ---- Whether ---- */

static bool has_one_already(const wl_job_plan_t *plan, const wl_placed_host_t *ours)
{
    for (int i = 0; i < ours->count; i++) {
        const wl_app_t *app = wl_job_plan_app_of(plan, ours->ranks[i]);
        if (wl_variables_get(&app->environment, WEFT_MPS_PIPES) != NULL)
            return true;
    }
    return access(WEFT_MPS_PIPES_DEFAULT, F_OK) == 0; /* where clients look if they are not told */
}

void wl_mps_choose(const wl_job_plan_t *plan, int host, const wl_scratch_t *scratch, wl_mps_t *out)
{
    const wl_placed_host_t *ours = &plan->placement.hosts[host];
    *out = (wl_mps_t){.program = ""};
    if (!plan->wants_mps || ours->count < 2 || has_one_already(plan, ours))
        return;
    const wl_app_t *first = wl_job_plan_app_of(plan, ours->ranks[0]);
    if (!weft_mps_program_find(wl_variables_get(&first->environment, "PATH"), out->program)) {
        if (access("/dev/nvidiactl", F_OK) == 0) /* else there is no GPU to be shared */
            snprintf(out->missing, sizeof(out->missing), WEFT_MPS_PROGRAM " was not found");
        return;
    }
    snprintf(out->pipe, sizeof(out->pipe), "%s/mps", scratch->path);
    snprintf(out->log, sizeof(out->log), "%s/mps-log", scratch->path);
}

/* ---- The program ---- */

/* In the new process. It gets a session of its own, so that signals to mpirun's process group pass
 * it by. input: what it reads; -1: it is to start the daemon, and output gets what it says. */
static __attribute__((noreturn)) void become_control(const wl_mps_t *mps, int input, int output)
{
    sigset_t none;
    sigemptyset(&none);
    setsid();
    wl_helper_become("weft-mps", input >= 0 ? input : output, false);
    if (input >= 0) {
        dup2(WL_HELPER_FD, STDIN_FILENO);
    } else {
        dup2(WL_HELPER_FD, STDOUT_FILENO);
        dup2(WL_HELPER_FD, STDERR_FILENO);
    }
    close(WL_HELPER_FD);
    setenv(WEFT_MPS_PIPES, mps->pipe, 1);
    setenv(WEFT_MPS_LOGS, mps->log, 1);
    /* The numbers in it would count among the devices that the server sees, twice for the ranks,
     * who have the variable too. */
    unsetenv("CUDA_VISIBLE_DEVICES");
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl(mps->program, mps->program, input >= 0 ? NULL : "-d", NULL);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(127);
}

/* Has it ended, and well? It is killed, with what it has started, after that time. */
static bool has_ended_well(pid_t pid, int patience_ms)
{
    int64_t until_ms = weft_clock_ms() + patience_ms;
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && weft_clock_ms() < until_ms)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    if (ended == 0) {
        kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
    }
    return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line of a file; empty: there is none. */
static void read_line(const char *folder, const char *name, char *out, int bytes)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(out, bytes, file) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* The number in the file may be that of another process by now. */
static bool is_of_mps(int pid)
{
    char folder[32], name[32];
    snprintf(folder, sizeof(folder), "/proc/%d", pid);
    read_line(folder, "comm", name, sizeof(name));
    return strcmp(name, "nvidia-cuda-mps") == 0; /* 15 letters of the daemon's and the server's */
}

/* The daemon has not done what it was told. Its servers are in its process group. */
static void kill_daemon(const wl_mps_t *mps)
{
    char text[32];
    read_line(mps->pipe, WEFT_MPS_PROGRAM ".pid", text, sizeof(text));
    int pid = (int)strtol(text, NULL, 10);
    if (pid <= 1 || !is_of_mps(pid))
        return;
    if (getpgid(pid) == pid)
        kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

/* ---- Start ---- */

static void run_without(wl_mps_t *mps, const char *reason)
{
    snprintf(mps->missing, sizeof(mps->missing), WEFT_MPS_PROGRAM " does not start%s%s",
             reason[0] == '\0' ? "" : ": ", reason);
}

void wl_mps_start(wl_mps_t *mps)
{
    char said[160];
    if (mps->program[0] == '\0')
        return;
    snprintf(said, sizeof(said), "%s/start", mps->log);
    int made = mkdir(mps->pipe, S_IRWXU) == 0 && mkdir(mps->log, S_IRWXU) == 0;
    int output = made ? open(said, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
    pid_t self = getpid(), pid = output < 0 ? -1 : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(127);
        become_control(mps, -1, output);
    }
    if (pid < 0)
        run_without(mps, strerror(errno));
    else
        mps->starting = pid;
    if (output >= 0)
        close(output);
}

void wl_mps_await(wl_mps_t *mps)
{
    char reason[128];
    if (mps->starting == 0)
        return;
    mps->is_running = has_ended_well(mps->starting, START_MS);
    mps->starting = 0;
    if (mps->is_running)
        return;
    kill_daemon(mps);
    read_line(mps->log, "start", reason, sizeof(reason));
    run_without(mps, reason);
}

int wl_mps_extend_environment(const wl_mps_t *mps, wl_variables_t *environment)
{
    if (!mps->is_running)
        return MPI_SUCCESS;
    int err = wl_variables_set(environment, WEFT_MPS_PIPES, mps->pipe);
    return err == MPI_SUCCESS ? wl_variables_set(environment, WEFT_MPS_LOGS, mps->log) : err;
}

/* ---- End ---- */

void wl_mps_quit(wl_mps_t *mps)
{
    int ends[2];
    wl_mps_await(mps); /* a start that nobody has waited for */
    if (!mps->is_running || pipe2(ends, O_CLOEXEC) != 0)
        return;
    /* A pipe has room for all of it. */
    bool is_written = write(ends[1], quit_command, strlen(quit_command)) > 0;
    close(ends[1]);
    pid_t pid = is_written ? fork() : -1;
    if (pid == 0)
        become_control(mps, ends[0], -1);
    close(ends[0]);
    mps->quitting = pid < 0 ? 0 : pid;
}

void wl_mps_close(wl_mps_t *mps)
{
    if (mps->quitting == 0)
        wl_mps_quit(mps);
    if (!mps->is_running)
        return;
    if (mps->quitting == 0 || !has_ended_well(mps->quitting, QUIT_MS))
        kill_daemon(mps);
    mps->quitting = 0;
    mps->is_running = false;
}

void wl_mps_end_orphan(wl_mps_t *mps)
{
    mps->is_running = mps->program[0] != '\0' && access(mps->pipe, F_OK) == 0;
    wl_mps_close(mps);
}
