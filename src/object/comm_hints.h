/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of communicators (MPI 5.0 section 7.4.4): those that Weft knows; all others are ignored. */
#ifndef WEFT_OBJECT_COMM_HINTS_H
#define WEFT_OBJECT_COMM_HINTS_H

#include "object/comm.h"
#include "object/info.h"

/** Take over the hints of `info` (NULL: none) that are known and have a legal value; others that
 * were set before stay in force. MPI_ERR_NO_MEM. */
int weft_comm_set_hints(weft_comm_t *comm, const weft_info_t *info);

/** The kinds of memory that Weft works with, as a value of the info key mpi_memory_alloc_kinds. */
void weft_memory_kinds(char *out, size_t bytes);

/** A new info, owned by the caller, with the value in force of each known hint. MPI_ERR_NO_MEM. */
int weft_comm_get_hints(const weft_comm_t *comm, weft_info_t **out);

#endif
