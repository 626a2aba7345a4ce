/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective that has failed says: in which communicator, on which rank, and who is lost. */
#ifndef WEFT_COLL_FAILURE_H
#define WEFT_COLL_FAILURE_H

#include "object/request.h"

/**
 * Give the request of a collective that has failed its full text:
 *
 *   in a collective of MPI_COMM_WORLD (4 ranks), rank 0, which has lost rank 2: CAUSE
 *
 * The cause is the text that the request has, or the one that its error comes to. A text of this
 * form stays as it is: it came from the rank that failed first. So the function may be called
 * again. It does nothing without an error, and for MPI_ERR_TRUNCATE, which concerns one rank alone.
 */
void weft_coll_explain_failure(weft_request_t *request);

#endif
