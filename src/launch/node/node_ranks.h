/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a job on this host, and what surrounds them: scratch directory, watchdog, PMIx
 * server, processes, output. mpirun has one when all ranks are on its host; a daemon has one too.
 */
#ifndef WEFT_LAUNCH_NODE_NODE_RANKS_H
#define WEFT_LAUNCH_NODE_NODE_RANKS_H

#include "launch/plan/job_plan.h"
#include "launch/loop/event_loop.h"
#include "launch/node/rank_event.h"
#include "launch/node/rank_output.h"
#include "launch/node/rank_process.h"
#include "launch/node/scratch.h"
#include "launch/node/watchdog.h"

#include <sched.h>

typedef struct weft_crew {
    wl_loop_t *loop;
    wl_child_watch_t children;
    const weft_job_plan_t *plan;
    const weft_placed_host_t *ours;
    int host; /* our index in the placement */
    weft_scratch_t scratch;
    weft_watchdog_t watchdog;
    weft_ranks_t ranks;
    weft_output_t output;
    int *ended; /* [count] indices of ranks whose end is to be told, from next_ended to ended_count
                 */
    int next_ended, ended_count;
    int host_fd;
    bool is_oversubscribed; /* on a host of several, ranks outnumber the cores */
    cpu_set_t cores; /* that we may use */
} weft_crew_t;

/**
 * Prepare for the host with that index: all but the processes. To be called before the caller
 * changes its signals or has threads; `out` is to be closed in any case, and its address may not
 * change.
 * returns  MPI_SUCCESS; or an error class as in weft_scratch_create(), weft_watchdog_open(),
 *          weft_host_open()
 */
int weft_crew_prepare(const weft_job_plan_t *plan, int host, weft_output_target_t target,
                      wl_loop_t *loop, weft_crew_t *out);

/** Second part, with the caller's signals blocked: from now on there is something to clean up. */
int weft_crew_open(weft_crew_t *crew);

/** Start the processes; the rank that has mpirun's input, if it is here, gets `in` as its stdin,
 * others nothing. As weft_ranks_start(), weft_rank_files_open(). */
int weft_crew_start(weft_crew_t *crew, int in);

/** The next event, to be asked for after each turn of the loop; a rank's output and its
 * MPI_Finalize come before its end. Never blocks. */
bool weft_crew_next_event(weft_crew_t *crew, weft_rank_event_t *out);

/** Kill what is left and gather the output. */
void weft_crew_finish(weft_crew_t *crew);

/** Remove all traces. */
void weft_crew_close(weft_crew_t *crew);

#endif
