/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of small messages, of which there are more than of all others: bytes that are one
 * run, for a process that has been reached. What is unusual is left to pt2pt.h, so each step here
 * is one that such a message needs. Sending is inline, since a call would have to keep all
 * arguments for the case that there is no room.
 */
#ifndef WEFT_PT2PT_DENSE_H
#define WEFT_PT2PT_DENSE_H

#include "pt2pt/packet.h"
#include "pt2pt/pt2pt.h"
#include "runtime/vci.h"
#include "base/own_symbol.h"

/** Bytes that are one run, and the communicator that they go through; passed in registers. */
typedef struct weft_dense_message {
    weft_comm_t *comm;
    size_t bytes;
} weft_dense_message_t;

/** The requests of eager messages that are out and may still be cancelled (cancel.h), in each VCI.
 * While there are any, each message that goes out there is noted. */
typedef struct weft_cancellable_count {
    _Alignas(128) size_t sends;
} weft_cancellable_count_t;

extern WEFT_OWN_SYMBOL weft_cancellable_count_t weft_cancellable[WEFT_VCIS];

/** Note a message that goes out now; returns its number. */
uint64_t weft_sent_log(weft_endpoint_t *endpoint, uint32_t context, int tag);

/** The same with a request, which is complete, and can be cancelled; never NULL. */
weft_request_t *weft_sent_create(weft_endpoint_t *endpoint, uint32_t context, int tag);

/** The same with the lock of the VCI alone. NULL: nothing was done, as none is prepared. */
weft_request_t *weft_sent_take(weft_endpoint_t *endpoint, uint32_t context, int tag);

/** To be called for each message that goes out without a request or a number: notes those of
 *  programs, whose contexts are even. With the lock of the VCI. */
static inline void weft_sent_note(weft_endpoint_t *endpoint, uint32_t context, int tag)
{
    if (__builtin_expect(weft_cancellable[weft_vci_of(context)].sends > 0, 0) && (context & 1) == 0)
        weft_sent_log(endpoint, context, tag);
}

/** Can a message that is not too long go to this peer unasked, and with none before it? */
static inline bool weft_takes_unasked(const weft_endpoint_t *endpoint)
{
    return !endpoint->is_throttled && !endpoint->has_waiting;
}

/** The endpoint to the rank `dest`; NULL: it has none yet, or something has to be done for each
 *  message, or messages go in another VCI than VCI 0. */
static inline weft_endpoint_t *__attribute__((always_inline))
weft_dense_endpoint(weft_dense_message_t message, int dest)
{
    weft_endpoint_t *endpoint = weft_process_reached(weft_comm_process(message.comm, dest));
    bool is_usual = endpoint != NULL && *weft_device_news == 0 && weft_traffic_watched == 0 &&
                    weft_vci_of(message.comm->context) == 0;
    return __builtin_expect(is_usual, 1) ? endpoint : NULL;
}

static inline weft_header_t weft_dense_header(weft_dense_message_t message, int tag)
{
    return weft_header(WEFT_PACKET_EAGER, (uint32_t)message.bytes, message.comm->context, tag);
}

/** Send a message to the rank `dest`. Returns its endpoint, for weft_sent_create() or
 *  weft_sent_note(). NULL: nothing was done, since something is unusual, or there is no room. */
static inline weft_endpoint_t *__attribute__((always_inline))
weft_send_dense(const void *buf, weft_dense_message_t message, int dest, int tag)
{
    weft_endpoint_t *endpoint = weft_dense_endpoint(message, dest);
    if (__builtin_expect(endpoint == NULL || message.bytes > endpoint->at_once_max ||
                             !weft_takes_unasked(endpoint),
                         0))
        return NULL;
    bool is_out = endpoint->link->send(endpoint, weft_dense_header(message, tag), buf);
    return __builtin_expect(is_out, 1) ? endpoint : NULL;
}

/** The slots that such a message of a blocking call can go through by weft_slots_send_now(),
 * without a call of the transport; nothing is to be noted then. NULL: something is unusual, or
 * there is no room. */
static inline weft_slots_t *__attribute__((always_inline))
weft_dense_slots(weft_dense_message_t message, int dest)
{
    weft_endpoint_t *endpoint = weft_dense_endpoint(message, dest);
    bool goes = endpoint != NULL && message.bytes <= endpoint->at_once_max &&
                endpoint->obstacles == 0 && weft_cancellable[0].sends == 0 &&
                weft_slots_have_room(&endpoint->slots, message.bytes);
    return __builtin_expect(goes, 1) ? &endpoint->slots : NULL;
}

/** Receive a message that comes through a slot, and is there or comes in about a microsecond,
 *  without a request, where no other receive and no other message waits. `source` is a rank or
 *  MPI_ANY_SOURCE. False: nothing was done. */
bool weft_recv_slot(void *buf, weft_dense_message_t message, int source, int tag,
                    MPI_Status *status);

/** Is such a message there, of any length, which a receive with this source and tag would get? Then
 *  *status describes it. False: perhaps not in a slot. */
bool weft_probe_slot(weft_comm_t *comm, int source, int tag, MPI_Status *status);

/** Before a wait for `request`: where that is a receive that waits for a message through a slot,
 *  look there for about a microsecond, and receive what comes.
 *  True: its message has come, so the request is over and released, and *status is written.
 *  False: nothing was done with the request, except that it may be complete. */
bool weft_recv_end(weft_request_t *request, MPI_Status *status);

/** The same for a call that only looks: the message has come, or it is not there yet. */
bool weft_recv_try(weft_request_t *request, MPI_Status *status);

/** Begin to receive a message of at most so many bytes, from the rank `source` or MPI_ANY_SOURCE.
 *  is_blocking: the caller waits for it, and no program can cancel it.
 *  NULL, with a text: MPI_ERR_NO_MEM. */
weft_request_t *weft_recv_dense(void *buf, weft_dense_message_t message, int source, int tag,
                                bool is_blocking);

#endif
