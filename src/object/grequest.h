/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalised requests (MPI 5.0 section 13.2): operations of the program, which says when they are
 * complete. Its functions are called without the lock: they may call MPI. Another thread may
 * complete and release a request while the function that cancels it runs.
 *
 *   active -- weft_grequest_complete --> complete -- query, free --> released
 *   freed while it is active: released by weft_grequest_complete
 */
#ifndef WEFT_OBJECT_GREQUEST_H
#define WEFT_OBJECT_GREQUEST_H

#include "object/request.h"

/** The functions of the program, and what it wants to be given back to them. */
typedef struct weft_grequest_args {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra_state;
} weft_grequest_args_t;

/** An active request. MPI_ERR_NO_MEM. */
int weft_grequest_create(const weft_grequest_args_t *args, weft_request_t **out);

/** Have the program fill in the status of a complete request; MPI_STATUS_IGNORE: it is dropped.
 * MPI_ERROR of *status is left alone. Returns the program's error, with a text of weft_fail. */
int weft_grequest_query(const weft_request_t *request, MPI_Status *status);

/** Have the program free what belongs to a request that is not active any more, and release it.
 * Returns the program's error, with a text of weft_fail. */
int weft_grequest_free(weft_request_t *request);

/** Query and free. Of two errors the later one is returned (section 13.2). */
int weft_grequest_collect(weft_request_t *request, MPI_Status *status);

/** Have the program cancel the operation. Returns its error, with a text of weft_fail. */
int weft_grequest_cancel(const weft_request_t *request);

/** The operation is over. Returns the program's error if this frees the request. */
int weft_grequest_complete(weft_request_t *request);

/** Free the memory of all of them. */
void weft_grequests_close(void);

#endif
