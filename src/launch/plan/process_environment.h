/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a process to be started: an owned, NULL-terminated list of NAME=VALUE. */
#ifndef WEFT_LAUNCH_PLAN_PROCESS_ENVIRONMENT_H
#define WEFT_LAUNCH_PLAN_PROCESS_ENVIRONMENT_H

#include <stdbool.h>

/** [count] entries and a NULL, each from the heap, so that PMIx may replace them and the list. */
typedef struct weft_variables {
    char **entries;
    int count, capacity;
} weft_variables_t;

/** The value of `name`, or NULL; lives as long as the entry. */
const char *weft_variables_get(const weft_variables_t *variables, const char *name);

/** Set or replace. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
int weft_variables_set(weft_variables_t *variables, const char *name, const char *value);
int weft_variables_set_number(weft_variables_t *variables, const char *name, long value);

/** Append a deep copy of `from` to `to`; names that `to` has are replaced. */
int weft_variables_merge(weft_variables_t *to, const weft_variables_t *from);

/** Count again, after somebody else has extended entries. */
void weft_variables_recount(weft_variables_t *variables);

void weft_variables_release(weft_variables_t *variables);

/**
 * What ranks inherit: this process's environment without what other launchers say about this
 * process (PMIx, PMI, the Slurm step, an outer mpirun); ours is said later.
 */
int weft_variables_inherit(weft_variables_t *out);

/** This process's environment as it is; or of it only what its launcher has put there.
 *  MPI_ERR_NO_MEM. */
int weft_variables_copy_own(weft_variables_t *out, bool of_launcher_only);

/** Take away what is true of this host or session only: HOSTNAME, SSH_CONNECTION and the like. */
void weft_variables_forget_host(weft_variables_t *variables);

/** Add what this process's own environment says of these names. MPI_ERR_NO_MEM. */
int weft_variables_add_host(weft_variables_t *variables);

/** Take the names that weft_variables_inherit() leaves out from this process's own environment,
 * lest our PMIx server takes itself for a client. Before there are threads. */
void weft_environment_forget_launchers(void);

#endif
