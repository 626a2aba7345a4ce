/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the programs of a job on the host where its ranks run. */
#ifndef WEFT_LAUNCH_PLAN_PROGRAM_SEARCH_H
#define WEFT_LAUNCH_PLAN_PROGRAM_SEARCH_H

#include "launch/plan/job_plan.h"

#include <limits.h>

/**
 * Set the path of each application that has ranks on the host with that index, as a shell would
 * find it; a program in the working directory is found too when PATH has none of its name.
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE or MPI_ERR_ACCESS for a program or directory that is
 *          not there or cannot be used; MPI_ERR_NO_MEM
 */
int wl_programs_find(wl_job_plan_t *plan, int host);

/** Look for `name` in the directories of `search` ("/usr/bin:/bin"). Returns 0 and the path, or the
 *  errno that tells the user most. */
int wl_program_path(const char *search, const char *name, char path_out[PATH_MAX]);

/** Become the program; `path` has a '/'. One that was linked a moment ago may still be open for
 * writing, and is waited for, a second at most. Makes system calls only, as a child between vfork
 * and exec must. Returns, with errno, only if it fails. */
void wl_program_execute(const char *path, char *const arguments[], char *const environment[]);

#endif
