/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process sets (MPI 5.0 section 11.3.2) of which this process is a member: "mpi://WORLD",
 * "mpi://SELF", and those that the launcher knows. A set of the launcher whose name is no URI gets
 * the scheme "pmix".
 */
#ifndef WEFT_MPI_PROCESS_SETS_H
#define WEFT_MPI_PROCESS_SETS_H

#include "object/session.h"

/** How many there are; those of the launcher are asked for when first needed. */
int weft_process_sets_count(void);

/** The name of a set, numbered from 0; owned by the library. Numbers and names never change. */
const char *weft_process_set_name(int number);

/** Its number; -1: there is no such set. The scheme of a name and what follows up to the next slash
 * are compared without regard to case, as those of a URI are. */
int weft_process_set_find(const char *name);

/** How many processes are in it. */
int weft_process_set_size(int number);

/** The lowest rank in MPI_COMM_WORLD of its members. */
int weft_process_set_first(int number);

/** Its group, derived from `session`. MPI_ERR_NO_MEM. */
int weft_process_set_group(int number, weft_session_t *session, weft_group_t **out);

#endif
