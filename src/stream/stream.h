/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of a device as MPI sees them (MPIX_Stream of mpix.h): operations that are enqueued on a
 * communicator of a stream run in the stream's order (enqueue.h).
 *
 * The first stream of a device starts a thread, which runs until the end of MPI; from then on all
 * calls take the lock, whatever the thread level. All functions are called with the lock held.
 */
#ifndef WEFT_STREAM_STREAM_H
#define WEFT_STREAM_STREAM_H

#include "object/comm.h"
#include "object/object.h"
#include "runtime/device_stream.h"
#include "base/list.h"

typedef struct weft_stream {
    weft_object_t object; /* the handle, each communicator and each operation hold a reference */
    bool is_freed;        /* the program has freed the handle */
    weft_user_stream_t *users; /* NULL: it has no stream of a device */
    weft_list_t waiting;       /* operations that the stream has not reached */
    int waiting_count;
    bool has_room;     /* for one more operation */
    bool is_being_fed; /* a thread of the program is adding an operation */
    bool is_free_to_feed;
    bool is_captured; /* some operation of it is part of a graph */
    bool has_kernels; /* kernels of collectives were put into it (conduit.h) */
    int error;        /* an operation's error that the next call returns; MPI_SUCCESS: none */
    char *why;        /* the text of `error` */
    weft_link_t link; /* in the list of all streams */
} weft_stream_t;

/** The stream of a handle; NULL if it is not a live stream (MPIX_STREAM_NULL included). */
weft_stream_t *weft_stream_of(const void *handle);

/** Create a stream with one reference. `handle` is the device's stream, as the program gave it in
 * `bytes` bytes; NULL: no device. Returns MPI_SUCCESS, MPI_ERR_NO_MEM, MPI_ERR_ARG or
 * MPI_ERR_OTHER. */
int weft_stream_create(const void *handle, size_t bytes, weft_stream_t **out);

/** The program frees its handle. Enqueued operations still run. */
void weft_stream_free(weft_stream_t *stream);

void weft_stream_retain(weft_stream_t *stream);
void weft_stream_release(weft_stream_t *stream);

/** Make operations that are enqueued on `comm` from now on use `stream`. Operations on a
 * communicator must be ordered by the streams: the caller orders one stream after the other. */
void weft_stream_attach(weft_stream_t *stream, weft_comm_t *comm);

/** The stream of a communicator; NULL: it has none. */
weft_stream_t *weft_stream_of_comm(const weft_comm_t *comm);

/** Called at start-up. Returns MPI_SUCCESS, or MPI_ERR_INTERN with a text. */
int weft_streams_open(void);

/** Wait for all enqueued operations, and end the thread. After this call nothing may be
 * enqueued. */
void weft_streams_end(void);
/** Release everything. Communicators are gone already. */
void weft_streams_close(void);

#endif
