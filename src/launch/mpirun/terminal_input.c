/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/mpirun/terminal_input.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool is_in_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Wait for room in the pipe while there are data, and else for data. */
void wl_terminal_input_look(wl_terminal_input_t *input)
{
    bool has_data = input->begin < input->end;
    if (input->pipe < 0)
        return;
    wl_loop_set(input->loop, input->pipe, has_data ? POLLOUT : 0);
    wl_loop_set(input->loop, STDIN_FILENO, !has_data && is_in_foreground() ? POLLIN : 0);
}

static void terminal_ready(void *owner, short ready)
{
    wl_terminal_input_t *input = owner;
    ssize_t bytes = read(STDIN_FILENO, input->data, sizeof(input->data));
    (void)ready;
    if (bytes < 0 && errno == EINTR)
        return;
    input->begin = 0;
    input->end = bytes > 0 ? (size_t)bytes : 0;
    if (bytes <= 0)
        wl_terminal_input_close(input);
    wl_terminal_input_look(input);
}

static void input_pipe_ready(void *owner, short ready)
{
    wl_terminal_input_t *input = owner;
    ssize_t bytes = write(input->pipe, input->data + input->begin, input->end - input->begin);
    (void)ready;
    if (bytes > 0)
        input->begin += (size_t)bytes;
    else if (errno != EAGAIN && errno != EINTR)
        wl_terminal_input_close(input); /* the rank has closed its stdin */
    wl_terminal_input_look(input);
}

static int watch_files(wl_terminal_input_t *input)
{
    int err = wl_loop_add(input->loop, STDIN_FILENO, 0, terminal_ready, input);
    if (err == MPI_SUCCESS)
        err = wl_loop_add(input->loop, input->pipe, 0, input_pipe_ready, input);
    return err;
}

int wl_terminal_input_open(wl_loop_t *loop, wl_terminal_input_t *out, int *rank_end_out)
{
    *out = (wl_terminal_input_t){.loop = loop, .pipe = -1};
    int ends[2];
    if (isatty(STDIN_FILENO) != 1) {
        *rank_end_out = STDIN_FILENO;
        return MPI_SUCCESS;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe for the input of a rank cannot be made: %s",
                         strerror(errno));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    out->pipe = ends[1];
    *rank_end_out = ends[0];
    int err = watch_files(out);
    wl_terminal_input_look(out);
    return err;
}

void wl_terminal_input_close(wl_terminal_input_t *input)
{
    if (input->pipe < 0)
        return;
    wl_loop_remove(input->loop, STDIN_FILENO);
    wl_loop_remove(input->loop, input->pipe);
    close(input->pipe);
    input->pipe = -1;
}
