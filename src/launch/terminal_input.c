/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/terminal_input.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int weft_input_open(weft_input_t *out, int *rank_end_out)
{
    *out = (weft_input_t){.pipe = -1};
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
    return MPI_SUCCESS;
}

static bool is_in_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int weft_input_prepare_poll(const weft_input_t *input, struct pollfd *out)
{
    if (input->pipe < 0)
        return 0;
    if (input->begin < input->end)
        *out = (struct pollfd){.fd = input->pipe, .events = POLLOUT};
    else if (is_in_foreground())
        *out = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    else
        return 0;
    return 1;
}

bool weft_input_owns(const weft_input_t *input, const struct pollfd *poll)
{
    return input->pipe >= 0 && (poll->fd == STDIN_FILENO || poll->fd == input->pipe);
}

static void read_terminal(weft_input_t *input)
{
    ssize_t bytes = read(STDIN_FILENO, input->data, sizeof(input->data));
    if (bytes < 0 && errno == EINTR)
        return;
    if (bytes <= 0)
        weft_input_close(input);
    input->begin = 0;
    input->end = bytes > 0 ? (size_t)bytes : 0;
}

static void write_pipe(weft_input_t *input)
{
    ssize_t bytes = write(input->pipe, input->data + input->begin, input->end - input->begin);
    if (bytes > 0)
        input->begin += (size_t)bytes;
    else if (errno != EAGAIN && errno != EINTR)
        weft_input_close(input); /* that rank reads no more */
}

void weft_input_advance(weft_input_t *input, const struct pollfd *poll)
{
    if (poll->revents == 0)
        return;
    if (poll->events == POLLOUT)
        write_pipe(input);
    else
        read_terminal(input);
}

void weft_input_close(weft_input_t *input)
{
    if (input->pipe >= 0)
        close(input->pipe);
    input->pipe = -1;
}
