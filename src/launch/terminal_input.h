/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stdin of a rank, usually 0. A file, pipe or socket is simply inherited. A terminal cannot be: that
 * rank is in a process group of its own, and the terminal stops groups in the background that read
 * from it; so we read, and pass on through a pipe, while we are in the foreground.
 */
#ifndef WEFT_LAUNCH_TERMINAL_INPUT_H
#define WEFT_LAUNCH_TERMINAL_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct weft_input {
    int pipe; /* to that rank; -1: none, or closed */
    char data[4096];
    size_t begin, end;
} weft_input_t;

/** rank_end_out: what that rank gets as stdin; 0 when it inherits ours, else to be closed after its
 *  start. MPI_ERR_SPAWN. */
int weft_input_open(weft_input_t *out, int *rank_end_out);

/** Fill in one entry, or none; returns how many. */
int weft_input_prepare_poll(const weft_input_t *input, struct pollfd *out);

/** Is this the entry that weft_input_prepare_poll() filled in? */
bool weft_input_owns(const weft_input_t *input, const struct pollfd *poll);

/** Move data after poll() has said that there are some, or room for them. */
void weft_input_advance(weft_input_t *input, const struct pollfd *poll);

void weft_input_close(weft_input_t *input);

#endif
