/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as job_run.c sees it: all ranks are processes of mpirun (local_job.c), or the ranks of
 * daemons on other hosts (remote_job.c). */
#ifndef WEFT_LAUNCH_MPIRUN_JOB_H
#define WEFT_LAUNCH_MPIRUN_JOB_H

#include "launch/loop/event_loop.h"
#include "launch/mpirun/output_sinks.h"
#include "launch/node/rank_event.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>

typedef struct wl_job wl_job_t;

typedef struct wl_job_ops {
    /* Prepare and start the ranks, or begin to; signals are blocked. Errors of wl_node_ranks_open()
     * and wl_node_ranks_start(). */
    int (*start)(wl_job_t *job);
    /* Called right before each turn of the loop, when output has been flushed as far as possible:
     * what is read depends on the room that there is now. An error means that the job could not be
     * started. */
    int (*before_turn)(wl_job_t *job);
    bool (*next_event)(wl_job_t *job, wl_rank_event_t *out);
    void (*signal)(wl_job_t *job, int signal_number);
    /* A rank is lost and the job goes on: nothing may wait for it, and what it has started ends. */
    void (*forget)(wl_job_t *job, int rank);
    /* Start a rank again that was forgotten (plan->replaces_lost). An error: it could not be. */
    int (*restart)(wl_job_t *job, int rank);
    /* End the ranks of the host with that index. */
    void (*end_host)(wl_job_t *job, int host);
    /* How many ranks have not ended, as far as is known; those yet to be started count. */
    int (*running)(const wl_job_t *job);
    /* Put what the ranks have written so far into the sinks. */
    void (*gather)(wl_job_t *job);
    /* The reader of mpirun's channel is gone: tell the ranks, unless they have ended. */
    void (*break_output)(wl_job_t *job, int channel);
    bool (*is_output_closed)(const wl_job_t *job);
    /* End what is left and gather all output. May take seconds when hosts do not answer. */
    void (*finish)(wl_job_t *job);
    /* Called after start(), whatever that returned; releases the job. */
    void (*close)(wl_job_t *job);
} wl_job_ops_t;

struct wl_job {
    const wl_job_ops_t *ops;
    const wl_job_plan_t *plan;
    wl_sinks_t *sinks;
    wl_loop_t *loop;
};

/** Tell the user that the host with that index, and so many others, could not start the MPS that
 *  the job wants. */
void wl_job_note_missing_mps(const wl_job_t *job, int host, const char *reason, int others);

/** To be called before the caller changes its signals. MPI_ERR_NO_MEM. */
int wl_local_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                        wl_job_t **out);
int wl_remote_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                         wl_job_t **out);

#endif
