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

typedef struct weft_team weft_team_t;

typedef struct weft_team_ops {
    /* With signals blocked: prepare and start, or begin to. Errors as in weft_crew_open() and
     * weft_crew_start(). */
    int (*start)(weft_team_t *team);
    /* After each turn of the loop. An error ends the job before it has begun. */
    int (*after_turn)(weft_team_t *team);
    bool (*next_event)(weft_team_t *team, weft_rank_event_t *out);
    void (*signal)(weft_team_t *team, int signal_number);
    /* How many ranks have not ended, as far as we know; those yet to be started count. */
    int (*running)(const weft_team_t *team);
    /* Put what the ranks have written so far into the sinks. */
    void (*gather)(weft_team_t *team);
    /* Nobody reads that channel. */
    void (*break_output)(weft_team_t *team, int channel);
    bool (*is_output_closed)(const weft_team_t *team);
    /* End what is left and gather all output. May take seconds when hosts do not answer. */
    void (*finish)(weft_team_t *team);
    /* After start(), whatever it returned; the team ends. */
    void (*close)(weft_team_t *team);
} weft_team_ops_t;

struct weft_team {
    const weft_team_ops_t *ops;
    const weft_job_plan_t *plan;
    weft_sinks_t *sinks;
    wl_loop_t *loop;
};

/** Before the caller changes its signals. MPI_ERR_NO_MEM. */
int weft_local_team_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, wl_loop_t *loop,
                           weft_team_t **out);
int weft_fleet_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, wl_loop_t *loop,
                      weft_team_t **out);

#endif
