/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the daemon's program is installed. */
#ifndef WEFT_LAUNCH_PLAN_DAEMON_PATH_H
#define WEFT_LAUNCH_PLAN_DAEMON_PATH_H

#include <limits.h>

/** The path of weftd in `prefix`/bin, or, if `prefix` is NULL, beside the running program.
 *  MPI_ERR_SPAWN. */
int wl_daemon_path(const char *prefix, char out[PATH_MAX]);

#endif
