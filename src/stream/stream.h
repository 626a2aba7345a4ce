/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of a device as MPI sees them (MPIX_Stream of mpix.h): what is enqueued on a communicator
 * that belongs to one happens in the stream's order (enqueue.h).
 *
 * The first one of a device starts a thread, which lives until the end of MPI; from then on all
 * calls take the lock, whatever the thread level. All functions are called with the lock held.
 */
#ifndef WEFT_STREAM_STREAM_H
#define WEFT_STREAM_STREAM_H

#include "object/comm.h"
#include "object/object.h"
#include "runtime/device_stream.h"
#include "base/list.h"

typedef struct weft_stream {
    weft_object_t object;      /* a reference each: the handle, communicators, operations */
    bool is_freed;             /* the handle is dead */
    weft_user_stream_t *users; /* NULL: no stream of a device belongs to it */
    weft_list_t waiting;       /* operations that the stream has not come to */
    int waiting_count;
    bool has_room;     /* for one more of these */
    bool is_being_fed; /* by a thread of the program's */
    bool is_free_to_feed;
    bool is_captured; /* an operation is part of a graph */
    int error;        /* of an operation, to be returned by the next call; MPI_SUCCESS: none */
    char *why;        /* its text */
    weft_link_t link; /* in the list of all */
} weft_stream_t;

/** NULL: not a live stream (MPIX_STREAM_NULL included). */
weft_stream_t *weft_stream_of(const void *handle);

/** A stream with one reference. `handle` (may be NULL: no device) is the device's stream, as the
 * program gave it in `bytes` bytes. MPI_ERR_NO_MEM, MPI_ERR_ARG, MPI_ERR_OTHER. */
int weft_stream_create(const void *handle, size_t bytes, weft_stream_t **out);

/** The program frees its handle. What is enqueued goes on. */
void weft_stream_free(weft_stream_t *stream);

void weft_stream_retain(weft_stream_t *stream);
void weft_stream_release(weft_stream_t *stream);

/** Make operations on `comm` go to `stream`; for a communicator that is new. */
void weft_stream_attach(weft_stream_t *stream, weft_comm_t *comm);

/** The stream of a communicator; NULL: it has none. */
weft_stream_t *weft_stream_of_comm(const weft_comm_t *comm);

/** At start-up; MPI_ERR_INTERN with a text. */
int weft_streams_open(void);

/** Wait for all that is enqueued and not done, and end the thread; nothing may be enqueued any
 * more. */
void weft_streams_end(void);
/** Release everything, communicators being gone. */
void weft_streams_close(void);

#endif
