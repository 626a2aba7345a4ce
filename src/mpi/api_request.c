/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing requests: Wait, Test, Start and their forms (MPI 5.0 sections 3.7 to 3.9). */
#include "mpi/api.h"

#include "mpi/request_list.h"
#include "stream/enqueue.h"
#include "pt2pt/pt2pt.h"
#include "object/grequest.h"
#include "runtime/progress.h"
#include "base/fail.h"

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

/* Give the result of a request to the user, and release the request, or make it inactive if it is
 * persistent; sets *handle to match. Returns the request's error; the first error of the call goes
 * to the handler of its communicator. */
static inline int collect_request(weft_call_t *call, weft_request_t *request, MPI_Request *handle,
                                  MPI_Status *status)
{
    if (__builtin_expect(!request->is_active, 0)) {
        weft_give_empty_status(status);
        return MPI_SUCCESS;
    }
    if (__builtin_expect(request->is_generalised, 0))
        return collect_generalised(call, request, handle, status);
    weft_status_copy(status, &request->status);
    int err = weft_request_result(request);
    if (__builtin_expect(err != MPI_SUCCESS, 0) && call->comm == NULL)
        weft_call_blame(call, request->comm);
    if (request->is_persistent) {
        request->is_active = false;
        return err;
    }
    weft_request_release(request);
    *handle = MPI_REQUEST_NULL;
    return err;
}

static inline void note_comm(weft_call_t *call, const weft_request_t *request)
{
    call->comm = request->comm;
}

WEFT_API(MPI_Wait);
int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Wait");
    weft_request_t *request = NULL;
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_request_or_null(*handle, &request);
    if (err == MPI_SUCCESS && request == NULL)
        weft_give_empty_status(status);
    if (request != NULL) {
        if (request->is_active)
            weft_request_wait(request);
        err = collect_request(&call, request, handle, status);
    }
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Test);
int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
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
        weft_progress_test();
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
static int collect_one_of_many(weft_call_t *call, weft_request_t *request, MPI_Request *handle,
                               MPI_Status *status)
{
    int err = MPI_SUCCESS;
    if (request == NULL)
        weft_give_empty_status(status);
    else
        err = collect_request(call, request, handle, status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = err;
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

WEFT_API(MPI_Waitall);
int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    weft_call_t call = weft_call_begin("MPI_Waitall");
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL && request->is_active)
            weft_request_wait(request);
    }
    return weft_call_end(&call, collect_all(&call, count, handles, statuses));
}

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

/* Called when an active request completes, while await_any waits for any of them. */
static void note_any(weft_request_t *request, void *is_any)
{
    (void)request;
    *(bool *)is_any = true;
}

static void await_any(int count, const MPI_Request handles[])
{
    bool is_any = false;
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL && request->is_active)
            weft_request_watch(request, note_any, &is_any);
    }
    weft_progress_until(&is_any);
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL)
            weft_request_unwatch(request);
    }
}

static int collect_any(weft_call_t *call, MPI_Request *handle, MPI_Status *status)
{
    return collect_request(call, weft_request_of(*handle), handle, status);
}

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
        await_any(count, handles);
    *index = found;
    if (found == MPI_UNDEFINED)
        weft_give_empty_status(status);
    else
        err = collect_any(&call, &handles[found], status);
    return weft_call_end(&call, err);
}

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
        if (request == NULL || !request->is_active || !request->is_complete)
            continue;
        int at = (*some->outcount)++;
        some->indices[at] = i;
        if (collect_one_of_many(call, request, &some->handles[i],
                                weft_status_at(some->statuses, at)) != MPI_SUCCESS)
            failed = MPI_ERR_IN_STATUS;
    }
    return failed;
}

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
        await_any(incount, handles);
    if (any_active)
        err = collect_some(&call, &some);
    else
        *outcount = MPI_UNDEFINED;
    return weft_call_end(&call, err);
}

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

static int start_request(weft_call_t *call, MPI_Request handle)
{
    weft_request_t *request;
    int err = weft_check_request(handle, &request);
    if (err != MPI_SUCCESS)
        return err;
    note_comm(call, request);
    if (!request->is_persistent)
        return weft_fail(MPI_ERR_REQUEST, "request is not persistent: it has been started already");
    if (request->is_active)
        return weft_fail(MPI_ERR_REQUEST,
                         "request is active: it must be completed before it is started "
                         "again");
    err = request->ops->start(request);
    if (err != MPI_SUCCESS) /* there is no operation to wait for */
        request->is_active = false;
    return err;
}

WEFT_API(MPI_Start);
int PMPI_Start(MPI_Request *handle)
{
    weft_call_t call = weft_call_begin("MPI_Start");
    int err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = start_request(&call, *handle);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Startall);
int PMPI_Startall(int count, MPI_Request handles[])
{
    weft_call_t call = weft_call_begin("MPI_Startall");
    int err = weft_check_count(count, "count");
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        err = start_request(&call, handles[i]);
    return weft_call_end(&call, err);
}

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
            request->is_detached = true;
        else if (request->is_generalised)
            err = weft_grequest_free(request);
        else
            weft_request_release(request);
        *handle = MPI_REQUEST_NULL;
    }
    return weft_call_end(&call, err);
}

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
static int wait_enqueued(const char *name, int count, MPI_Request handles[], MPI_Status *statuses)
{
    weft_call_t call = weft_call_begin(name);
    weft_enqueue_wait_t args = {
        .name = name, .count = count, .handles = handles, .statuses = statuses};
    int err = weft_check_requests(count, handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_enqueue_wait(&args);
    call.comm = args.comm;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        handles[i] = MPI_REQUEST_NULL;
    return weft_call_end(&call, err);
}

WEFT_API(MPIX_Wait_enqueue);
int PMPIX_Wait_enqueue(MPI_Request *handle, MPI_Status *status)
{
    if (handle != NULL)
        return wait_enqueued("MPIX_Wait_enqueue", 1, handle, status);
    weft_call_t call = weft_call_begin("MPIX_Wait_enqueue");
    return weft_call_end(&call, weft_bad_output("request"));
}

WEFT_API(MPIX_Waitall_enqueue);
int PMPIX_Waitall_enqueue(int count, MPI_Request handles[], MPI_Status statuses[])
{
    return wait_enqueued("MPIX_Waitall_enqueue", count, handles, statuses);
}
