/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/request.h"

#include "object/comm.h"
#include "runtime/vci.h"
#include "runtime/progress.h"
#include "base/fail.h"

void weft_request_cannot_cancel(weft_request_t *request)
{
    (void)request;
}

static const weft_request_ops_t done_ops = {.name = "send", .cancel = weft_request_cannot_cancel};

weft_request_t weft_request_done = {
    .object = {.kind = WEFT_KIND_REQUEST, .references = 1},
    .ops = &done_ops,
    .is_complete = true,
    .is_active = true,
    .status = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG},
};

/* What comes in the VCI of its communicator may end it, or in VCI 0: collectives belong there. */
void weft_request_await(const weft_request_t *request)
{
    const weft_comm_t *comm = request->comm;
    if (comm != NULL && comm->context != WEFT_NO_CONTEXT)
        weft_progress_until_in(&request->is_complete, weft_vci_of(comm->context));
    else
        weft_progress_until(&request->is_complete);
}

void weft_request_note_error(weft_request_t *request, int error)
{
    if (request->status.MPI_ERROR != MPI_SUCCESS)
        return;
    request->status.MPI_ERROR = error;
    request->why = weft_strdup(weft_fail_text());
}

void weft_request_inherit_error(weft_request_t *request, weft_request_t *part)
{
    if (part->status.MPI_ERROR == MPI_SUCCESS || request->status.MPI_ERROR != MPI_SUCCESS)
        return;
    request->status.MPI_ERROR = part->status.MPI_ERROR;
    request->why = part->why;
    part->why = NULL;
}

/* Who changes a request that is under way enters this: another thread may be about to complete it
 * there. */
static int vci_of(const weft_request_t *request)
{
    return request->comm == NULL ? 0 : weft_vci_of(request->comm->context);
}

void weft_request_detach(weft_request_t *request)
{
    int vci = vci_of(request);
    bool has_entered = weft_vci_enter(vci), is_complete = request->is_complete;
    request->is_detached = !is_complete;
    weft_vci_leave(vci, has_entered);
    if (is_complete)
        weft_request_release(request);
}

void weft_request_watch(weft_request_t *request,
                        void (*on_complete)(weft_request_t *request, void *owner), void *owner)
{
    int vci = vci_of(request);
    bool has_entered = weft_vci_enter(vci), is_complete = request->is_complete;
    if (!is_complete) {
        request->on_complete = on_complete;
        request->owner = owner;
    }
    weft_vci_leave(vci, has_entered);
    if (is_complete)
        on_complete(request, owner);
}

void weft_request_unwatch(weft_request_t *request)
{
    int vci = vci_of(request);
    bool has_entered = weft_vci_enter(vci);
    request->on_complete = NULL;
    weft_vci_leave(vci, has_entered);
}

void weft_request_follow_active(weft_request_t *request)
{
    int vci = vci_of(request);
    bool has_entered = weft_vci_enter(vci);
    if (!request->is_complete && !request->is_generalised) {
        request->is_followed = true;
        weft_progress_thread_follow(1);
    }
    weft_vci_leave(vci, has_entered);
}

void weft_request_leave(weft_request_t *request)
{
    request->is_followed = false;
    weft_progress_thread_follow(-1);
}

void weft_request_release_failed(weft_request_t *request)
{
    weft_request_forget_error(request);
    request->ops->release(request);
}
