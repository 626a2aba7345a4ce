/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPS of the job's own on this host (--mps). Without it the processes that share an NVIDIA GPU
 * take turns on it; the clients of one MPS, NVIDIA's Multi-Process Service, run side by side. Its
 * control daemon, nvidia-cuda-mps-control, keeps its sockets and logs in the scratch directory, so
 * nobody but the ranks of this job finds it. It leaves our process group, session and parent, and
 * ends when it is told to: by mpirun or the node daemon, or by the watchdog after these.
 *
 *   choose -> (the watchdog is opened) -> start -> await -> the ranks -> quit -> close
 */
#ifndef WEFT_LAUNCH_NODE_MPS_CONTROL_H
#define WEFT_LAUNCH_NODE_MPS_CONTROL_H

#include "launch/node/scratch.h"
#include "launch/plan/job_plan.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct wl_mps {
    char program[PATH_MAX];   /* the control program; empty: this host starts no MPS */
    char pipe[112], log[112]; /* folders: of its sockets, of its logs */
    pid_t starting, quitting; /* the program at work on that; 0: it is not */
    bool is_running;
    char missing[192]; /* why the job runs without; empty: it does not, or was not asked to */
} wl_mps_t;

/** Decide whether the host with that index is to have one: it is wanted, several ranks are there,
 *  the user has none that runs already, and the program is found. Starts nothing. */
void wl_mps_choose(const wl_job_plan_t *plan, int host, const wl_scratch_t *scratch, wl_mps_t *out);

/** Begin to start it, when the scratch directory is there. There may be one thread only. */
void wl_mps_start(wl_mps_t *mps);

/** Wait until it runs, or is found not to, some seconds at most. */
void wl_mps_await(wl_mps_t *mps);

/** Variables by which a rank finds it; none if it does not run. MPI_ERR_NO_MEM. */
int wl_mps_extend_environment(const wl_mps_t *mps, wl_variables_t *environment);

/** Begin to end it, when the ranks have been killed. Does nothing if it does not run. */
void wl_mps_quit(wl_mps_t *mps);

/** Wait for its end, and force it after some seconds. */
void wl_mps_close(wl_mps_t *mps);

/** For the watchdog, which does not know how far its parent has come: end it if there is one. */
void wl_mps_end_orphan(wl_mps_t *mps);

#endif
