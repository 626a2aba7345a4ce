/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2, vfork, execvpe */
#include "launch/tree/agent.h"

#include "base/fail.h"
#include "launch/plan/host_list.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MOST = 32, WORD_BYTES = 2048 };

/* Without this option a host that does not answer takes the two minutes of TCP. */
static const char default_words[] = "ssh -x -o ConnectTimeout=30";

typedef struct command {
    char text[WORD_BYTES]; /* the agent's words, cut into pieces */
    char quoted[PATH_MAX + 3];
    char *words[WORDS_MOST + 3];
} command_t;

/* The shell of the other host reads the command. */
static int quote(const char *path, char out[PATH_MAX + 3])
{
    if (strchr(path, '\'') != NULL || strlen(path) > PATH_MAX)
        return weft_fail(MPI_ERR_SPAWN, "the daemon's path %s has an apostrophe", path);
    snprintf(out, PATH_MAX + 3, "'%s'", path);
    return MPI_SUCCESS;
}

static int make_command(const wl_agent_plan_t *plan, const char *host, command_t *out)
{
    const char *words = plan->words == NULL ? default_words : plan->words;
    if (snprintf(out->text, sizeof(out->text), "%s", words) >= (int)sizeof(out->text))
        return weft_fail(MPI_ERR_SPAWN, "the words of the launch agent are too long");
    int count = 0;
    char *rest = out->text;
    while (*(rest += strspn(rest, " ")) != '\0' && count < WORDS_MOST) {
        out->words[count++] = rest;
        rest += strcspn(rest, " ");
        if (*rest != '\0')
            *rest++ = '\0';
    }
    if (count == 0 || *rest != '\0')
        return weft_fail(MPI_ERR_SPAWN, "\"%s\" is no launch agent", words);
    out->words[count++] = (char *)host;
    out->words[count++] = out->quoted;
    out->words[count] = NULL;
    return quote(plan->daemon, out->quoted);
}

/* The child between vfork and exec: system calls only. A ^C at the terminal is meant for mpirun,
 * which ends the job through the daemons; ssh leaves signals ignored that it finds ignored. */
static __attribute__((noreturn)) void become_agent(const wl_agent_plan_t *plan, char **words,
                                                   int in, volatile int *error)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    dup2(in, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &plan->signals, NULL);
    execvp(words[0], words);
    *error = errno;
    _exit(127);
}

static int agent_spawn(const wl_agent_plan_t *plan, char **words, int in, pid_t *pid_out)
{
    volatile int error = 0;
    pid_t pid = vfork();
    if (pid == 0)
        become_agent(plan, words, in, &error);
    if (pid < 0)
        return weft_fail(MPI_ERR_SPAWN, "a process cannot be started: %s", strerror(errno));
    if (error != 0) {
        int seen = error;
        waitpid(pid, NULL, 0);
        return weft_fail(MPI_ERR_SPAWN, "%s cannot be started: %s", words[0], strerror(seen));
    }
    *pid_out = pid;
    return MPI_SUCCESS;
}

int wl_agent_start(const wl_agent_plan_t *plan, const char *host, const char *call, pid_t *pid_out)
{
    command_t command;
    char *direct[] = {(char *)plan->daemon, NULL};
    int ends[2], err = MPI_SUCCESS;
    bool is_here = wl_is_this_host(host);
    if (!is_here)
        err = make_command(plan, host, &command);
    if (err != MPI_SUCCESS)
        return err;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe cannot be made: %s", strerror(errno));
    /* A pipe has room for all of it. */
    ssize_t written = write(ends[1], call, strlen(call));
    err = written == (ssize_t)strlen(call)
              ? agent_spawn(plan, is_here ? direct : command.words, ends[0], pid_out)
              : weft_fail(MPI_ERR_SPAWN, "a pipe takes nothing: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return err;
}
