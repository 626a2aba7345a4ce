/* SPDX-License-Identifier: BSD-3-Clause */
/* Run a job from its start to its end. */
#ifndef WEFT_LAUNCH_MPIRUN_JOB_RUN_H
#define WEFT_LAUNCH_MPIRUN_JOB_RUN_H

#include "launch/plan/job_plan.h"

/**
 * Start all ranks of a completed plan and wait for their end. After it nothing of the job is left.
 * exit_code_out  what mpirun returns: 0, the exit code of the rank that failed first, 128 + n after
 *                signal n to mpirun, or 1 when only the output could not be written
 * returns        MPI_SUCCESS; when the job could not be started, an error of wl_ranks_start() or
 *                wl_pmix_server_open()
 */
int wl_job_run(const wl_job_plan_t *plan, int *exit_code_out);

#endif
