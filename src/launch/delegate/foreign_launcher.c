/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vfork, pipe2, sigabbrev_np */
#include "launch/delegate/foreign_launcher.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/loop/byte_queue.h"
#include "launch/loop/event_loop.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_MS = 8000,        /* for the launcher to end its ranks, and then itself */
    DUE_MS = 8000,          /* for the launcher to end after it has told why */
    STDERR_LINGER_MS = 300, /* for its stderr, which another process may hold open */
};

/* Append `word`, which is from the heap and belongs to `command` now; NULL: there was no memory for
 * it. */
static void take_word(wl_command_t *command, char *word)
{
    if (command->count + 1 >= command->capacity && word != NULL) {
        int capacity = 2 * command->capacity + 32;
        char **words = weft_realloc(command->words, (size_t)capacity * sizeof(*words));
        if (words != NULL) {
            command->words = words;
            command->capacity = capacity;
        }
    }
    if (word == NULL || command->count + 1 >= command->capacity) {
        command->has_failed = true;
        weft_free(word);
        return;
    }
    command->words[command->count++] = word;
    command->words[command->count] = NULL;
}

void wl_command_add_word(wl_command_t *command, const char *word)
{
    take_word(command, weft_strdup(word));
}

void wl_command_add_pair(wl_command_t *command, const char *first, const char *second)
{
    size_t bytes = strlen(first) + strlen(second) + 1;
    char *word = weft_alloc(bytes);
    if (word != NULL)
        snprintf(word, bytes, "%s%s", first, second);
    take_word(command, word);
}

void wl_command_add_number(wl_command_t *command, const char *prefix, int number)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%d", number);
    wl_command_add_pair(command, prefix, digits);
}

void wl_command_release(wl_command_t *command)
{
    for (int i = 0; i < command->count; i++)
        weft_free(command->words[i]);
    weft_free(command->words);
    *command = (wl_command_t){0};
}

typedef struct watch {
    wl_loop_t loop;
    wl_child_watch_t child;
    const wl_job_plan_t *plan;
    wl_line_fn_t on_line;
    wl_foreign_end_t *end;
    pid_t pid;
    int stderr_fd;
    wl_byte_queue_t line;
    int64_t timeout_at_ms, due_at_ms, kill_at_ms, leave_at_ms;
    int forced_code; /* exit code if mpirun ends the launcher; 0: it does not */
    bool has_ended;
} watch_t;

/* ---- Start ---- */

/* The child between vfork and exec: system calls only. */
static __attribute__((noreturn)) void become_launcher(const wl_command_t *command, int err_fd,
                                                      const sigset_t *signals, volatile int *error)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(err_fd, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, signals, NULL);
    execvp(command->words[0], command->words);
    *error = errno;
    _exit(127);
}

static int foreign_spawn(const wl_command_t *command, const sigset_t *signals, watch_t *watch)
{
    int ends[2];
    volatile int error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe cannot be made: %s", strerror(errno));
    watch->pid = vfork();
    if (watch->pid == 0)
        become_launcher(command, ends[1], signals, &error);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    watch->stderr_fd = ends[0];
    if (watch->pid < 0)
        return weft_fail(MPI_ERR_SPAWN, "a process cannot be started: %s", strerror(errno));
    if (error == 0)
        return MPI_SUCCESS;
    waitpid(watch->pid, NULL, 0);
    return weft_fail(MPI_ERR_NO_SUCH_FILE, "%s cannot be started: %s", command->words[0],
                     strerror(error));
}

/* ---- The loop ---- */

static void end_launcher(watch_t *watch, int code)
{
    if (watch->forced_code != 0)
        return;
    watch->forced_code = code;
    watch->kill_at_ms = weft_clock_ms() + GRACE_MS;
    kill(watch->pid, SIGTERM);
}

static void launcher_signalled(void *owner, int number)
{
    watch_t *watch = owner;
    if (number == SIGUSR1 || number == SIGUSR2) {
        kill(watch->pid, number);
        return;
    }
    if (watch->forced_code == 0)
        fprintf(stderr, "%s: SIG%s received; ending the job\n", watch->plan->launcher,
                sigabbrev_np(number));
    end_launcher(watch, 128 + number);
}

/* Hand the whole lines to on_line. */
static void pass_lines_on(watch_t *watch)
{
    char *newline;
    wl_byte_queue_t *line = &watch->line;
    while (wl_queue_bytes(line) > 0 &&
           (newline = memchr(wl_queue_front(line), '\n', wl_queue_bytes(line))) != NULL) {
        *newline = '\0';
        watch->on_line(wl_queue_front(line), watch->end);
        if (watch->end->due_code != 0 && watch->due_at_ms == INT64_MAX)
            watch->due_at_ms = weft_clock_ms() + DUE_MS;
        wl_queue_drop(line, (size_t)(newline + 1 - wl_queue_front(line)));
    }
}

static void foreign_write_all(const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(STDERR_FILENO, data, bytes);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (written > 0) {
            data += written;
            bytes -= (size_t)written;
        }
    }
}

/* Show stderr unchanged, and cut a copy of it into lines. */
static void stderr_ready(void *owner, short ready)
{
    watch_t *watch = owner;
    char data[16384];
    (void)ready;
    ssize_t bytes;
    while ((bytes = read(watch->stderr_fd, data, sizeof(data))) > 0) {
        foreign_write_all(data, (size_t)bytes);
        wl_queue_append(&watch->line, data, (size_t)bytes);
        pass_lines_on(watch);
    }
    if (bytes == 0) {
        wl_loop_remove(&watch->loop, watch->stderr_fd);
        close(watch->stderr_fd);
        watch->stderr_fd = -1;
    }
}

static void launcher_ended(void *owner, pid_t first)
{
    watch_t *watch = owner;
    int status;
    (void)first;
    if (watch->has_ended || waitpid(watch->pid, &status, WNOHANG) != watch->pid)
        return;
    watch->has_ended = true;
    watch->leave_at_ms = weft_clock_ms() + STDERR_LINGER_MS;
    watch->end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void foreign_check_clock(watch_t *watch)
{
    int64_t now = weft_clock_ms();
    if (now >= watch->timeout_at_ms && watch->forced_code == 0) {
        fprintf(stderr, "%s: the job has not ended within %ld s; ending it\n",
                watch->plan->launcher, watch->plan->timeout_s);
        end_launcher(watch, WL_TIMEOUT_EXIT_CODE);
    }
    if (now >= watch->due_at_ms && !watch->has_ended)
        end_launcher(watch, watch->end->due_code);
    if (now >= watch->kill_at_ms && !watch->has_ended)
        kill(watch->pid, SIGKILL);
}

static int64_t launcher_wait_ms(const watch_t *watch)
{
    int64_t next = watch->has_ended ? watch->leave_at_ms : watch->kill_at_ms;
    if (!watch->has_ended && watch->forced_code == 0)
        next = watch->timeout_at_ms < watch->due_at_ms ? watch->timeout_at_ms : watch->due_at_ms;
    int64_t left = next - weft_clock_ms();
    return next == INT64_MAX ? -1 : left < 0 ? 0 : left;
}

static bool is_launcher_over(const watch_t *watch)
{
    return watch->has_ended && (watch->stderr_fd < 0 || weft_clock_ms() >= watch->leave_at_ms);
}

static void wait_for_end(watch_t *watch)
{
    while (!is_launcher_over(watch)) {
        wl_loop_turn(&watch->loop, launcher_wait_ms(watch));
        foreign_check_clock(watch);
    }
    if (watch->forced_code != 0) /* whatever the launcher has said */
        *watch->end = (wl_foreign_end_t){.exit_code = watch->forced_code};
}

static int start_launcher(watch_t *watch, const wl_command_t *command)
{
    static const int more[] = {SIGUSR1, SIGUSR2, 0};
    sigset_t old;
    sigprocmask(SIG_SETMASK, NULL, &old);
    int err = wl_loop_open_signals(&watch->loop, more, launcher_signalled, watch);
    if (err != MPI_SUCCESS)
        return err;
    wl_loop_add_child_watch(&watch->loop, &watch->child, launcher_ended, watch);
    err = foreign_spawn(command, &old, watch);
    return err == MPI_SUCCESS
               ? wl_loop_add(&watch->loop, watch->stderr_fd, POLLIN, stderr_ready, watch)
               : err;
}

int wl_foreign_run(const wl_job_plan_t *plan, const wl_command_t *command, wl_line_fn_t on_line,
                   wl_foreign_end_t *out)
{
    wl_foreign_end_t end = {0};
    watch_t watch = {.plan = plan,
                     .on_line = on_line,
                     .end = &end,
                     .stderr_fd = -1,
                     .timeout_at_ms = INT64_MAX,
                     .due_at_ms = INT64_MAX,
                     .kill_at_ms = INT64_MAX};
    if (command->has_failed)
        return weft_fail(MPI_ERR_NO_MEM, "a command line");
    wl_loop_open(&watch.loop);
    int err = start_launcher(&watch, command);
    if (err == MPI_SUCCESS) {
        if (plan->timeout_s > 0)
            watch.timeout_at_ms = weft_clock_ms() + plan->timeout_s * 1000;
        wait_for_end(&watch);
        *out = end;
    }
    if (watch.stderr_fd >= 0)
        close(watch.stderr_fd);
    wl_loop_close(&watch.loop);
    wl_queue_release(&watch.line);
    return err;
}
