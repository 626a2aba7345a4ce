/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of functions that have a session among their arguments. It works whether or not the
 * library is in use: a session that has ended is an error, which goes to the initial error handler.
 */
#ifndef WEFT_MPI_SESSION_CALL_H
#define WEFT_MPI_SESSION_CALL_H

#include "mpi/call.h"
#include "object/session.h"

typedef struct weft_session_call {
    weft_call_t frame;
    weft_session_t *session; /* whose error handler gets errors; NULL: none yet */
} weft_session_call_t;

weft_session_call_t weft_session_call_begin(const char *name);
int weft_session_call_end(const weft_session_call_t *call, int error);
/** Give an error to the session's handler, MPI_SUCCESS among them; ends the call. */
int weft_session_call_raise(const weft_session_call_t *call, int error);

/** Also has later errors go to this session's handler. */
int weft_check_session(weft_session_call_t *call, MPI_Session handle, weft_session_t **out);

#endif
