/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/request_list.h"

#include "pt2pt/vci_dense.h"
#include "object/status.h"
#include "runtime/progress.h"

void weft_give_empty_status(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE)
        *status = weft_status_empty();
}

int weft_check_requests(int count, const MPI_Request handles[], const char *name)
{
    int err = weft_check_count(count, "count");
    if (err == MPI_SUCCESS && count > 0)
        err = weft_check_output(handles, name);
    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (__builtin_expect(request == NULL && handles[i] != MPI_REQUEST_NULL, 0))
            err = weft_check_request_at(handles, i, name, &request);
    }
    return err;
}

int weft_wait_by_vcis(int count, MPI_Request handles[], MPI_Status statuses[])
{
    int done = handles == NULL ? 0 : weft_vci_wait(count, handles, statuses);
    for (int i = 0; i < done; i++)
        weft_status_note_error(weft_status_at(statuses, i), MPI_SUCCESS);
    return done;
}

bool weft_are_all_over(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        const weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL && !weft_request_is_over(request))
            return false;
    }
    return true;
}

void weft_await_first_of_many(int count, const MPI_Request handles[])
{
    const weft_request_t *first = NULL;
    for (int i = 0; i < count; i++) {
        const weft_request_t *request = weft_request_of(handles[i]);
        if (request == NULL || weft_request_is_over(request))
            continue;
        if (first != NULL) {
            weft_progress_until_all(&first->is_complete);
            return;
        }
        first = request;
    }
}

int weft_find_complete(int count, const MPI_Request handles[], bool *any_active_out)
{
    *any_active_out = false;
    for (int i = 0; i < count; i++) {
        const weft_request_t *request = weft_request_of(handles[i]);
        if (request == NULL || !request->is_active)
            continue;
        *any_active_out = true;
        if (weft_request_is_complete(request))
            return i;
    }
    return MPI_UNDEFINED;
}

/* Called when an active request completes, while weft_await_any waits for any of them. */
static void note_any(weft_request_t *request, void *is_any)
{
    (void)request;
    *(bool *)is_any = true;
}

static void watch_all(int count, const MPI_Request handles[], bool *is_any)
{
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL && request->is_active)
            weft_request_watch(request, note_any, is_any);
    }
}

static void unwatch_all(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (request != NULL)
            weft_request_unwatch(request);
    }
}

/* A round that no wait makes takes in all that is there, so that the next calls find more. */
static bool makes_any_complete(int count, const MPI_Request handles[])
{
    bool any_active;
    weft_progress();
    return weft_find_complete(count, handles, &any_active) != MPI_UNDEFINED;
}

void weft_await_any(int count, const MPI_Request handles[])
{
    bool is_any = false;
    if (makes_any_complete(count, handles))
        return;
    watch_all(count, handles, &is_any);
    weft_progress_until(&is_any);
    unwatch_all(count, handles);
    weft_progress();
}

int weft_check_some(const weft_some_t *some)
{
    int err = weft_check_requests(some->count, some->handles, "array_of_requests");
    if (err == MPI_SUCCESS)
        err = weft_check_output(some->outcount, "outcount");
    if (err == MPI_SUCCESS && some->count > 0)
        err = weft_check_output(some->indices, "array_of_indices");
    return err;
}
