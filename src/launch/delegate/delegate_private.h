/* SPDX-License-Identifier: BSD-3-Clause */
/* Between delegate.c and its two launchers. */
#ifndef WEFT_LAUNCH_DELEGATE_DELEGATE_PRIVATE_H
#define WEFT_LAUNCH_DELEGATE_DELEGATE_PRIVATE_H

#include "launch/delegate/delegate.h"
#include "launch/delegate/foreign_launcher.h"

/** Is this process in a Slurm allocation, and not a task of one of its steps? */
bool wli_slurm_is_here(void);

int wli_slurm_run(const wl_job_plan_t *plan, char *const *words, int *exit_code_out);
int wli_prrte_run(const wl_job_plan_t *plan, char *const *words, int *exit_code_out);

/** Make a host file with a line per rank; processes that this one starts find it under path_out.
 *  MPI_ERR_IO. */
int wli_delegate_write_hosts(const wl_placement_t *placement, char path_out[64]);

/** Append the command that becomes a rank on its host: `weftd as-rank` with mpirun's command line.
 *  MPI_ERR_SPAWN. */
int wli_delegate_add_rank(const wl_job_plan_t *plan, char *const *words, wl_command_t *out);

#endif
