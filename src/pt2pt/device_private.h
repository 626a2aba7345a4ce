/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from and to device memory. What a send or receive needs for it beside its request is
 * reached by the request's `device`, and lives while the request is active.
 *
 *   few bytes, by GDRCopy    device -> packet -> device, by the processor alone
 *   small, or no other way   device -> slot -> packets -> slot -> device; slots are pinned memory
 *   ranks of one host        device -> device, or device -> slot: the receiver copies, which has
 *                            mapped the sender's memory
 *   from host memory         sender's memory -> slot -> device: the receiver copies, where it may
 *                            read the sender's memory
 *   over a network           any -> any: the network copies, where it reaches device memory
 *                            (FI_HMEM)
 *
 * What goes through slots does so in pieces, several of them on their way at a time. A buffer is
 * not given back to the program, nor a slot to its pool, while the device works on it, even after
 * an error.
 */
#ifndef WEFT_PT2PT_DEVICE_PRIVATE_H
#define WEFT_PT2PT_DEVICE_PRIVATE_H

#include "pt2pt/pt2pt_private.h"

#include "base/list.h"

enum {
    WEFT_CHUNKS = 4,              /* of a message at a time */
    WEFT_QUICK_BYTES = 64 * 1024, /* messages up to here do not queue up behind large ones */
    WEFT_MAP_BYTES = 1024 * 1024, /* one message of so many bytes is worth a mapping */
};

/* ---- chunk.c ---- */

/* A piece of a message in a pinned slot. */
typedef struct weft_chunk {
    weft_event_t event; /* first: behind the work on it */
    weft_link_t link;
    char *slot;
    size_t offset, bytes; /* of the packed message */
    size_t filled;        /* how much of it has come, or gone on */
    bool is_ready;        /* the device has finished its work on it */
} weft_chunk_t;

/** A chunk with a slot; NULL: none is free. */
weft_chunk_t *wefti_chunk_take(weft_device_t *device, size_t offset, size_t bytes);
void wefti_chunk_give(weft_chunk_t *chunk);

static inline weft_chunk_t *wefti_chunk_of(weft_link_t *link)
{
    return WEFT_ELEMENT(link, weft_chunk_t, link);
}

/* A transfer that waits for a slot: `retry` is called once, in progress. */
typedef struct weft_slot_waiter {
    weft_link_t link;
    void (*retry)(void *owner);
    void *owner;
} weft_slot_waiter_t;

void wefti_slot_waiter_init(weft_slot_waiter_t *slot_waiter, void (*retry)(void *owner),
                            void *owner);
void wefti_slot_waiter_wait(weft_slot_waiter_t *slot_waiter);
void wefti_slot_waiter_forget(weft_slot_waiter_t *slot_waiter);

void wefti_chunks_close(void);

/** The queue for `bytes` bytes in a stream_class. */
static inline weft_queue_t *wefti_queue_for(weft_device_t *device, weft_stream_class_t stream_class,
                                            size_t bytes)
{
    return weft_device->queue(device, bytes <= WEFT_QUICK_BYTES ? WEFT_STREAM_QUICK : stream_class);
}

/* ---- device_send.c ---- */

/** Begin a send with data in device memory. Errors of the device become the request's, and are sent
 *  to the receiver, too. MPI_ERR_NO_MEM. */
int wefti_device_send_begin(weft_send_t *send);

/** Send a small message at once, by the processor; false: not possible, and nothing was done. The
 * data are in one piece, and it has been found that they are in device memory. */
bool wefti_device_send_at_once(weft_endpoint_t *endpoint, const weft_send_args_t *args);

/** Send the first packet; false: there is no room, or the data are not there yet. */
bool wefti_device_send_push(weft_send_t *send);

/** The receiver has asked for a stream, or for more of one. */
void wefti_device_send_cts(weft_send_t *send);

/** Send packets of the stream; false: no room. */
bool wefti_device_send_stream(weft_send_t *send);

/** To be called when all of the stream that was ready is out; ends the send if that was its end. */
void wefti_device_send_go_on(weft_send_t *send);

/** The peer is lost. May the request be completed? If not, it completes when the device's work is
 * over. */
bool wefti_device_send_stop(weft_send_t *send);

/** Give everything back. */
void wefti_device_send_end(weft_send_t *send);

/** Tell the ranks that may have mapped an allocation that it was freed. */
void wefti_device_tell_freed(uint64_t id);

void wefti_device_sends_close(void);

/* ---- device_recv.c ---- */

/** Begin a receive into device memory. Errors of the device become the request's. MPI_ERR_NO_MEM.
 */
int wefti_device_recv_begin(weft_recv_t *recv);

/** As wefti_recv_matched(), for a receive into device memory, or a message that brings a share. */
void wefti_device_recv_matched(weft_recv_t *recv, int source, const weft_rts_t *rts,
                               const void *data);

/** Take data of a stream: recv->arrived counts the data before. */
void wefti_device_recv_data(weft_recv_t *recv, const char *data, size_t bytes);

/** End the stream early, with the error that was noted. */
void wefti_device_recv_break(weft_recv_t *recv);

/** As wefti_device_send_stop(). */
bool wefti_device_recv_stop(weft_recv_t *recv);

void wefti_device_recvs_close(void);

/* A share that came in a packet may be wrong, and then must not be used: this rank would read, as
 * its own data, what lies elsewhere. */
int wefti_check_share(const weft_share_t *share, int source, const weft_endpoint_t *endpoint,
                      size_t bytes);

#endif
