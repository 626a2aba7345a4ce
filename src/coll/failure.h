/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a failed collective: its communicator, this rank, and the ranks that are lost. */
#ifndef WEFT_COLL_FAILURE_H
#define WEFT_COLL_FAILURE_H

#include "object/request.h"

/**
 * Give the request of a failed collective its full text:
 *
 *   in a collective of MPI_COMM_WORLD (4 ranks), rank 0, which has lost rank 2: CAUSE
 *
 * The cause is the text that the request has, or the general text of its error. A text that already
 * has this form stays as it is, as it came from the rank that failed first; so the function may be
 * called again. It does nothing without an error, or for MPI_ERR_TRUNCATE, which concerns one rank
 * alone.
 */
void weft_coll_explain_failure(weft_request_t *request);

#endif
