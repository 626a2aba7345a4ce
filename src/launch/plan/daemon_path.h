/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the daemon's program lies. */
#ifndef WEFT_LAUNCH_PLAN_DAEMON_PATH_H
#define WEFT_LAUNCH_PLAN_DAEMON_PATH_H

#include <limits.h>

/** In `prefix`/bin; with NULL beside the program that runs. MPI_ERR_SPAWN. */
int wl_daemon_path(const char *prefix, char out[PATH_MAX]);

#endif
