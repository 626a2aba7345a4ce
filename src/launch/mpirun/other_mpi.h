/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a program run with an MPI library that is not Weft's? */
#ifndef WEFT_LAUNCH_MPIRUN_OTHER_MPI_H
#define WEFT_LAUNCH_MPIRUN_OTHER_MPI_H

#include "launch/plan/job_plan.h"

#include <limits.h>
#include <stdbool.h>

/**
 * Ask the dynamic loader which libraries an application's program is linked with, in the
 * environment of its ranks. Unless the program itself tells that none of them can be, starts a
 * process and waits some milliseconds for it, so it is meant for a job that has ended.
 * library_out  path of the first MPI library among them that is not Weft's
 * returns      false: there is none, or the program is not dynamically linked, or is not on this
 *              host
 */
bool wl_other_mpi_find(const wl_app_t *app, char library_out[PATH_MAX]);

#endif
