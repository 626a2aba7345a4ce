/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalised requests (MPI 5.0 section 13.2). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "object/grequest.h"
#include "base/fail.h"

static int check_function(bool is_there, const char *name)
{
    return is_there ? MPI_SUCCESS
                    : weft_fail(MPI_ERR_ARG, "%s is NULL, but is a function to be called", name);
}

/** Makes a request for an operation that the program itself carries out, a generalised request
 *  (section 13.2). It is active at once, and complete when the program calls MPI_Grequest_complete.
 *  MPI_Wait, MPI_Test and the other calls treat it like any request. The three functions return an
 *  error code, and may call MPI.
 *  @param[in] query_fn  query_fn(extra_state, status) fills in the status of the complete
 *      operation, by MPI_Status_set_elements and MPI_Status_set_cancelled; called by the call that
 *      completes the request, and by MPI_Request_get_status
 *  @param[in] free_fn  free_fn(extra_state) frees what belongs to the operation; called once,
 *      behind query_fn, or when a request that was given up by MPI_Request_free is complete
 *  @param[in] cancel_fn  cancel_fn(extra_state, complete) is called by MPI_Cancel; complete tells
 *      whether the operation is over already
 *  @error MPI_ERR_ARG  one of the functions is NULL
 *  @see MPI_Grequest_complete, MPI_Status_set_elements */
WEFT_API(MPI_Grequest_start);
int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                        MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Grequest_start");
    weft_grequest_args_t args = {query_fn, free_fn, cancel_fn, extra_state};
    weft_request_t *made;
    int err = check_function(query_fn != NULL, "query_fn");
    if (err == MPI_SUCCESS)
        err = check_function(free_fn != NULL, "free_fn");
    if (err == MPI_SUCCESS)
        err = check_function(cancel_fn != NULL, "cancel_fn");
    if (err == MPI_SUCCESS)
        err = weft_check_output(request, "request");
    if (err == MPI_SUCCESS)
        err = weft_grequest_create(&args, &made);
    if (err == MPI_SUCCESS)
        *request = weft_give_request(call.name, made);
    return weft_call_end(&call, err);
}

static int check_incomplete(const weft_request_t *request)
{
    if (!request->is_generalised)
        return weft_fail(MPI_ERR_REQUEST, "request is of a %s, but must be of MPI_Grequest_start",
                         request->ops->name);
    return request->is_complete ? weft_fail(MPI_ERR_REQUEST, "request is complete already")
                                : MPI_SUCCESS;
}

/** Says that the operation of a generalised request is complete (section 13.2). It wakes what waits
 *  for the request; if the request was given up by MPI_Request_free, this call frees it, and
 *  returns what free_fn returns.
 *  @param[in] request  of MPI_Grequest_start
 *  @error MPI_ERR_REQUEST  the request is not of MPI_Grequest_start, or is complete already
 *  @see MPI_Grequest_start */
WEFT_API(MPI_Grequest_complete);
int PMPI_Grequest_complete(MPI_Request handle)
{
    weft_call_t call = weft_call_begin("MPI_Grequest_complete");
    weft_request_t *request;
    int err = weft_check_request(handle, &request);
    if (err == MPI_SUCCESS)
        err = check_incomplete(request);
    if (err == MPI_SUCCESS)
        err = weft_grequest_complete(request);
    return weft_call_end(&call, err);
}
