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
    MPI_Comm_errhandler_function *comm_function; /* set when made for communicators */
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

/** A new handler with one reference; MPI_ERR_NO_MEM. */
int weft_errhandler_create(MPI_Comm_errhandler_function *function, weft_errhandler_t **out);
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

/** As weft_error_raise, for a given handler; `handle` is passed to a user's handler. */
int weft_error_handle(weft_errhandler_t *handler, MPI_Comm handle, int error, const char *call);

#endif
