/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stdin of a rank, usually rank 0. A file, pipe or socket is simply inherited. A terminal cannot
 * be: the rank is in a process group of its own, and the terminal stops groups in the background
 * that read from it. So mpirun reads, while it is in the foreground, and passes the data on through
 * a pipe.
 */
#ifndef WEFT_LAUNCH_MPIRUN_TERMINAL_INPUT_H
#define WEFT_LAUNCH_MPIRUN_TERMINAL_INPUT_H

#include "launch/loop/event_loop.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wl_terminal_input {
    wl_loop_t *loop;
    int pipe; /* to that rank; -1: none, or closed */
    char data[4096];
    size_t begin, end;
} wl_terminal_input_t;

/**
 * rank_end_out: what that rank gets as stdin; 0 when it inherits mpirun's, else to be closed after
 * its start. The loop moves the data; the address of `out` may not change. MPI_ERR_SPAWN,
 * MPI_ERR_NO_MEM.
 */
int wl_terminal_input_open(wl_loop_t *loop, wl_terminal_input_t *out, int *rank_end_out);

/** Look whether mpirun is in the foreground; to be called now and then, as a shell does not tell.
 */
void wl_terminal_input_look(wl_terminal_input_t *input);

void wl_terminal_input_close(wl_terminal_input_t *input);

#endif
