/* SPDX-License-Identifier: BSD-3-Clause */
/* Run a job from its start to its end. */
#ifndef WEFT_LAUNCH_MPIRUN_JOB_RUN_H
#define WEFT_LAUNCH_MPIRUN_JOB_RUN_H

#include "launch/mpirun/rank_ends.h"
#include "launch/plan/job_plan.h"

/** How a job has ended. */
typedef struct wl_job_outcome {
    /* What mpirun returns: 0, the exit code of the rank that failed first, 128 + n after signal n
     * to mpirun, or 1 when only the output could not be written; of a job that survives losses
     * that of wl_rank_ends_exit_code(). */
    int exit_code;
    int restarts;         /* ranks that were started again one by one */
    bool has_rank_failed; /* the failure of a rank has ended it, and nothing else has */
    wl_rank_ends_t ends;  /* to be released */
} wl_job_outcome_t;

/**
 * Start all ranks of a completed plan and wait for their end. After it nothing of the job is left.
 * The process is left as it was found (signals, limits), so that the next job can be run.
 * out      to be released by wl_rank_ends_release(&out->ends) in any case
 * returns        MPI_SUCCESS; when the job could not be started, an error of wl_ranks_start() or
 *                wl_pmix_server_open()
 */
int wl_job_run(const wl_job_plan_t *plan, wl_job_outcome_t *out);

#endif
