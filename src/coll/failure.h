/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a failed collective: its communicator, this rank, and the ranks that are lost. */
#ifndef WEFT_COLL_FAILURE_H
#define WEFT_COLL_FAILURE_H

#include "object/request.h"

/**
 * Make the text of weft_fail, which is the cause, the full text of a failed collective of `comm`:
 *
 *   in a collective of MPI_COMM_WORLD (4 ranks), rank 0, which has lost rank 2: CAUSE
 *
 * A text that already has this form stays as it is, as it came from the rank that failed first; so
 * the function may be called again. It does nothing for MPI_ERR_TRUNCATE, which concerns one rank
 * alone.
 */
void weft_coll_explain_error(weft_comm_t *comm, int error);

/** The same for the text of a request, or, if it has none, for the general text of its error.
 *  Nothing is done without an error. */
void weft_coll_explain_failure(weft_request_t *request);

#endif
