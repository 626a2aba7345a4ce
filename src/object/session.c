/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/session.h"

#include "base/fail.h"
#include "base/pool.h"

static weft_pool_t sessions = WEFT_POOL(weft_session_t);

weft_session_t *weft_session_of(MPI_Session handle)
{
    weft_session_t *session = (weft_session_t *)handle;
    return weft_is_predefined(handle) || session->object.kind != WEFT_KIND_SESSION ? NULL : session;
}

MPI_Session weft_session_handle(const weft_session_t *session)
{
    return (MPI_Session)session;
}

int weft_session_create(weft_errhandler_t *handler, int thread_level, weft_session_t **out)
{
    weft_session_t *session = weft_pool_take(&sessions);
    if (session == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a session");
    *session = (weft_session_t){.errhandler = handler, .thread_level = thread_level};
    weft_object_init(&session->object, WEFT_KIND_SESSION);
    weft_errhandler_retain(handler);
    *out = session;
    return MPI_SUCCESS;
}

void weft_session_end(weft_session_t *session)
{
    session->object.kind = WEFT_FREED;
    weft_errhandler_release(session->errhandler);
    weft_session_release(session);
}

void weft_session_set_errhandler(weft_session_t *session, weft_errhandler_t *handler)
{
    weft_errhandler_retain(handler);
    weft_errhandler_release(session->errhandler);
    session->errhandler = handler;
}

void weft_session_retain(weft_session_t *session)
{
    weft_object_retain(&session->object);
}

void weft_session_release(weft_session_t *session)
{
    if (weft_object_drop(&session->object))
        weft_pool_give(&sessions, session);
}
