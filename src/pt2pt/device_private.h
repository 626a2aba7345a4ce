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
 *   ranks of one host that   device -> sender's shelf -> device: memory of the host that both
 *   cannot map it, long      devices reach
 *
 * What goes through slots or by a shelf does so in pieces, several of them on their way at a time.
 * A buffer is not given back to the program, nor a slot to its pool, while the device works on it,
 * even after an error.
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

/* A piece of a message in a pinned slot, or on a shelf. */
typedef struct weft_chunk {
    weft_event_t event; /* first: behind the work on it */
    weft_link_t link;
    char *slot;
    uint64_t ticket;      /* of a piece on a shelf; 0: in a slot */
    bool is_peers;        /* on a peer's shelf */
    size_t offset, bytes; /* of the packed message */
    size_t filled;        /* how much of it has come, or gone on */
    bool is_ready;        /* the device has finished its work on it */
} weft_chunk_t;

/** A chunk with a slot; NULL: none is free. */
weft_chunk_t *wefti_chunk_take(weft_device_t *device, size_t offset, size_t bytes);
/** A chunk with a piece of this rank's shelf; NULL: none is free. */
weft_chunk_t *wefti_chunk_on_shelf(size_t offset, size_t bytes);
/** A chunk that lies on a peer's shelf; NULL: there is no memory. */
weft_chunk_t *wefti_chunk_of_peer(char *piece, uint64_t ticket, size_t offset, size_t bytes);
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

/* ---- device_shelf.c ---- */

/** May a message of `bytes` bytes from a process come by its shelf, into the memory of `device` or
 * (NULL) the host's? If so the device reaches that shelf. */
bool wefti_shelf_is_read(int source, weft_device_t *device, size_t bytes);
/** Does the device reach the shelf of this rank? */
bool wefti_shelf_is_written(weft_device_t *device);

/** Note which chunk has a piece of this rank's shelf; returns the piece's ticket. */
uint64_t wefti_shelf_enter(weft_chunk_t *chunk);
void wefti_shelf_leave(const weft_chunk_t *chunk);

void wefti_shelf_close(void);

/** Tell the owner of a piece that it was read. */
void wefti_shelf_answer(weft_endpoint_t *endpoint, uint64_t ticket);

void wefti_shelf_placed(int source, const weft_header_t *header, const void *payload);
void wefti_shelf_taken(int source, const weft_header_t *header, const void *payload);
void wefti_shelf_refused(int source, const weft_header_t *header, const void *payload);

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

/** The endpoint that a chunk on this rank's shelf goes to. */
const weft_endpoint_t *wefti_device_send_reader(const weft_chunk_t *chunk);

/** It has read the chunk, which is given back; this may end the send. */
void wefti_device_send_taken(weft_chunk_t *chunk);

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

/** Take data that lie on the sender's shelf; answers the sender when they are read. */
void wefti_device_recv_placed(weft_recv_t *recv, char *piece, const weft_placed_t *placed);

/** The sender cannot use its shelf. */
void wefti_device_recv_no_shelf(weft_recv_t *recv);

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
