/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in the order of a stream of the program's. Each returns when its place in the stream
 * is settled; the operation begins when the stream comes there, and the stream goes on when it is
 * over (or, where there is a request, at once). While a stream is being captured the operation
 * becomes part of the graph, and happens each time that the graph is launched.
 *
 * Arguments have been checked, the lock is held (it is given up meanwhile). `name` is the MPI
 * function's. The communicator must have a stream of a device: MPI_ERR_COMM otherwise. Types and
 * operations may be freed, and arrays of counts changed, at once; buffers and statuses stay until
 * the operation is over. An error of the operation goes to the communicator's error handler, from
 * the library's thread; if that returns, a status has it in MPI_ERROR, and where there is none, the
 * next of these functions on the stream returns it. MPI_ERR_NO_MEM, MPI_ERR_OTHER.
 */
#ifndef WEFT_STREAM_ENQUEUE_H
#define WEFT_STREAM_ENQUEUE_H

#include "coll/coll.h"
#include "pt2pt/pt2pt.h"

/** `out`: NULL: the stream waits until it is over. Else a request for weft_enqueue_wait(). */
int weft_enqueue_send(const char *name, const weft_send_args_t *args, weft_request_t **out);

/** As weft_enqueue_send(); `status` (may be MPI_STATUS_IGNORE) is of use where `out` is NULL. */
int weft_enqueue_recv(const char *name, const weft_recv_args_t *args, MPI_Status *status,
                      weft_request_t **out);

int weft_enqueue_coll(const char *name, weft_coll_t coll, const weft_coll_args_t *args);

/** Have the stream wait for requests of the functions above (NULL: none); they are given up when
 * this succeeds. All must be of one stream, and of the same capture if it is captured:
 * MPI_ERR_REQUEST. */
typedef struct weft_enqueue_wait {
    const char *name;
    int count;
    const MPI_Request *handles; /* [count]; live requests, or MPI_REQUEST_NULL */
    MPI_Status *statuses;       /* [count], or MPI_STATUSES_IGNORE */
    weft_comm_t *comm;          /* out: whose error handler is to hear of a failure; NULL: none */
} weft_enqueue_wait_t;

int weft_enqueue_wait(weft_enqueue_wait_t *args);

#endif
