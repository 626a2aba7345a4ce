/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a job as mpirun's loop sees them: processes of its own (local_team.c), or the ranks
 * of daemons on many hosts (fleet.c).
 */
#ifndef WEFT_LAUNCH_MPIRUN_JOB_H
#define WEFT_LAUNCH_MPIRUN_JOB_H

#include "launch/plan/job_plan.h"
#include "launch/loop/event_loop.h"
#include "launch/mpirun/output_sinks.h"
#include "launch/node/rank_event.h"

#include <stdbool.h>

typedef struct wl_job wl_job_t;

typedef struct wl_job_ops {
    /* With signals blocked: prepare and start, or begin to. Errors as in wl_node_ranks_open() and
     * wl_node_ranks_start(). */
    int (*start)(wl_job_t *job);
    /* After each turn of the loop. An error ends the job before it has begun. */
    int (*after_turn)(wl_job_t *job);
    bool (*next_event)(wl_job_t *job, wl_rank_event_t *out);
    void (*signal)(wl_job_t *job, int signal_number);
    /* How many ranks have not ended, as far as we know; those yet to be started count. */
    int (*running)(const wl_job_t *job);
    /* Put what the ranks have written so far into the sinks. */
    void (*gather)(wl_job_t *job);
    /* Nobody reads that channel. */
    void (*break_output)(wl_job_t *job, int channel);
    bool (*is_output_closed)(const wl_job_t *job);
    /* End what is left and gather all output. May take seconds when hosts do not answer. */
    void (*finish)(wl_job_t *job);
    /* After start(), whatever it returned; the team ends. */
    void (*close)(wl_job_t *job);
} wl_job_ops_t;

struct wl_job {
    const wl_job_ops_t *ops;
    const wl_job_plan_t *plan;
    wl_sinks_t *sinks;
    wl_loop_t *loop;
};

/** Before the caller changes its signals. MPI_ERR_NO_MEM. */
int wl_local_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                        wl_job_t **out);
int wl_remote_job_create(const wl_job_plan_t *plan, wl_sinks_t *sinks, wl_loop_t *loop,
                         wl_job_t **out);

#endif
