/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/manifest/command_output.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"
#include "launch/loop/byte_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PIECE = 1 << 16 };

static bool start_command(const char *const words[], int out, pid_t *pid_out)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(pid_out, words[0], &files, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&files);
    return error == 0;
}

/* Read to the end; false: that has not come in time, or there is no memory. */
static bool read_output(int fd, wl_byte_queue_t *out, bool *is_late_out)
{
    int64_t until_ms = weft_clock_ms() + (int64_t)weft_config.TIMEOUT * 1000;
    for (;;) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        int64_t left_ms = until_ms - weft_clock_ms();
        char *room = wl_queue_room(out, PIECE);
        *is_late_out = left_ms <= 0;
        if (room == NULL || *is_late_out)
            return false;
        if (poll(&readable, 1, (int)left_ms) <= 0)
            continue;
        ssize_t bytes = read(fd, room, PIECE);
        if (bytes > 0)
            out->end += (size_t)bytes;
        else if (bytes == 0 || errno != EINTR)
            return bytes == 0;
    }
}

static bool has_ended_well(pid_t pid, bool is_read)
{
    int status = 1;
    if (!is_read)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return is_read && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

char *wl_command_output(const char *launcher, const char *const words[])
{
    int ends[2];
    pid_t pid;
    bool is_late = false;
    wl_byte_queue_t output = {0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    bool is_started = start_command(words, ends[1], &pid);
    close(ends[1]);
    bool is_good = is_started && has_ended_well(pid, read_output(ends[0], &output, &is_late)) &&
                   wl_queue_append(&output, "", 1);
    close(ends[0]);
    if (is_late)
        fprintf(stderr,
                "%s: note: %s has not answered within %d s (WEFT_TIMEOUT); its part of the "
                "manifest is null\n",
                launcher, words[0], weft_config.TIMEOUT);
    char *text = is_good ? weft_strdup(wl_queue_front(&output)) : NULL;
    wl_queue_release(&output);
    return text;
}
