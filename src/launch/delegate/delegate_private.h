/* SPDX-License-Identifier: BSD-3-Clause */
/* Between handover.c and its two ways. */
#ifndef WEFT_LAUNCH_DELEGATE_DELEGATE_PRIVATE_H
#define WEFT_LAUNCH_DELEGATE_DELEGATE_PRIVATE_H

#include "launch/delegate/foreign_launcher.h"
#include "launch/delegate/delegate.h"

/** Are we in a Slurm allocation, and not a task of one of its steps? */
bool wefti_slurm_is_here(void);

int wefti_slurm_run(const weft_job_plan_t *plan, char *const *words, int *exit_code_out);
int wefti_prrte_run(const weft_job_plan_t *plan, char *const *words, int *exit_code_out);

/** Make a host file with a line a rank, which programs that we start find under path_out.
 * MPI_ERR_IO. */
int wefti_handover_write_hosts(const weft_placement_t *placement, char path_out[64]);

/** Append what becomes a rank on its host: `weftd as-rank` with our command line. MPI_ERR_SPAWN.
 */
int wefti_handover_add_rank(const weft_job_plan_t *plan, char *const *words, weft_command_t *out);

#endif
