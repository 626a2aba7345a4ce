/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun takes over from torchrun: its options, and the variables that its ranks get. */
#ifndef WEFT_LAUNCH_PLAN_TORCH_OPTIONS_H
#define WEFT_LAUNCH_PLAN_TORCH_OPTIONS_H

#include "launch/plan/job_plan.h"

#include <stdbool.h>

/** When all options are read: decide counts, and which programs Python starts. MPI_ERR_ARG for
 *  options that do not fit together; MPI_ERR_NO_MEM. */
int wl_torch_settle(wl_job_plan_t *plan);

/** Does this mpirun start the ranks of one node of several, each of which has its own mpirun? */
bool wl_torch_is_one_of_nodes(const wl_job_plan_t *plan);

/** The number of a rank of this mpirun among those of all nodes, by which the user knows it, and
 *  how many ranks all nodes have. */
int wl_torch_world_rank(const wl_job_plan_t *plan, int rank);
int wl_torch_world_size(const wl_job_plan_t *plan);

/** Add the variables of torchrun that are alike for all ranks of an application. MPI_ERR_NO_MEM. */
int wl_torch_add_variables(const wl_job_plan_t *plan, wl_variables_t *environment);

#endif
