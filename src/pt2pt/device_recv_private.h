/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of receives with device memory share: device_recv.c, which describes them, and
 * device_recv_stream.c. */
#ifndef WEFT_PT2PT_DEVICE_RECV_PRIVATE_H
#define WEFT_PT2PT_DEVICE_RECV_PRIVATE_H

#include "pt2pt/device_private.h"

typedef enum source { FROM_PACKET, FROM_MAPPING, FROM_MEMORY, FROM_GET, FROM_STREAM } recv_source_t;

typedef struct weft_device_recv {
    weft_recv_t *recv;
    weft_memory_t memory; /* of the buffer; device NULL: the host's */
    recv_source_t from;
    weft_endpoint_t *endpoint; /* NULL: no answer is due */
    uint64_t sender;           /* its request */
    size_t total;              /* bytes that fit into the buffer */
    size_t begun, over;        /* of `total`: given to slots or copies so far; and in their place */
    uint64_t granted;          /* STREAM: what the sender was told that it may send */
    bool by_shelf;             /* STREAM: the sender may put the data onto its shelf */
    bool cannot_map;           /* STREAM: the sender offered a share that can never be mapped */
    int pending;               /* events that are not reached */
    bool is_stopped;           /* the peer is lost */
    bool must_stream; /* reading memory did not work: stream as soon as nothing is pending */
    const char *data; /* PACKET: `kept`, or the payload during the call that brought it */
    char *kept;
    uint64_t address;       /* MEMORY */
    weft_mapping_t mapping; /* MAPPING */
    bool is_mapped;
    weft_event_t event;  /* behind a copy in one go */
    weft_list_t filling; /* STREAM: chunks that wait for data, in order */
    weft_slot_waiter_t slot_waiter;
} weft_device_recv_t;

static inline bool wefti_device_recv_has_failed(const weft_device_recv_t *d)
{
    return d->recv->request.status.MPI_ERROR != MPI_SUCCESS;
}

/* ---- device_recv.c ---- */

void wefti_device_recv_note_error(weft_device_recv_t *d, int error);

/** Queue the device's part of a chunk: from the slot into the buffer, or from the mapping into the
 * slot. It is given back when that is over. */
int wefti_device_recv_submit(weft_device_recv_t *d, weft_chunk_t *chunk);

/** To be called when a part of the work is over. The receive may be gone afterwards. */
void wefti_device_recv_go_on(weft_device_recv_t *d);

/** Give everything back. */
void wefti_device_recv_release(weft_device_recv_t *d);

/* ---- device_recv_stream.c ---- */

/** Ask for the data as a stream. The receive goes on without `d` if it is into host memory. */
void wefti_device_recv_stream(weft_device_recv_t *d, const weft_rts_t *rts);

/** Let the sender send as much as there are slots for. Data that do not fit into the buffer, or
 * that follow an error, need no slot. */
void wefti_device_recv_grant(weft_device_recv_t *d);

/** Give a chunk back to where it came from. */
void wefti_device_recv_give(const weft_device_recv_t *d, weft_chunk_t *chunk);

#endif
