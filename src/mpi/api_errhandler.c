/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of communicators and sessions (MPI 5.0 section 9.3). */
#include "mpi/api.h"

#include "mpi/session_call.h"
#include "mpi/check.h"
#include "object/errhandler.h"
#include "object/error_code.h"
#include "base/fail.h"

/** Makes an error handler for communicators of a function (section 9.3.1).
 *  @param[in] comm_errhandler_fn  is called with the communicator and the error code, which it may
 *      change, when an MPI function fails; what it returns to goes on after that function
 *  @error MPI_ERR_ARG  comm_errhandler_fn is NULL
 *  @error MPI_ERR_NO_MEM  there is no memory for the error handler
 *  @note The function is called without Weft's lock, so that it may call MPI functions.
 *  @see MPI_Comm_set_errhandler, MPI_Errhandler_free */
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

/** Lets an error handler take the errors of a communicator (section 9.3.1), in this process only.
 *  Communicators that are made from it later begin with the same error handler.
 *  @param[in] errhandler  one that MPI_Comm_create_errhandler made, or MPI_ERRORS_ARE_FATAL,
 *      MPI_ERRORS_ABORT or MPI_ERRORS_RETURN
 *  @error MPI_ERR_ERRHANDLER  errhandler is MPI_ERRHANDLER_NULL, no error handler, or one that was
 *      made for objects of another kind
 *  @see MPI_Comm_create_errhandler, MPI_Comm_get_errhandler */
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

/** Tells which error handler a communicator has (section 9.3.1).
 *  @note Predefined error handlers may be freed, too; that changes the handle only.
 *  @see MPI_Comm_set_errhandler, MPI_Errhandler_free */
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

/** Calls the error handler of a communicator as if an MPI function had failed (section 9.5). It
 *  returns MPI_SUCCESS whenever the handler was called and has returned, whatever the code.
 *  @param[in] errorcode  the error code that the handler gets
 *  @see MPI_Comm_set_errhandler, MPI_Abort */
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
    weft_errhandler_call(comm->errhandler, weft_comm_handle(comm), errorcode, call.name);
    weft_fail_clear();
    return MPI_SUCCESS;
}

/** Gives an error handler back (section 9.3.5). Objects that have it keep it until they are freed.
 *  @param[in,out] errhandler  the error handler; becomes MPI_ERRHANDLER_NULL
 *  @error MPI_ERR_ERRHANDLER  errhandler is MPI_ERRHANDLER_NULL or no error handler
 *  @note May be called at any time, also before MPI_Init and after MPI_Finalize. Predefined error
 *      handlers may be freed, since MPI_Comm_get_errhandler returns them, too.
 *  @see MPI_Comm_create_errhandler, MPI_Session_create_errhandler */
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

/** Makes an error handler for sessions of a function (section 9.3.4).
 *  @param[in] session_errhandler_fn  is called with the session and the error code when an MPI
 *      function fails
 *  @error MPI_ERR_ARG  session_errhandler_fn is NULL
 *  @error MPI_ERR_NO_MEM  there is no memory for the error handler
 *  @note May be called at any time, also before MPI_Session_init, which takes the error handler.
 *  @see MPI_Session_init, MPI_Session_set_errhandler, MPI_Errhandler_free */
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

/** Lets an error handler take the errors of a session (section 9.3.4).
 *  @param[in] errhandler  one that MPI_Session_create_errhandler made, or MPI_ERRORS_ARE_FATAL,
 *      MPI_ERRORS_ABORT or MPI_ERRORS_RETURN
 *  @error MPI_ERR_ERRHANDLER  errhandler is MPI_ERRHANDLER_NULL, no error handler, or one that was
 *      made for objects of another kind
 *  @see MPI_Session_create_errhandler, MPI_Session_get_errhandler */
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

/** Tells which error handler a session has (section 9.3.4).
 *  @see MPI_Session_set_errhandler, MPI_Errhandler_free */
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

/** Calls the error handler of a session as if an MPI function had failed (section 9.5). It returns
 *  MPI_SUCCESS whenever the handler was called and has returned, whatever the code.
 *  @param[in] errorcode  the error code that the handler gets
 *  @see MPI_Session_set_errhandler */
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
