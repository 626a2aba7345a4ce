/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages by the lock of their VCI alone (runtime/vci.h), so that threads which use
 * different communicators do not wait for each other. The caller holds no lock. Each function may
 * find something that needs the library's lock: a message that is longer, a receive that was begun
 * otherwise, a tool that watches, a wait that takes longer. It says so, and its caller goes the
 * long way.
 */
#ifndef WEFT_PT2PT_VCI_DENSE_H
#define WEFT_PT2PT_VCI_DENSE_H

#include "pt2pt/dense.h"
#include "runtime/vci.h"

/** Send a message to the rank `dest`; *sent is its request, which is complete, unless `sent` is
 *  NULL. False: nothing was done. */
bool weft_vci_send(const void *buf, weft_dense_message_t message, int dest, int tag,
                   weft_request_t **sent);

/** Receive a message of at most so many bytes from the rank `source`, which is there or comes in
 *  about a microsecond, where no other receive and no other message waits; *status is written.
 *  False: nothing was done. */
bool weft_vci_recv_now(void *buf, weft_dense_message_t message, int source, int tag,
                       MPI_Status *status);

/** Begin to receive a message of at most so many bytes, from the rank `source` or MPI_ANY_SOURCE.
 *  NULL: nothing was done. */
weft_request_t *weft_vci_recv(void *buf, weft_dense_message_t message, int source, int tag);

typedef enum weft_vci_look {
    WEFT_VCI_OVER,     /* the message has come, the request is released, *status is written */
    WEFT_VCI_MAY_COME, /* nothing was done with the request */
    WEFT_VCI_NEEDS_ALL /* the same, except that it may be complete: the long way has to end it */
} weft_vci_look_t;

/** Wait for some microseconds for the first of these requests, as far as the two have made them:
 *  those that are over are released, and MPI_REQUEST_NULL, with statuses as of MPI_Wait. Returns
 *  how many; the others need the long way. statuses: [count], or MPI_STATUSES_IGNORE. */
int weft_vci_wait(int count, MPI_Request handles[], MPI_Status statuses[]);

/** With the library's lock: the call that has begun this receive waits for it, and no program can
 *  cancel it. */
void weft_vci_block(weft_request_t *request);

/** Look once at such a request. */
weft_vci_look_t weft_vci_test(MPI_Request *handle, MPI_Status *status);

/** The VCIs that there are may be used so from now on. With the library's lock. */
void weft_vcis_open(void);

/** Not any more: a peer is lost, or a communicator is revoked. With the library's lock. */
void weft_vcis_shut(void);

#endif
