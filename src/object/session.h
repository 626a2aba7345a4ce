/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions (MPI 5.0 section 11.3). A session is little more than its error handler, since the
 * library is started once for all of them; groups, and the communicators made of these, refer to
 * the session that they are derived from.
 */
#ifndef WEFT_OBJECT_SESSION_H
#define WEFT_OBJECT_SESSION_H

#include "object/errhandler.h"
#include "object/group.h"
#include "object/object.h"
#include "mpi.h"

struct weft_session {
    weft_object_t object; /* WEFT_FREED: finalized, but groups still refer to it */
    weft_errhandler_t *errhandler;
    int thread_level;   /* an MPI_THREAD_ constant: what the program asked for */
    void *bsend_buffer; /* of src/pt2pt: MPI_Session_attach_buffer; NULL: none */
};

/** NULL: not an open session (MPI_SESSION_NULL included). */
weft_session_t *weft_session_of(MPI_Session handle);
MPI_Session weft_session_handle(const weft_session_t *session);

/** A session with one reference, that of its handle. MPI_ERR_NO_MEM. */
int weft_session_create(weft_errhandler_t *handler, int thread_level, weft_session_t **out);

/** The handle is no longer valid, and its reference is dropped. */
void weft_session_end(weft_session_t *session);

void weft_session_set_errhandler(weft_session_t *session, weft_errhandler_t *handler);

void weft_session_retain(weft_session_t *session);
void weft_session_release(weft_session_t *session);

#endif
