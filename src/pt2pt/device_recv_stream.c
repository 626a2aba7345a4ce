/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving a message as a stream, into device memory: packets go into slots, from where the device
 * copies. From the sender's shelf the device copies itself, without a slot. The first answer to the
 * sender says which of the two is possible; the sender decides.
 */
#include "pt2pt/device_recv_private.h"

#include "base/copy.h"
#include "base/fail.h"
#include "base/least.h"
#include "base/log.h"

enum {
    STREAM_CHUNKS_MAX = 8
}; /* of all receives together; there are more slots than that (runtime/device.h) */

static int stream_chunks;

void wefti_device_recv_give(const weft_device_recv_t *d, weft_chunk_t *chunk)
{
    if (chunk->is_peers)
        wefti_shelf_answer(d->endpoint, chunk->ticket);
    else if (d->from == FROM_STREAM)
        stream_chunks--;
    wefti_chunk_give(chunk);
}

/* ---- packets ---- */

static void take_slots(weft_device_recv_t *d)
{
    const size_t ahead = WEFT_CHUNKS * (size_t)WEFT_PINNED_SLOT;
    while (d->begun < d->total && d->begun - d->recv->arrived < ahead &&
           stream_chunks < STREAM_CHUNKS_MAX) {
        size_t left = d->total - d->begun;
        weft_chunk_t *chunk = wefti_chunk_take(d->memory.device, d->begun,
                                               left < WEFT_PINNED_SLOT ? left : WEFT_PINNED_SLOT);
        if (chunk == NULL)
            return;
        stream_chunks++;
        weft_list_append(&d->filling, &chunk->link);
        d->begun += chunk->bytes;
    }
}

void wefti_device_recv_grant(weft_device_recv_t *d)
{
    if (!wefti_device_recv_has_failed(d))
        take_slots(d);
    bool is_all = wefti_device_recv_has_failed(d) || d->begun == d->total;
    weft_cts_t cts = {.limit = is_all ? UINT64_MAX : d->begun, .cannot_map = d->cannot_map};
    if (cts.limit != d->granted) {
        d->granted = cts.limit;
        wefti_recv_stream(d->recv, d->endpoint, d->sender, &cts);
    } else if (!is_all && d->pending == 0 && weft_list_is_empty(&d->filling))
        wefti_slot_waiter_wait(&d->slot_waiter);
}

void wefti_device_recv_data(weft_recv_t *recv, const char *data, size_t bytes)
{
    weft_device_recv_t *d = recv->device;
    size_t left = bytes;
    recv->arrived += bytes;
    while (left > 0 && !weft_list_is_empty(&d->filling)) {
        weft_chunk_t *chunk = wefti_chunk_of(d->filling.next);
        size_t room = chunk->bytes - chunk->filled, part = left < room ? left : room;
        weft_copy(chunk->slot + chunk->filled, data, part);
        chunk->filled += part;
        data += part;
        left -= part;
        if (chunk->filled < chunk->bytes)
            continue;
        weft_list_remove(&chunk->link);
        int err =
            wefti_device_recv_has_failed(d) ? MPI_ERR_OTHER : wefti_device_recv_submit(d, chunk);
        if (err != MPI_SUCCESS) {
            wefti_device_recv_note_error(d, err);
            wefti_device_recv_give(d, chunk);
        }
    }
    wefti_device_recv_go_on(d);
}

/* ---- the sender's shelf ---- */

/* Have the device copy a piece of which `bytes` bytes fit into the buffer; false: an error was
 * noted. */
static bool submit_piece(weft_device_recv_t *d, char *piece, uint64_t ticket, size_t bytes)
{
    weft_chunk_t *chunk = wefti_chunk_of_peer(piece, ticket, d->recv->arrived, bytes);
    int err = chunk == NULL ? weft_fail(MPI_ERR_NO_MEM, "no memory for a piece of a message")
                            : wefti_device_recv_submit(d, chunk);
    if (err != MPI_SUCCESS && chunk != NULL)
        wefti_chunk_give(chunk);
    wefti_device_recv_note_error(d, err);
    return err == MPI_SUCCESS;
}

void wefti_device_recv_placed(weft_recv_t *recv, char *piece, const weft_placed_t *placed)
{
    weft_device_recv_t *d = recv->device;
    if (!d->by_shelf) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a piece on a shelf that this rank does not read");
        return;
    }
    size_t room = recv->arrived < d->total ? d->total - recv->arrived : 0;
    size_t bytes = weft_least(placed->bytes, room);
    bool is_read = bytes > 0 && !wefti_device_recv_has_failed(d) &&
                   submit_piece(d, piece, placed->ticket, bytes);
    recv->arrived += placed->bytes;
    if (!is_read)
        wefti_shelf_answer(d->endpoint, placed->ticket);
    wefti_device_recv_go_on(d);
}

void wefti_device_recv_no_shelf(weft_recv_t *recv)
{
    weft_device_recv_t *d = recv->device;
    if (d->from != FROM_STREAM || !d->by_shelf)
        return;
    d->by_shelf = false;
    wefti_device_recv_grant(d);
}

/* ---- beginning and end ---- */

static bool can_never_map(const weft_device_recv_t *d, const weft_share_t *share)
{
    return share != NULL &&
           (weft_device == NULL || weft_device->is_refused(share, d->memory.device));
}

/* Into host memory it is a stream like others. */
static void stream_to_host(weft_device_recv_t *d, uint64_t sender)
{
    weft_recv_t *recv = d->recv;
    weft_cts_t cts = {.limit = UINT64_MAX,
                      .cannot_map = d->cannot_map,
                      .reads_shelf = wefti_shelf_is_read(recv->peer, NULL, recv->message_bytes)};
    weft_endpoint_t *endpoint = d->endpoint;
    wefti_device_recv_release(d);
    wefti_recv_stream(recv, endpoint, sender, &cts);
}

/* No slots are taken before it is known that the data come in packets. */
static void offer_to_read(weft_device_recv_t *d)
{
    weft_cts_t cts = {.limit = 0, .cannot_map = d->cannot_map, .reads_shelf = true};
    wefti_recv_stream(d->recv, d->endpoint, d->sender, &cts);
}

void wefti_device_recv_stream(weft_device_recv_t *d, const weft_rts_t *rts)
{
    weft_recv_t *recv = d->recv;
    d->from = FROM_STREAM;
    d->cannot_map = can_never_map(d, rts->extra);
    recv->arrived = 0;
    if (d->memory.device == NULL) {
        stream_to_host(d, rts->request);
        return;
    }
    d->by_shelf = wefti_shelf_is_read(recv->peer, d->memory.device, d->total);
    if (d->by_shelf)
        offer_to_read(d);
    else
        wefti_device_recv_grant(d);
}

void wefti_device_recv_break(weft_recv_t *recv)
{
    recv->arrived = recv->message_bytes;
    wefti_device_recv_go_on(recv->device);
}
