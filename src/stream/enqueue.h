/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in the order of a stream of the program. Each call returns when the operation's place
 * in the stream is settled. The operation begins when the stream reaches it, and the stream
 * continues when it is over, or at once if there is a request. While a stream is being captured the
 * operation becomes part of the graph, and runs each time that the graph is launched.
 *
 * Arguments have been checked and the lock is held; the functions release it for a time. `name` is
 * that of the MPI function. The communicator must belong to a stream of a device, else the
 * functions return MPI_ERR_COMM. The program may free types and operations, and change arrays of
 * counts, as soon as the call returns; buffers and statuses must stay until the operation is over.
 * An error of the operation goes to the communicator's error handler, which the library's thread
 * calls. If the handler returns, the status has the error in MPI_ERROR; without a status, the next
 * of these functions on the stream returns it. Other errors: MPI_ERR_NO_MEM, MPI_ERR_OTHER.
 */
#ifndef WEFT_STREAM_ENQUEUE_H
#define WEFT_STREAM_ENQUEUE_H

#include "coll/coll.h"
#include "pt2pt/pt2pt.h"

/** `out` NULL: the stream waits until the operation is over. Otherwise *out is a request for
 * weft_enqueue_wait(). */
int weft_enqueue_send(const char *name, const weft_send_args_t *args, weft_request_t **out);

/** Like weft_enqueue_send(). `status`, which may be MPI_STATUS_IGNORE, is only used where `out` is
 * NULL. */
int weft_enqueue_recv(const char *name, const weft_recv_args_t *args, MPI_Status *status,
                      weft_request_t **out);

/** `out` as in weft_enqueue_send(); *out is NULL if the collective is kernels in the stream, which
 * later work in the stream comes after. */
int weft_enqueue_coll(const char *name, weft_coll_t coll, const weft_coll_args_t *args,
                      weft_request_t **out);

/** Make the stream wait for requests of the functions above (NULL entries are skipped); success
 * releases the requests. All must be of one stream, and of the same capture if it is captured;
 * otherwise the error is MPI_ERR_REQUEST. */
typedef struct weft_enqueue_wait {
    const char *name;
    int count;
    const MPI_Request *handles; /* [count]; live requests, or MPI_REQUEST_NULL */
    MPI_Status *statuses;       /* [count], or MPI_STATUSES_IGNORE */
    /* output: the communicator whose error handler a failure goes to; NULL: none */
    weft_comm_t *comm;
} weft_enqueue_wait_t;

int weft_enqueue_wait(weft_enqueue_wait_t *args);

#endif
