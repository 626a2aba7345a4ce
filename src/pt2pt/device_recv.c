/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving into device memory, and from a peer's device memory into any memory. Where the data
 * come from is decided when the message is matched:
 *
 *   PACKET    the data came with the message: the processor writes them at once, or a copy is kept
 *             until all of it is in slots
 *   MAPPING   the sender's device memory, mapped here: in one copy, or through slots into ordinary
 *             host memory
 *   MEMORY    the sender's host memory, read into slots
 *   GET       the sender's memory of any kind, which the network reads into device memory
 *   STREAM    packets, into slots that were taken before the sender was told to send; or pieces on
 *             the sender's shelf
 */
#include "pt2pt/device_recv_private.h"

#include "datatype/pack.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/pool.h"

#include <string.h>

static weft_pool_t device_recvs = WEFT_POOL(weft_device_recv_t);

static void fill_chunk(weft_device_recv_t *d);

/* ---- the end ---- */

void wefti_device_recv_note_error(weft_device_recv_t *d, int error)
{
    if (error != MPI_SUCCESS)
        weft_request_note_error(&d->recv->request, error);
}

static void release_mapping(weft_device_recv_t *d)
{
    if (d->is_mapped)
        weft_device->unmap(&d->mapping);
    d->is_mapped = false;
}

void wefti_device_recv_release(weft_device_recv_t *d)
{
    d->recv->device = NULL;
    wefti_slot_waiter_forget(&d->slot_waiter);
    while (!weft_list_is_empty(&d->filling))
        wefti_device_recv_give(d, wefti_chunk_of(d->filling.next));
    release_mapping(d);
    weft_free(d->kept);
    weft_pool_give(&device_recvs, d);
}

/* The sender of a stream knows when it has sent all; other senders are told that the data were
 * taken, or the error. */
static void answer_sender(const weft_device_recv_t *d)
{
    if (d->endpoint == NULL || d->is_stopped || d->from == FROM_STREAM)
        return;
    if (wefti_device_recv_has_failed(d))
        wefti_send_error(d->endpoint, WEFT_PACKET_NACK, d->sender, &d->recv->request);
    else
        wefti_send_answer(d->endpoint, WEFT_PACKET_FIN, d->sender, NULL);
}

static void conclude_recv(weft_device_recv_t *d)
{
    weft_recv_t *recv = d->recv;
    bool failed = wefti_device_recv_has_failed(d);
    release_mapping(d); /* the sender may free the memory as soon as it has the answer */
    answer_sender(d);
    wefti_device_recv_release(d);
    if (failed)
        wefti_recv_fail(recv);
    else
        wefti_recv_finish(recv);
}

static bool is_recv_over(const weft_device_recv_t *d)
{
    if (d->is_stopped)
        return true;
    if (d->from == FROM_STREAM && d->recv->arrived < d->recv->message_bytes)
        return false;
    return wefti_device_recv_has_failed(d) || d->over == d->total;
}

void wefti_device_recv_go_on(weft_device_recv_t *d)
{
    if (d->pending == 0 && is_recv_over(d)) {
        conclude_recv(d);
        return;
    }
    if (d->must_stream && d->pending == 0) {
        d->from = FROM_STREAM;
        d->must_stream = false;
        d->begun = d->over = 0;
        d->recv->arrived = 0;
        wefti_device_recv_grant(d);
    } else if (d->from == FROM_STREAM) {
        if (!d->by_shelf)
            wefti_device_recv_grant(d);
    } else if (!wefti_device_recv_has_failed(d) && !d->must_stream)
        fill_chunk(d);
}

/* ---- work ---- */

static int put_recv_event(weft_device_recv_t *d, weft_queue_t *queue, weft_event_t *event,
                          void (*done)(weft_event_t *event, int error))
{
    event->done = done;
    event->owner = d;
    int err = weft_device->record(queue, event);
    if (err == MPI_SUCCESS)
        d->pending++;
    return err;
}

/* Unpack the bytes [what->offset, what->offset + what->bytes) of the message, which are at
 * what->packed, into the buffer on the device. */
static int unpack_chunk(weft_device_recv_t *d, weft_queue_t *queue, const weft_packing_t *what)
{
    const weft_recv_args_t *args = &d->recv->args;
    if (queue == NULL)
        return MPI_ERR_OTHER; /* the text of weft_fail is set */
    weft_elements_t elements = {args->buf, args->count, args->type};
    weft_packing_t packing = *what;
    packing.elements = &elements;
    return weft_device->unpack(queue, &packing);
}

static void unpack_on_host(const weft_device_recv_t *d, const weft_chunk_t *chunk)
{
    const weft_recv_args_t *args = &d->recv->args;
    weft_unpack(args->buf, args->count, args->type, chunk->offset, chunk->slot, chunk->bytes);
}

static void recv_chunk_is_over(weft_event_t *event, int error)
{
    weft_chunk_t *chunk = (weft_chunk_t *)event;
    weft_device_recv_t *d = event->owner;
    d->pending--;
    wefti_device_recv_note_error(d, error);
    if (error == MPI_SUCCESS && d->memory.device == NULL && !d->is_stopped)
        unpack_on_host(d, chunk);
    d->over += chunk->bytes;
    wefti_device_recv_give(d, chunk);
    wefti_device_recv_go_on(d);
}

int wefti_device_recv_submit(weft_device_recv_t *d, weft_chunk_t *chunk)
{
    bool is_down = d->memory.device == NULL;
    weft_device_t *device = is_down ? d->mapping.device : d->memory.device;
    weft_queue_t *queue =
        wefti_queue_for(device, is_down ? WEFT_STREAM_DOWN : WEFT_STREAM_UP, d->total);
    weft_packing_t what = {.offset = chunk->offset, .bytes = chunk->bytes, .packed = chunk->slot};
    int err = queue == NULL ? MPI_ERR_OTHER
              : is_down
                  ? weft_device->copy(queue, chunk->slot,
                                      (char *)d->mapping.address + chunk->offset, chunk->bytes)
                  : unpack_chunk(d, queue, &what);
    return err == MPI_SUCCESS ? put_recv_event(d, queue, &chunk->event, recv_chunk_is_over) : err;
}

/* Fill the slot if the data have to be in it before the device's part. False: the sender's memory
 * cannot be read. */
static bool load_chunk(weft_device_recv_t *d, weft_chunk_t *chunk)
{
    if (d->from == FROM_PACKET)
        weft_copy(chunk->slot, d->data + chunk->offset, chunk->bytes);
    else if (d->from == FROM_MEMORY)
        return d->endpoint->remote->read(d->endpoint, d->address + chunk->offset, chunk->slot,
                                         chunk->bytes);
    return true;
}

/* Begin one more chunk; false: there is no slot, or an error was noted, or the data must be
 * streamed. */
static bool begin_chunk(weft_device_recv_t *d)
{
    weft_device_t *device = d->memory.device == NULL ? d->mapping.device : d->memory.device;
    size_t left = d->total - d->begun;
    weft_chunk_t *chunk =
        wefti_chunk_take(device, d->begun, left < WEFT_PINNED_SLOT ? left : WEFT_PINNED_SLOT);
    if (chunk == NULL)
        return false;
    d->must_stream = !load_chunk(d, chunk);
    int err = d->must_stream ? MPI_ERR_OTHER : wefti_device_recv_submit(d, chunk);
    if (err != MPI_SUCCESS) {
        wefti_chunk_give(chunk);
        if (!d->must_stream)
            wefti_device_recv_note_error(d, err);
        return false;
    }
    d->begun += chunk->bytes;
    return true;
}

static void recv_retry(void *owner)
{
    wefti_device_recv_go_on(owner);
}

/* Keep up to WEFT_CHUNKS chunks on their way. */
static void begin_chunks(weft_device_recv_t *d)
{
    while (d->begun < d->total && d->pending < WEFT_CHUNKS && begin_chunk(d))
        continue;
}

/* The receive may be gone afterwards. */
static void await_chunks(weft_device_recv_t *d)
{
    if (d->pending > 0)
        return;
    if (wefti_device_recv_has_failed(d) || d->must_stream)
        wefti_device_recv_go_on(d);
    else
        wefti_slot_waiter_wait(&d->slot_waiter);
}

static void fill_chunk(weft_device_recv_t *d)
{
    begin_chunks(d);
    await_chunks(d);
}

/* ---- from a mapping ---- */

static void recv_copy_is_over(weft_event_t *event, int error)
{
    weft_device_recv_t *d = event->owner;
    d->pending--;
    wefti_device_recv_note_error(d, error);
    d->over = d->total;
    wefti_device_recv_go_on(d);
}

/* The address of the buffer's data, if they are in one piece; else NULL. */
static char *data_in_one_piece(const weft_device_recv_t *d)
{
    ptrdiff_t offset;
    size_t bytes;
    const weft_recv_args_t *args = &d->recv->args;
    if (!weft_type_span(args->type, args->count, &offset, &bytes))
        return NULL;
    return (char *)((uintptr_t)args->buf + (uintptr_t)offset);
}

/* Host memory that the device reaches by itself. */
static bool is_pinned(const weft_device_recv_t *d)
{
    const char *data = data_in_one_piece(d);
    weft_memory_t memory;
    return data != NULL && weft_device->look(data, &memory) == MPI_SUCCESS &&
           memory.kind == WEFT_MEMORY_PINNED;
}

static int copy_message_at_once(weft_device_recv_t *d)
{
    weft_stream_class_t stream_class =
        d->memory.device == NULL ? WEFT_STREAM_DOWN : WEFT_STREAM_BULK;
    weft_queue_t *queue = wefti_queue_for(d->mapping.device, stream_class, d->total);
    weft_packing_t what = {.bytes = d->total, .packed = d->mapping.address};
    char *data = data_in_one_piece(d);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    int err = data != NULL ? weft_device->copy(queue, data, d->mapping.address, d->total)
                           : unpack_chunk(d, queue, &what);
    return err == MPI_SUCCESS ? put_recv_event(d, queue, &d->event, recv_copy_is_over) : err;
}

/* Kernels work on memory of their own device only. */
static bool can_unpack(const weft_device_recv_t *d)
{
    return d->memory.device == NULL || d->memory.device == d->mapping.device ||
           data_in_one_piece(d) != NULL;
}

static bool map_export(weft_device_recv_t *d, const weft_share_t *share)
{
    bool at_any_price = d->total >= WEFT_MAP_BYTES;
    /* A brief share's descriptor comes with a large message; it is not worth asking for. */
    if (weft_device == NULL || (share->is_brief && !at_any_price))
        return false;
    if (!weft_device->map(share, d->memory.device, at_any_price, &d->mapping)) {
        if (share->is_brief)
            weft_device->give_up(share);
        return false;
    }
    d->is_mapped = can_unpack(d);
    if (!d->is_mapped)
        weft_device->unmap(&d->mapping);
    return d->is_mapped;
}

static void copy_from_mapping(weft_device_recv_t *d)
{
    d->from = FROM_MAPPING;
    if (d->memory.device == NULL && !is_pinned(d)) {
        fill_chunk(d);
        return;
    }
    d->begun = d->total;
    wefti_device_recv_note_error(d, copy_message_at_once(d));
    if (d->pending == 0)
        wefti_device_recv_go_on(d);
}

/* ---- from memory that the peer has registered ---- */

static void device_recv_get_is_over(weft_get_t *get, bool is_good)
{
    weft_device_recv_t *d = ((weft_recv_t *)get->owner)->device;
    d->pending--;
    d->over = is_good ? d->total : 0;
    d->must_stream = !is_good;
    wefti_device_recv_go_on(d);
}

static bool device_recv_begin_get(weft_device_recv_t *d, const weft_rts_t *rts)
{
    const weft_remote_ops_t *remote = d->endpoint->remote;
    char *data = data_in_one_piece(d);
    if (rts->kind != WEFT_PACKET_RTS_RKEY || !d->endpoint->can_get || d->memory.device == NULL ||
        data == NULL || !remote->takes_device(&d->memory))
        return false;
    d->from = FROM_GET;
    d->begun = d->total;
    d->pending++;
    d->recv->get = (weft_get_t){.endpoint = d->endpoint,
                                .rkey = rts->rkey,
                                .to = data,
                                .bytes = d->total,
                                .memory = &d->memory,
                                .done = device_recv_get_is_over,
                                .owner = d->recv};
    remote->get(&d->recv->get);
    return true;
}

/* ---- beginning ---- */

/* NULL: there is no memory. */
static weft_device_recv_t *create_device_recv(weft_recv_t *recv)
{
    weft_device_recv_t *d = weft_pool_take(&device_recvs);
    if (d == NULL)
        return NULL;
    *d = (weft_device_recv_t){.recv = recv};
    weft_list_init(&d->filling);
    wefti_slot_waiter_init(&d->slot_waiter, recv_retry, d);
    recv->device = d;
    return d;
}

/* An error is kept until the message is there, so that the sender is told, too. */
int wefti_device_recv_begin(weft_recv_t *recv)
{
    weft_device_recv_t *d = create_device_recv(recv);
    if (d == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a receive into device memory");
    int err = weft_device->look(wefti_first_byte(recv->args.buf, recv->args.type), &d->memory);
    if (err == MPI_SUCCESS && d->memory.device == NULL)
        err = weft_fail(MPI_ERR_OTHER, "the device memory at %p has gone", recv->args.buf);
    wefti_device_recv_note_error(d, err);
    return MPI_SUCCESS;
}

/* Have the processor write the data, without the driver; false: not possible. */
static bool write_at_once(weft_device_recv_t *d, const void *data)
{
    weft_bar_t bar;
    const char *to = d->memory.device == NULL ? NULL : data_in_one_piece(d);
    if (to == NULL || !weft_device->bar_find(&d->memory, to, d->total, true, &bar))
        return false;
    weft_device->bar_write(&bar, data, d->total);
    d->begun = d->over = d->total;
    return true;
}

/* The payload of a packet is valid only during this call; data that are not in slots by its end are
 * copied to memory of the receive. */
static void take_packet(weft_device_recv_t *d, const void *data)
{
    d->from = FROM_PACKET;
    if (write_at_once(d, data)) {
        conclude_recv(d);
        return;
    }
    d->data = data;
    begin_chunks(d);
    if (d->begun < d->total && !wefti_device_recv_has_failed(d)) {
        d->data = d->kept = weft_alloc(d->total);
        if (d->kept != NULL)
            weft_copy(d->kept, data, d->total);
        else
            wefti_device_recv_note_error(d, weft_fail(MPI_ERR_NO_MEM,
                                                      "no memory for a message of %zu bytes on its "
                                                      "way to device memory",
                                                      d->total));
    }
    await_chunks(d);
}

void wefti_device_recv_matched(weft_recv_t *recv, int source, const weft_rts_t *rts,
                               const void *data)
{
    weft_device_recv_t *d = recv->device != NULL ? recv->device : create_device_recv(recv);
    if (d == NULL)
        weft_out_of_memory("a message from device memory", sizeof(*d));
    d->sender = rts->request;
    d->total = rts->bytes < recv->capacity ? rts->bytes : recv->capacity;
    if (rts->request != 0) {
        d->endpoint = wefti_recv_endpoint(recv, source);
        if (d->endpoint == NULL)
            return;
    }
    if (rts->extra != NULL)
        wefti_device_recv_note_error(d,
                                     wefti_check_share(rts->extra, source, d->endpoint, d->total));
    if (d->endpoint != NULL && d->endpoint->is_lost) {
        wefti_recv_lose(recv);
    } else if (wefti_device_recv_has_failed(d) || d->total == 0) {
        d->from = FROM_PACKET; /* no data are needed from the sender, which gets an answer */
        d->over = d->total;
        conclude_recv(d);
    } else if (data != NULL) {
        take_packet(d, data);
    } else if (rts->extra != NULL && map_export(d, rts->extra)) {
        copy_from_mapping(d);
    } else if (d->memory.device != NULL && rts->address != 0 && d->endpoint->can_read) {
        d->from = FROM_MEMORY;
        d->address = rts->address;
        fill_chunk(d);
    } else if (!device_recv_begin_get(d, rts)) {
        wefti_device_recv_stream(d, rts);
    }
}

bool wefti_device_recv_stop(weft_recv_t *recv)
{
    weft_device_recv_t *d = recv->device;
    d->is_stopped = true;
    if (d->pending > 0)
        return false;
    wefti_device_recv_release(d);
    return true;
}

void wefti_device_recvs_close(void)
{
    weft_pool_close(&device_recvs);
}
