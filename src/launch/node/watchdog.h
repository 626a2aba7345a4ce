/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small process in a session of its own that outlives mpirun by a moment: when mpirun dies
 * without saying good-bye (kill -9), it kills the ranks' process groups, ends their MPS and removes
 * the scratch directory.
 *
 *   mpirun --- pipe: process groups as they start, then 0 ---> watchdog
 *          \-- end of file without a 0: mpirun is dead
 */
#ifndef WEFT_LAUNCH_NODE_WATCHDOG_H
#define WEFT_LAUNCH_NODE_WATCHDOG_H

#include "launch/node/mps_control.h"
#include "launch/node/scratch.h"

#include <sys/types.h>

typedef struct wl_watchdog {
    pid_t pid;
    int pipe;
} wl_watchdog_t;

/** Start it, before the directory is made and the MPS that was chosen is started. To be called
 *  while there is one thread, with the signals blocked that mpirun handles. Returns MPI_SUCCESS or
 *  MPI_ERR_SPAWN. */
int wl_watchdog_open(const wl_scratch_t *scratch, const wl_mps_t *mps, wl_watchdog_t *out);

/** Have it watch over a process group. */
void wl_watchdog_add(const wl_watchdog_t *watchdog, pid_t group);

/** mpirun has cleaned up itself: have the watchdog end. */
void wl_watchdog_end(wl_watchdog_t *watchdog);

/** Wait for the watchdog, which has been told to end. */
void wl_watchdog_close(wl_watchdog_t *watchdog);

#endif
