/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at requests without completing them (MPI 5.0 section 3.7.6): nothing is freed, and
 * persistent requests stay active. */
#include "mpi/api.h"

#include "mpi/request_list.h"
#include "object/grequest.h"
#include "object/returned_error.h"
#include "runtime/progress.h"

/* Returns the error of a function of the program. An operation that has failed says so to the call
 * that completes it. */
static int show_status(const weft_request_t *request, MPI_Status *status)
{
    if (request == NULL || !request->is_active) {
        weft_give_empty_status(status);
        return MPI_SUCCESS;
    }
    if (request->is_generalised)
        return weft_grequest_query(request, status);
    weft_status_copy(status, &request->status);
    return MPI_SUCCESS;
}

/** Looks whether the operation of a request is complete, as MPI_Test does, but leaves the request
 *  as it is (section 3.7.6). So it can be asked again, and must still be completed by MPI_Wait or
 *  MPI_Test.
 *  @param[in] request  of any kind; MPI_REQUEST_NULL and inactive requests count as complete, and
 *      give an empty status
 *  @param[out] status  written if flag is true; or MPI_STATUS_IGNORE
 *  @note An operation that has failed is complete; the call that completes the request returns its
 *      error. For a generalised request query_fn is called, and its error returned.
 *  @see MPI_Test, MPI_Request_get_status_all */
WEFT_API(MPI_Request_get_status);
int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Request_get_status");
    weft_request_t *request = NULL;
    int err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        err = weft_check_request_or_null(handle, &request);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    if (request != NULL && !weft_request_is_over(request))
        weft_progress_test();
    *flag = request == NULL || weft_request_is_over(request);
    if (*flag)
        err = show_status(request, status);
    return weft_call_end(&call, err);
}

/* ---- many: as Testall, Testany and Testsome, but nothing is freed (MPI 4.1) ---- */

/* MPI_ERROR is set as by the calls that complete several requests. `failed` is what the call will
 * return so far; the result what it will return now. */
static int show_one_of_many(const weft_call_t *call, int failed, const weft_request_t *request,
                            MPI_Status *status)
{
    int err = show_status(request, status);
    if (err == MPI_SUCCESS)
        return failed;
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = err;
    weft_returned_error_note_status(err, call->name, failed == MPI_SUCCESS);
    return MPI_ERR_IN_STATUS;
}

/** Looks whether the operations of all requests are complete, as MPI_Testall does, but leaves the
 *  requests as they are (section 3.7.6).
 *  @param[in] count  the length of both arrays; 0 is allowed
 *  @param[in] array_of_requests  [count]; entries may be MPI_REQUEST_NULL or inactive
 *  @param[out] flag  true: all are complete, or there was nothing to look at
 *  @param[out] array_of_statuses  [count], written if flag is true; or MPI_STATUSES_IGNORE
 *  @error MPI_ERR_IN_STATUS  query_fn of a generalised request returned an error, which is in
 *      MPI_ERROR of its status
 *  @see MPI_Request_get_status, MPI_Testall */
WEFT_API(MPI_Request_get_status_all);
int PMPI_Request_get_status_all(int count, const MPI_Request handles[], int *flag,
                                MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Request_get_status_all");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    if (!weft_are_all_over(count, handles))
        weft_progress_test();
    *flag = weft_are_all_over(count, handles);
    for (int i = 0; *flag && i < count; i++)
        err =
            show_one_of_many(&call, err, weft_request_of(handles[i]), weft_status_at(statuses, i));
    return weft_call_end(&call, err);
}

/** Looks whether one of the operations is complete, as MPI_Testany does, but leaves its request as
 *  it is (section 3.7.6). So the next call finds the same one again: the program has to complete
 *  it.
 *  @param[in] count  the length of array_of_requests; 0 is allowed
 *  @param[in] array_of_requests  [count]; entries may be MPI_REQUEST_NULL or inactive
 *  @param[out] indx  which one it is, counted from 0; else MPI_UNDEFINED
 *  @param[out] flag  true: one is complete, or no request is active (indx is MPI_UNDEFINED then,
 *      and status empty)
 *  @param[out] status  written if flag is true; or MPI_STATUS_IGNORE
 *  @see MPI_Request_get_status, MPI_Testany */
WEFT_API(MPI_Request_get_status_any);
int PMPI_Request_get_status_any(int count, const MPI_Request handles[], int *index, int *flag,
                                MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Request_get_status_any");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(index, "index");
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    weft_progress_test();
    *index = weft_find_complete(count, handles, &any_active);
    *flag = *index != MPI_UNDEFINED || !any_active;
    if (*flag)
        err =
            show_status(*index == MPI_UNDEFINED ? NULL : weft_request_of(handles[*index]), status);
    return weft_call_end(&call, err);
}

/** Looks which of the operations are complete, as MPI_Testsome does, but leaves the requests as
 *  they are (section 3.7.6).
 *  @param[in] incount  the length of the arrays; 0 is allowed
 *  @param[in] array_of_requests  [incount]; entries may be MPI_REQUEST_NULL or inactive
 *  @param[out] outcount  how many are complete, maybe 0; MPI_UNDEFINED if no request is active
 *  @param[out] array_of_indices  [incount], of which the first outcount are written: their places
 *      in array_of_requests, counted from 0
 *  @param[out] array_of_statuses  [incount], of which the first outcount are written; or
 *      MPI_STATUSES_IGNORE
 *  @error MPI_ERR_IN_STATUS  query_fn of a generalised request returned an error, which is in
 *      MPI_ERROR of its status
 *  @see MPI_Request_get_status, MPI_Testsome */
WEFT_API(MPI_Request_get_status_some);
int PMPI_Request_get_status_some(int incount, const MPI_Request handles[], int *outcount,
                                 int indices[], MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Request_get_status_some");
    int err = weft_check_some(
        &(weft_some_t){incount, (MPI_Request *)handles, outcount, indices, statuses});
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    weft_progress_test();
    weft_find_complete(incount, handles, &any_active);
    *outcount = any_active ? 0 : MPI_UNDEFINED;
    for (int i = 0; any_active && i < incount; i++) {
        const weft_request_t *request = weft_request_of(handles[i]);
        if (request == NULL || !request->is_active || !weft_request_is_complete(request))
            continue;
        indices[*outcount] = i;
        err = show_one_of_many(&call, err, request, weft_status_at(statuses, (*outcount)++));
    }
    return weft_call_end(&call, err);
}
