/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls about requests share: those that complete them and those that only look. */
#ifndef WEFT_MPI_REQUEST_LIST_H
#define WEFT_MPI_REQUEST_LIST_H

#include "mpi/check.h"
#include "object/request.h"

static inline bool weft_request_is_over(const weft_request_t *request)
{
    return weft_request_is_complete(request) || !request->is_active;
}

/** Give the empty status, unless it is MPI_STATUS_IGNORE. */
void weft_give_empty_status(MPI_Status *status);

/** NULL for MPI_REQUEST_NULL, which all calls that complete requests accept. */
static inline int weft_check_request_or_null(MPI_Request handle, weft_request_t **out)
{
    *out = NULL;
    return handle == MPI_REQUEST_NULL ? MPI_SUCCESS : weft_check_request(handle, out);
}

/** `name` is what messages call the array. */
int weft_check_requests(int count, const MPI_Request handles[], const char *name);

/** Wait for the first requests, as far as the locks of VCIs are enough (pt2pt/vci_dense.h), and set
 *  their statuses, with MPI_ERROR; how many. `handles` may be NULL. */
int weft_wait_by_vcis(int count, MPI_Request handles[], MPI_Status statuses[]);

/** If several are under way, and ranks take turns on cores, wait for the first: as that begins with
 * a yield (weft_progress_until_all), halos by messages of 8 bytes take 3.2 us instead of 4.1 with
 * four ranks on two cores of a Zen 4. */
void weft_await_first_of_many(int count, const MPI_Request handles[]);

bool weft_are_all_over(int count, const MPI_Request handles[]);

/** The first request that is active and complete; MPI_UNDEFINED: none. Are any active, complete or
 * not? */
int weft_find_complete(int count, const MPI_Request handles[], bool *any_active_out);

/** Wait until one of those that are active is complete, of which there are some. What else is there
 * by then is taken in. */
void weft_await_any(int count, const MPI_Request handles[]);

/** The arguments of Waitsome, Testsome and Request_get_status_some. */
typedef struct weft_some {
    int count;
    MPI_Request *handles;
    int *outcount, *indices;
    MPI_Status *statuses;
} weft_some_t;

int weft_check_some(const weft_some_t *some);

#endif
