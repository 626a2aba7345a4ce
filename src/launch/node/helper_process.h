/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that mpirun and the daemons start for themselves, by fork alone. */
#ifndef WEFT_LAUNCH_NODE_HELPER_PROCESS_H
#define WEFT_LAUNCH_NODE_HELPER_PROCESS_H

#include <stdbool.h>

enum { WL_HELPER_FD = 3 };

/**
 * In the new process: take a name, and close all files that were inherited but `fd`, which becomes
 * WL_HELPER_FD. A reader of mpirun's output, or a process that waits for the end of a pipe, would
 * otherwise wait for this process too.
 * keeps_stderr  stderr stays, for messages
 */
void wl_helper_become(const char *name, int fd, bool keeps_stderr);

#endif
