/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a job on this host and all that they need: scratch directory, watchdog, MPS, PMIx
 * server, processes, output. mpirun has one of these when all ranks are on its host; each daemon
 * has one.
 */
#ifndef WEFT_LAUNCH_NODE_NODE_RANKS_H
#define WEFT_LAUNCH_NODE_NODE_RANKS_H

#include "base/cpu.h"
#include "launch/loop/event_loop.h"
#include "launch/node/mps_control.h"
#include "launch/node/pmix_server.h"
#include "launch/node/rank_event.h"
#include "launch/node/rank_notes.h"
#include "launch/node/rank_output.h"
#include "launch/node/rank_process.h"
#include "launch/node/scratch.h"
#include "launch/node/watchdog.h"
#include "launch/plan/job_plan.h"

typedef struct wl_node_ranks {
    wl_loop_t *loop;
    wl_child_watch_t children;
    const wl_job_plan_t *plan;
    const wl_placed_host_t *ours;
    int host; /* our index in the placement */
    wl_scratch_t scratch;
    wl_watchdog_t watchdog;
    wl_mps_t mps;
    wl_pmix_server_t pmix;
    wl_rank_notes_t notes;
    wl_ranks_t ranks;
    wl_output_t output;
    int *ended; /* [count] indices of ranks whose end was seen; those from next_ended to ended_count
                 * are to be told */
    int next_ended, ended_count;
    int *restarts;          /* [count] how often each was started again */
    bool is_oversubscribed; /* the job has several hosts, and on one of them ranks outnumber the
                             * cores */
    weft_cpus_t cores;      /* that this process may use */
} wl_node_ranks_t;

/**
 * Prepare all but the processes for the host with that index. To be called before the caller
 * changes its signals or has threads. `out` is to be closed in any case, and its address may not
 * change.
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int wl_node_ranks_prepare(const wl_job_plan_t *plan, int host, wl_output_target_t target,
                          wl_loop_t *loop, wl_node_ranks_t *out);

/** Second part, to be called with the caller's signals blocked: make what wl_node_ranks_close() has
 *  to clean up. Errors of wl_scratch_make(), wl_pmix_server_open(), wl_pmix_server_await(),
 *  wl_watchdog_open(), wl_rank_notes_open(). */
int wl_node_ranks_open(wl_node_ranks_t *node);

/** Start the processes. The rank that has mpirun's input, if it is on this host, gets `in` as its
 *  stdin; the others get /dev/null. Errors of wl_ranks_start(), wl_rank_files_open(). */
int wl_node_ranks_start(wl_node_ranks_t *node, int in);

/** Start a rank of this host again, which was lost: wl_node_ranks_lose(). Its stdin is /dev/null.
 *  Errors of wl_node_ranks_start(). */
int wl_node_ranks_restart(wl_node_ranks_t *node, int rank);

/** The next event, to be asked for after each turn of the loop. A rank's output and its notes (that
 * it has called MPI_Finalize, or aborts) come before its end. Never blocks. */
bool wl_node_ranks_next_event(wl_node_ranks_t *node, wl_rank_event_t *out);

/** A rank of the job, on this host or another, is lost and the job goes on: end what the rank has
 *  left running, and tell the PMIx server. */
void wl_node_ranks_lose(wl_node_ranks_t *node, int rank);

/** Kill what is left and gather the output. */
void wl_node_ranks_finish(wl_node_ranks_t *node);

/** Release all, and remove the scratch directory and the shared segments. */
void wl_node_ranks_close(wl_node_ranks_t *node);

#endif
