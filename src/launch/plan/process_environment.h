/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a process to be started: an owned, NULL-terminated list of NAME=VALUE. */
#ifndef WEFT_LAUNCH_PLAN_PROCESS_ENVIRONMENT_H
#define WEFT_LAUNCH_PLAN_PROCESS_ENVIRONMENT_H

#include <stdbool.h>

/** [count] entries and a NULL, each from the heap, so that PMIx may replace them and the list. */
typedef struct wl_variables {
    char **entries;
    int count, capacity;
} wl_variables_t;

/** The value of `name`, or NULL; lives as long as the entry. */
const char *wl_variables_get(const wl_variables_t *variables, const char *name);

/** Set or replace. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
int wl_variables_set(wl_variables_t *variables, const char *name, const char *value);
int wl_variables_set_number(wl_variables_t *variables, const char *name, long value);

/** Append a deep copy of `from` to `to`; names that `to` has are replaced. */
int wl_variables_merge(wl_variables_t *to, const wl_variables_t *from);

/** Count again, after PMIx has extended entries. */
void wl_variables_recount(wl_variables_t *variables);

void wl_variables_release(wl_variables_t *variables);

/**
 * What ranks inherit: this process's environment without the variables in which another launcher
 * describes this process (PMIx, PMI, the Slurm step, an outer mpirun). Those of this job are added
 * later.
 */
int wl_variables_inherit(wl_variables_t *out);

/** A copy of this process's environment; of_launcher_only: of those variables only that its
 * launcher has set. MPI_ERR_NO_MEM. */
int wl_variables_copy_own(wl_variables_t *out, bool of_launcher_only);

/** Remove what is true of this host or session only: HOSTNAME, SSH_CONNECTION and the like. */
void wl_variables_forget_host(wl_variables_t *variables);

/** Add this process's own values of those names. MPI_ERR_NO_MEM. */
int wl_variables_add_host(wl_variables_t *variables);

/** Remove the variables that wl_variables_inherit() leaves out from this process's own environment;
 *  with them the PMIx server would take itself for a client. Before there are threads. */
void wl_environment_forget_launchers(void);

#endif
