/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of communicators and sessions (MPI 5.0 section 9.3). */
#include "mpi/api.h"

#include "mpi/session_call.h"
#include "mpi/check.h"
#include "object/errhandler.h"
#include "object/error_code.h"
#include "base/fail.h"

WEFT_API(MPI_Comm_create_errhandler);
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    weft_call_t call = weft_call_begin("MPI_Comm_create_errhandler");
    weft_errhandler_t *handler;
    int err = MPI_SUCCESS;
    if (function == NULL)
        err = weft_fail(MPI_ERR_ARG, "comm_errhandler_fn is NULL");
    if (err == MPI_SUCCESS)
        err = weft_check_output(errhandler, "errhandler");
    if (err == MPI_SUCCESS)
        err = weft_errhandler_create(function, &handler);
    if (err == MPI_SUCCESS)
        *errhandler = weft_errhandler_handle(handler);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Comm_set_errhandler);
int PMPI_Comm_set_errhandler(MPI_Comm handle, MPI_Errhandler errhandler)
{
    weft_call_t call = weft_call_begin("MPI_Comm_set_errhandler");
    weft_comm_t *comm;
    weft_errhandler_t *handler;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_errhandler_of(errhandler, WEFT_KIND_COMM, &handler);
    if (err == MPI_SUCCESS)
        weft_comm_set_errhandler(comm, handler);
    return weft_call_end(&call, err);
}

/* The user gets a reference, which MPI_Errhandler_free releases. */
WEFT_API(MPI_Comm_get_errhandler);
int PMPI_Comm_get_errhandler(MPI_Comm handle, MPI_Errhandler *errhandler)
{
    weft_call_t call = weft_call_begin("MPI_Comm_get_errhandler");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(errhandler, "errhandler");
    if (err == MPI_SUCCESS) {
        weft_errhandler_retain(comm->errhandler);
        *errhandler = weft_errhandler_handle(comm->errhandler);
    }
    return weft_call_end(&call, err);
}

static void note_called_with(int errorcode)
{
    const char *text = weft_error_text(errorcode);
    weft_fail(errorcode, "called with error code %d (%s)", errorcode,
              text == NULL ? "unknown" : text);
}

/* MPI_SUCCESS when the handler was called, whatever the code (section 9.5). */
WEFT_API(MPI_Comm_call_errhandler);
int PMPI_Comm_call_errhandler(MPI_Comm handle, int errorcode)
{
    weft_call_t call = weft_call_begin("MPI_Comm_call_errhandler");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    note_called_with(errorcode);
    weft_unlock();
    weft_error_raise(comm, errorcode, call.name);
    weft_fail_clear();
    return MPI_SUCCESS;
}

/* Predefined handlers may be freed: MPI_Comm_get_errhandler returns them too. */
WEFT_API(MPI_Errhandler_free);
int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Errhandler_free");
    weft_errhandler_t *handler;
    int err = weft_check_output(errhandler, "errhandler");
    if (err == MPI_SUCCESS)
        err = weft_check_errhandler(*errhandler, &handler);
    if (err == MPI_SUCCESS) {
        weft_errhandler_release(handler);
        *errhandler = MPI_ERRHANDLER_NULL;
    }
    return weft_call_end_anytime(&call, err);
}

/* ---- of sessions; the first works at any time (section 11.4.1) ---- */

WEFT_API(MPI_Session_create_errhandler);
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *function,
                                   MPI_Errhandler *errhandler)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Session_create_errhandler");
    weft_errhandler_t *handler;
    int err = MPI_SUCCESS;
    if (function == NULL)
        err = weft_fail(MPI_ERR_ARG, "session_errhandler_fn is NULL");
    if (err == MPI_SUCCESS)
        err = weft_check_output(errhandler, "errhandler");
    if (err == MPI_SUCCESS)
        err = weft_errhandler_create_for_session(function, &handler);
    if (err == MPI_SUCCESS)
        *errhandler = weft_errhandler_handle(handler);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Session_set_errhandler);
int PMPI_Session_set_errhandler(MPI_Session handle, MPI_Errhandler errhandler)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_set_errhandler");
    weft_session_t *session;
    weft_errhandler_t *handler;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = weft_check_errhandler_of(errhandler, WEFT_KIND_SESSION, &handler);
    if (err == MPI_SUCCESS)
        weft_session_set_errhandler(session, handler);
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_get_errhandler);
int PMPI_Session_get_errhandler(MPI_Session handle, MPI_Errhandler *errhandler)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_get_errhandler");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = weft_check_output(errhandler, "errhandler");
    if (err == MPI_SUCCESS) {
        weft_errhandler_retain(session->errhandler);
        *errhandler = weft_errhandler_handle(session->errhandler);
    }
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_call_errhandler);
int PMPI_Session_call_errhandler(MPI_Session handle, int errorcode)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_call_errhandler");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err != MPI_SUCCESS)
        return weft_session_call_end(&call, err);
    note_called_with(errorcode);
    weft_session_call_raise(&call, errorcode);
    return MPI_SUCCESS;
}
