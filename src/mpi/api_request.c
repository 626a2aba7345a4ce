/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing requests: Wait, Test, Start and their forms (MPI 5.0 sections 3.7 to 3.9). */
#include "mpi/api.h"

#include "mpi/request_list.h"
#include "stream/enqueue.h"
#include "pt2pt/dense.h"
#include "pt2pt/vci_dense.h"
#include "pt2pt/pt2pt.h"
#include "object/grequest.h"
#include "object/returned_error.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "mpix.h"

/* ---- one request ---- */

/* The functions of the program decide what is reported. */
static int __attribute__((cold, noinline))
collect_generalised(weft_call_t *call, weft_request_t *request, MPI_Request *handle,
                    MPI_Status *status)
{
    int err = weft_grequest_collect(request, status);
    *handle = MPI_REQUEST_NULL;
    if (err != MPI_SUCCESS && call->comm == NULL)
        weft_call_blame(call, &weft_comm_self);
    return err;
}

/* A request that is inactive, persistent, generalised, or has failed. */
static int __attribute__((noinline)) collect_otherwise(weft_call_t *call, weft_request_t *request,
                                                       MPI_Request *handle, MPI_Status *status)
{
    if (!request->is_active) {
        weft_give_empty_status(status);
        return MPI_SUCCESS;
    }
    if (request->is_generalised)
        return collect_generalised(call, request, handle, status);
    weft_status_copy(status, &request->status);
    int err = weft_request_result(request);
    if (err != MPI_SUCCESS) {
        if (call->comm == NULL)
            weft_call_blame(call, request->comm);
        if (err == MPIX_ERR_PROC_FAILED_PENDING) /* the operation goes on */
            return err;
    }
    if (request->is_persistent) {
        request->is_active = false;
        return err;
    }
    weft_request_release(request);
    *handle = MPI_REQUEST_NULL;
    return err;
}

/* Give the result of a request to the user, and release the request, or make it inactive if it is
 * persistent; sets *handle to match. Returns the request's error; the first error of the call goes
 * to the handler of its communicator. */
static inline int __attribute__((always_inline))
collect_request(weft_call_t *call, weft_request_t *request, MPI_Request *handle, MPI_Status *status)
{
    weft_progress_let_go();
    if (__builtin_expect(!request->is_active || request->is_persistent || request->is_generalised ||
                             request->status.MPI_ERROR != MPI_SUCCESS,
                         0))
        return collect_otherwise(call, request, handle, status);
    weft_status_copy(status, &request->status);
    weft_request_release(request);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static inline void note_comm(weft_call_t *call, const weft_request_t *request)
{
    call->comm = request->comm;
}

/* Waits for an active request. True: it was that of a receive, which has ended well and given it
 * back; *status is written. */
static inline bool await_request(weft_request_t *request, MPI_Status *status)
{
    if (!weft_request_is_complete(request) && weft_recv_end(request, status))
        return true;
    weft_request_wait(request);
    return false;
}

/* Any request. Not inline: what it needs to keep costs nothing where a slot has the message. */
static __attribute__((noinline)) int wait_for(MPI_Request *handle, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Wait");
    weft_request_t *request = NULL;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request_or_null(*handle, &request);
    if (err == MPI_SUCCESS && request == NULL)
        weft_give_empty_status(status);
    if (request != NULL) {
        if (request->is_active && await_request(request, status))
            *handle = MPI_REQUEST_NULL;
        else
            err = collect_request(&call, request, handle, status);
    }
    return weft_call_end(&call, err);
}

/** Waits until the operation of a request is complete (section 3.7.3). The request is then freed,
 *  and *request becomes MPI_REQUEST_NULL; a persistent or partitioned request stays, and is
 *  inactive. For MPI_REQUEST_NULL and for inactive requests the call returns at once with an empty
 *  status: source MPI_ANY_SOURCE, tag MPI_ANY_TAG, length 0.
 *  @param[in,out] request  of any kind: point-to-point, collective, partitioned, generalised
 *  @param[out] status  describes the message of a receive (MPI_ERROR is not touched, except in an
 *      empty status); of a send only MPI_Test_cancelled means anything; or MPI_STATUS_IGNORE
 *  @error MPI_ERR_TRUNCATE  the message of a receive was longer than its buffer
 *  @error MPI_ERR_OTHER  the operation has failed, for example because the other process was lost
 *  @note An error of the operation goes to the error handler of its communicator, and the request
 *      is freed all the same. Errors of query_fn and free_fn of a generalised request are returned
 *      as they are.
 *  @see MPI_Test, MPI_Waitall, MPI_Waitany, MPI_Waitsome */
WEFT_API(MPI_Wait);
int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    if (__builtin_expect(weft_world.is_plain && handle != NULL, 1)) {
        weft_request_t *request = weft_request_of(*handle);
        if (request != NULL && weft_recv_end(request, status)) {
            *handle = MPI_REQUEST_NULL;
            return MPI_SUCCESS;
        }
    }
    if (weft_vcis_are_used() && handle != NULL && weft_vci_wait(1, handle, status) > 0)
        return MPI_SUCCESS;
    return wait_for(handle, status);
}

/* False: the long way is to be gone, which yields where cores are short. */
static bool test_by_vci(MPI_Request *handle, int *flag, MPI_Status *status)
{
    if (weft_progress_is_short())
        return false;
    weft_vci_look_t seen = weft_vci_test(handle, status);
    *flag = seen == WEFT_VCI_OVER;
    return seen != WEFT_VCI_NEEDS_ALL;
}

/** Looks whether the operation of a request is complete, and does not wait (section 3.7.3). If it
 *  is, the call does what MPI_Wait does; if not, request and status stay as they are. Each call
 *  lets Weft make progress.
 *  @copydoc MPI_Wait
 *  @param[out] flag  true: the operation is complete, or there is none (MPI_REQUEST_NULL, an
 *      inactive request)
 *  @see MPI_Wait, MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Request_get_status */
WEFT_API(MPI_Test);
int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    if (__builtin_expect(weft_world.is_plain && handle != NULL && flag != NULL, 1)) {
        weft_request_t *there = weft_request_of(*handle);
        if (there != NULL && weft_recv_try(there, status)) {
            *handle = MPI_REQUEST_NULL;
            *flag = 1;
            return MPI_SUCCESS;
        }
    }
    if (weft_vcis_are_used() && handle != NULL && flag != NULL && test_by_vci(handle, flag, status))
        return MPI_SUCCESS;
    weft_call_t call = weft_call_begin("MPI_Test");
    weft_request_t *request = NULL;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        err = weft_check_request_or_null(*handle, &request);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    if (request != NULL && !weft_request_is_over(request))
        weft_progress_test_for(&request->is_complete);
    *flag = request == NULL || weft_request_is_over(request);
    if (request == NULL) {
        weft_give_empty_status(status);
    } else if (*flag) {
        err = collect_request(&call, request, handle, status);
    }
    return weft_call_end(&call, err);
}

/* ---- many requests ---- */

/* Also sets MPI_ERROR, as only calls with several statuses do. */
static inline int collect_one_of_many(weft_call_t *call, weft_request_t *request,
                                      MPI_Request *handle, MPI_Status *status)
{
    bool is_first = call->comm == NULL; /* that fails, if it does */
    int err = MPI_SUCCESS;
    if (request == NULL)
        weft_give_empty_status(status);
    else
        err = collect_request(call, request, handle, status);
    weft_status_note_error(status, err);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        weft_returned_error_note_status(err, call->name, is_first);
    return err;
}

/* All requests are over: collect them. One that failed makes the whole call fail. */
static int collect_all(weft_call_t *call, int count, MPI_Request handles[], MPI_Status statuses[])
{
    int failed = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (collect_one_of_many(call, request, &handles[i], weft_status_at(statuses, i)) !=
            MPI_SUCCESS)
            failed = MPI_ERR_IN_STATUS;
    }
    return failed;
}

/** Waits until the operations of all requests are complete, and does with each what MPI_Wait does
 *  (section 3.7.5). Entries may be MPI_REQUEST_NULL or inactive.
 *  @param[in] count  the length of both arrays; 0 is allowed
 *  @param[out] array_of_statuses  [count], or MPI_STATUSES_IGNORE; MPI_ERROR of each is set
 *  @error MPI_ERR_IN_STATUS  some operations have failed: MPI_ERROR of each status says how that
 *      one ended. All have been waited for.
 *  @see MPI_Wait, MPI_Testall */
WEFT_API(MPI_Waitall);
int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    int done = weft_vcis_are_used() ? weft_wait_by_vcis(count, handles, statuses) : 0;
    weft_call_t call = weft_call_begin("MPI_Waitall");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    if (__builtin_expect(weft_progress_is_short(), 0) && done < count)
        weft_await_first_of_many(count - done, &handles[done]);
    int failed = MPI_SUCCESS;
    for (int i = done; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        MPI_Status *status = weft_status_at(statuses, i);
        if (request != NULL && request->is_active && await_request(request, status)) {
            weft_status_note_error(status, MPI_SUCCESS);
            handles[i] = MPI_REQUEST_NULL;
        } else if (collect_one_of_many(&call, request, &handles[i], status) != MPI_SUCCESS) {
            failed = MPI_ERR_IN_STATUS;
        }
    }
    return weft_call_end(&call, failed);
}

/** Looks whether the operations of all requests are complete, and does not wait (section 3.7.5). If
 *  they are, the call does what MPI_Waitall does; if not, no request and no status is changed.
 *  @copydoc MPI_Waitall
 *  @param[out] flag  true: all are complete, or there was nothing to wait for
 *  @see MPI_Waitall, MPI_Test */
WEFT_API(MPI_Testall);
int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Testall");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    if (!weft_are_all_over(count, handles))
        weft_progress_test();
    *flag = weft_are_all_over(count, handles);
    if (*flag)
        err = collect_all(&call, count, handles, statuses);
    return weft_call_end(&call, err);
}

static int collect_any(weft_call_t *call, MPI_Request *handle, MPI_Status *status)
{
    return collect_request(call, weft_request_of(*handle), handle, status);
}

/** Waits until one of the operations is complete, and does with its request what MPI_Wait does
 *  (section 3.7.5). Entries that are MPI_REQUEST_NULL or inactive are passed over.
 *  @param[out] status  that of this operation, as of MPI_Wait, or MPI_STATUS_IGNORE
 *  @param[in] count  the length of array_of_requests
 *  @param[out] indx  which one it is, counted from 0; MPI_UNDEFINED if no request is active: status
 *      is then empty
 *  @error MPI_ERR_TRUNCATE  the message of a receive was longer than its buffer
 *  @error MPI_ERR_OTHER  the operation has failed, for example because the other process was lost
 *  @note Of several that are complete Weft takes the first in the array. A loop that is to serve
 *      all alike calls MPI_Waitsome.
 *  @see MPI_Testany, MPI_Waitsome */
WEFT_API(MPI_Waitany);
int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Waitany");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(index, "index");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    int found;
    while ((found = weft_find_complete(count, handles, &any_active)) == MPI_UNDEFINED && any_active)
        weft_await_any(count, handles);
    *index = found;
    if (found == MPI_UNDEFINED)
        weft_give_empty_status(status);
    else
        err = collect_any(&call, &handles[found], status);
    return weft_call_end(&call, err);
}

/** Looks whether one of the operations is complete, and does not wait (section 3.7.5). If one is,
 *  the call does what MPI_Waitany does.
 *  @copydoc MPI_Waitany
 *  @param[out] indx  which one it is, counted from 0; else MPI_UNDEFINED
 *  @param[out] flag  true: one is complete, or no request is active (indx is MPI_UNDEFINED then,
 *      and status empty)
 *  @see MPI_Waitany, MPI_Testsome */
WEFT_API(MPI_Testany);
int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Testany");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(index, "index");
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    *index = weft_find_complete(count, handles, &any_active);
    if (*index == MPI_UNDEFINED && any_active) {
        weft_progress_test();
        *index = weft_find_complete(count, handles, &any_active);
    }
    *flag = *index != MPI_UNDEFINED || !any_active;
    if (*index != MPI_UNDEFINED)
        err = collect_any(&call, &handles[*index], status);
    else if (*flag)
        weft_give_empty_status(status);
    return weft_call_end(&call, err);
}

static int collect_some(weft_call_t *call, const weft_some_t *some)
{
    int failed = MPI_SUCCESS;
    *some->outcount = 0;
    for (int i = 0; i < some->count; i++) {
        weft_request_t *request = weft_request_of(some->handles[i]);
        if (request == NULL || !request->is_active || !weft_request_is_complete(request))
            continue;
        int at = (*some->outcount)++;
        some->indices[at] = i;
        if (collect_one_of_many(call, request, &some->handles[i],
                                weft_status_at(some->statuses, at)) != MPI_SUCCESS)
            failed = MPI_ERR_IN_STATUS;
    }
    return failed;
}

/** Waits until at least one of the operations is complete, and does with the requests of all that
 *  are what MPI_Wait does (section 3.7.5).
 *  @param[in] incount  the length of the arrays; 0 is allowed
 *  @param[out] outcount  how many are complete; MPI_UNDEFINED if no request is active
 *  @param[out] array_of_indices  [incount], of which the first outcount are written: their places
 *      in array_of_requests, counted from 0
 *  @param[out] array_of_statuses  [incount], of which the first outcount are written, MPI_ERROR
 *      too; or MPI_STATUSES_IGNORE
 *  @error MPI_ERR_IN_STATUS  some of these operations have failed: MPI_ERROR of each status says
 *      how that one ended
 *  @see MPI_Testsome, MPI_Waitany */
WEFT_API(MPI_Waitsome);
int PMPI_Waitsome(int incount, MPI_Request handles[], int *outcount, int indices[],
                  MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Waitsome");
    weft_some_t some = {incount, handles, outcount, indices, statuses};
    int err = weft_check_some(&some);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    while (weft_find_complete(incount, handles, &any_active) == MPI_UNDEFINED && any_active)
        weft_await_any(incount, handles);
    if (any_active)
        err = collect_some(&call, &some);
    else
        *outcount = MPI_UNDEFINED;
    return weft_call_end(&call, err);
}

/** Looks which of the operations are complete, and does not wait (section 3.7.5). With their
 *  requests the call does what MPI_Wait does.
 *  @copydoc MPI_Waitsome
 *  @param[out] outcount  how many are complete, maybe 0; MPI_UNDEFINED if no request is active
 *  @see MPI_Waitsome, MPI_Testany */
WEFT_API(MPI_Testsome);
int PMPI_Testsome(int incount, MPI_Request handles[], int *outcount, int indices[],
                  MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Testsome");
    weft_some_t some = {incount, handles, outcount, indices, statuses};
    int err = weft_check_some(&some);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    bool any_active;
    if (weft_find_complete(incount, handles, &any_active) == MPI_UNDEFINED && any_active)
        weft_progress_test();
    if (any_active)
        err = collect_some(&call, &some);
    else
        *outcount = MPI_UNDEFINED;
    return weft_call_end(&call, err);
}

/* ---- starting, freeing, cancelling ---- */

static int start_request(weft_call_t *call, weft_request_t *request)
{
    note_comm(call, request);
    if (!request->is_persistent)
        return weft_fail(MPI_ERR_REQUEST, "request is not persistent: it has been started already");
    if (request->is_active)
        return weft_fail(MPI_ERR_REQUEST,
                         "request is active: it must be completed before it is started "
                         "again");
    int err = request->comm != NULL ? weft_check_revoked(request->comm) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = request->ops->start(request);
    if (err == MPI_SUCCESS)
        weft_request_follow(request);
    else /* there is no operation to wait for */
        request->is_active = false;
    return err;
}

/** Starts the operation of a persistent or partitioned request (section 3.9). From then on the
 *  request is active, and the rules of its nonblocking form hold, until MPI_Wait or MPI_Test
 *  completes it; then it can be started again. The start of a partitioned send sends nothing:
 *  MPI_Pready does.
 *  @param[in,out] request  made by an _init function, and inactive
 *  @error MPI_ERR_REQUEST  the request is not persistent, or it is active
 *  @error MPI_ERR_BUFFER  of MPI_Bsend_init: there is no room in the attached buffer
 *  @see MPI_Startall, MPI_Send_init, MPI_Recv_init, MPI_Psend_init */
WEFT_API(MPI_Start);
int PMPI_Start(MPI_Request *handle)
{
    weft_call_t call = weft_call_begin("MPI_Start");
    weft_request_t *request;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request(*handle, &request);
    if (err == MPI_SUCCESS)
        err = start_request(&call, request);
    return weft_call_end(&call, err);
}

/** Starts several persistent or partitioned requests, in the order of the array (section 3.9).
 *  @param[in] count  the length of array_of_requests; 0 is allowed
 *  @param[in,out] array_of_requests  [count], all made by _init functions, and inactive
 *  @error MPI_ERR_REQUEST  a request is not persistent, or it is active
 *  @error MPI_ERR_BUFFER  of MPI_Bsend_init: there is no room in the attached buffer
 *  @note If one of them cannot be started, those before it have been, and those behind it have not.
 *  @see MPI_Start */
WEFT_API(MPI_Startall);
int PMPI_Startall(int count, MPI_Request handles[])
{
    weft_call_t call = weft_call_begin("MPI_Startall");
    weft_request_t *request;
    int err = weft_check_count(count, "count");
    if (err == MPI_SUCCESS && count > 0)
        err = weft_check_output(handles, "array_of_requests");
    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        err = weft_check_request_at(handles, i, "array_of_requests", &request);
        if (err == MPI_SUCCESS)
            err = start_request(&call, request);
    }
    return weft_call_end(&call, err);
}

/** Gives a request up, without waiting for it (section 3.7.3). An operation that is under way goes
 *  on, and Weft frees the request when it is complete; the program has to find out in another way
 *  when it may use the buffer. This is also how a persistent request is freed. The active request
 *  of a collective must not be freed.
 *  @param[in,out] request  of any kind, active or not; becomes MPI_REQUEST_NULL
 *  @note If the message of a send that was given up is never received, MPI_Finalize says so. Other
 *      errors of the operation may go unreported.
 *  @note free_fn of a generalised request is called as soon as its operation is complete: by this
 *      call, or by MPI_Grequest_complete. That call returns its error.
 *  @see MPI_Wait, MPI_Send_init */
WEFT_API(MPI_Request_free);
int PMPI_Request_free(MPI_Request *handle)
{
    weft_call_t call = weft_call_begin("MPI_Request_free");
    weft_request_t *request = NULL;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request(*handle, &request);
    if (err == MPI_SUCCESS) {
        if (!weft_request_is_over(request))
            weft_request_detach(request);
        else if (request->is_generalised)
            err = weft_grequest_free(request);
        else
            weft_request_release(request);
        *handle = MPI_REQUEST_NULL;
    }
    return weft_call_end(&call, err);
}

/** Tries to cancel an operation, and returns at once (section 3.8.4). The request has to be
 *  completed all the same, and MPI_Test_cancelled tells from its status whether the operation was
 *  cancelled or has taken place.
 *  @param[in,out] request  an active request, or a persistent one; it stays valid
 *  @note Weft cancels receives that no message has matched yet, and sends whose message no receive
 *      has matched yet; MPI_Wait may then wait until the receiver is in MPI. For MPI_Isendrecv,
 *      partitioned communication, enqueued operations and collectives the call has no effect. For a
 *      generalised request it calls cancel_fn, and returns its error.
 *  @see MPI_Test_cancelled */
WEFT_API(MPI_Cancel);
int PMPI_Cancel(MPI_Request *handle)
{
    weft_call_t call = weft_call_begin("MPI_Cancel");
    weft_request_t *request = NULL;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request(*handle, &request);
    if (err == MPI_SUCCESS && request->is_generalised)
        err = weft_grequest_cancel(request);
    else if (err == MPI_SUCCESS && request->is_active)
        request->ops->cancel(request);
    return weft_call_end(&call, err);
}

/* ---- in the order of a stream ---- */

/* Errors go to the communicator of the first request. */
static int wait_enqueued(weft_call_t *call, int count, MPI_Request handles[], MPI_Status *statuses)
{
    weft_enqueue_wait_t args = {
        .name = call->name, .count = count, .handles = handles, .statuses = statuses};
    int err = weft_enqueue_wait(&args);
    call->comm = args.comm;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        handles[i] = MPI_REQUEST_NULL;
    return err;
}

/** Makes a CUDA stream wait for the operation of a request, and returns at once (mpix.h). What is
 *  put into the stream later runs when the operation is complete. *request becomes
 *  MPI_REQUEST_NULL.
 *  @param[in,out] request  of MPIX_Isend_enqueue, MPIX_Iallreduce_enqueue or the like, or
 *      MPI_REQUEST_NULL: the call does nothing
 *  @param[out] status  written when the stream comes to the wait, MPI_ERROR too, and must stay
 *      until then; or MPI_STATUS_IGNORE
 *  @error MPI_ERR_REQUEST  the request is of another function, or was made in another capture of
 *      the stream
 *  @see MPIX_Isend_enqueue, MPIX_Irecv_enqueue, MPIX_Waitall_enqueue */
WEFT_API(MPIX_Wait_enqueue);
int PMPIX_Wait_enqueue(MPI_Request *handle, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPIX_Wait_enqueue");
    weft_request_t *request;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request_or_null(*handle, &request);
    if (err == MPI_SUCCESS)
        err = wait_enqueued(&call, 1, handle, status);
    return weft_call_end(&call, err);
}

/** Makes a CUDA stream wait for the operations of several requests, and returns at once (mpix.h).
 *  The entries of array_of_requests become MPI_REQUEST_NULL.
 *  @param[in] count  the length of both arrays; 0 is allowed
 *  @param[in,out] array_of_requests  [count], of MPIX_Isend_enqueue, MPIX_Iallreduce_enqueue and
 *      the like on one stream; entries may be MPI_REQUEST_NULL
 *  @param[out] array_of_statuses  [count], written when the stream comes to the wait, MPI_ERROR
 *      too, and must stay until then; or MPI_STATUSES_IGNORE
 *  @error MPI_ERR_REQUEST  a request is of another function, of another stream than the others, or
 *      was made in another capture of the stream
 *  @see MPIX_Wait_enqueue */
WEFT_API(MPIX_Waitall_enqueue);
int PMPIX_Waitall_enqueue(int count, MPI_Request handles[], MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPIX_Waitall_enqueue");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = wait_enqueued(&call, count, handles, statuses);
    return weft_call_end(&call, err);
}
