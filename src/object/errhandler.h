/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers (MPI 5.0 section 9.3), and how errors reach them. */
#ifndef WEFT_OBJECT_ERRHANDLER_H
#define WEFT_OBJECT_ERRHANDLER_H

#include "object/object.h"
#include "mpi.h"

#include <stdbool.h>

typedef struct weft_comm weft_comm_t;

typedef struct weft_errhandler {
    weft_object_t object;
    MPI_Errhandler predefined; /* MPI_ERRORS_...; MPI_ERRHANDLER_NULL: the user's */
    weft_kind_t made_for;      /* WEFT_KIND_COMM or WEFT_KIND_SESSION; of the user's only */
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Session_errhandler_function *session;
    } function;
} weft_errhandler_t;

extern weft_errhandler_t weft_errors_are_fatal, weft_errors_abort, weft_errors_return;

/** NULL: not a live error handler. */
weft_errhandler_t *weft_errhandler_of(MPI_Errhandler handle);
MPI_Errhandler weft_errhandler_handle(weft_errhandler_t *handler);

/**
 * The initial error handler (MPI 5.0, section 9.3), which `mpirun --initial-errhandler` names: that
 * of MPI_COMM_WORLD and MPI_COMM_SELF at first, and of errors before MPI_Init. MPI_ERR_ARG: there
 * is none of that name.
 */
int weft_errhandler_initial(weft_errhandler_t **out);

/** A new handler of communicators, or of sessions, with one reference; MPI_ERR_NO_MEM. */
int weft_errhandler_create(MPI_Comm_errhandler_function *function, weft_errhandler_t **out);
int weft_errhandler_create_for_session(MPI_Session_errhandler_function *function,
                                       weft_errhandler_t **out);

/** May it be attached to an object of this kind? A predefined one may always. */
static inline bool weft_errhandler_suits(const weft_errhandler_t *handler, weft_kind_t kind)
{
    return handler->predefined != MPI_ERRHANDLER_NULL || handler->made_for == kind;
}

void weft_errhandler_retain(weft_errhandler_t *handler);
void weft_errhandler_release(weft_errhandler_t *handler);

/** Give memory back, unless there are handlers that the program has not freed (false): it may free
 * them after MPI_Finalize. */
bool weft_errhandlers_close(void);

/**
 * Give an error to the handler of `comm` (NULL: the one of MPI_COMM_SELF, or of MPI_COMM_WORLD if
 * the program has only set that one). The text is that of
 * weft_fail, with "call: " in front.
 *
 * returns  the error class, if the handler returns
 */
int weft_error_raise(weft_comm_t *comm, int error, const char *call);

/** As weft_error_raise, for a given handler; `handle`, of the kind that the handler was made for,
 * is passed to a user's handler. */
int weft_error_handle(weft_errhandler_t *handler, const void *handle, int error, const char *call);

/** As weft_error_handle, for an error that is the program's: MPI_Error_string goes on to give what
 * it has given before. */
int weft_errhandler_call(weft_errhandler_t *handler, const void *handle, int error,
                         const char *call);

#endif
