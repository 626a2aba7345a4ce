/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/session_call.h"

#include "mpi/check.h"
#include "object/returned_error.h"
#include "base/fail.h"

weft_session_call_t weft_session_call_begin(const char *name)
{
    return (weft_session_call_t){.frame = weft_call_begin_anytime(name)};
}

int weft_check_session(weft_session_call_t *call, MPI_Session handle, weft_session_t **out)
{
    weft_session_t *session = weft_session_of(handle);
    if (session == NULL)
        return weft_bad_session(handle);
    call->session = session;
    *out = session;
    return MPI_SUCCESS;
}

/* Another thread may take the handler from the session while it is called. */
int weft_session_call_raise(const weft_session_call_t *call, int error)
{
    weft_errhandler_t *handler = call->session->errhandler;
    weft_errhandler_retain(handler);
    weft_lock_give();
    int result =
        weft_errhandler_call(handler, weft_session_handle(call->session), error, call->frame.name);
    weft_fail_clear();
    weft_lock_take();
    weft_errhandler_release(handler);
    weft_lock_give();
    return result;
}

int weft_session_call_end(const weft_session_call_t *call, int error)
{
    if (error == MPI_SUCCESS || call->session == NULL)
        return weft_call_end_anytime(&call->frame, error);
    weft_returned_error_note(error, call->frame.name);
    return weft_session_call_raise(call, error);
}
