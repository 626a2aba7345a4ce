/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of a call (counts, displacements, types). They belong to the program until the call is
 * over (MPI 5.0 section 6.12), but well-known programs free them as soon as a nonblocking call has
 * returned, and other libraries let them. So a task has copies.
 */
#ifndef WEFT_DEVCOLL_CALL_ARRAYS_H
#define WEFT_DEVCOLL_CALL_ARRAYS_H

#include "devcoll/regions.h"

/**
 * Have `args` point to copies of those arrays that `sides` uses.
 * out      the memory of the copies, to be given to weft_free(); NULL: there are none
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM with a text
 */
int wefti_call_arrays_copy(const weft_regions_t sides[WEFT_SIDES], weft_coll_args_t *args,
                           void **out);

#endif
