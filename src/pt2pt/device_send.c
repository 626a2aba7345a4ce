/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending out of device memory. The protocol of a message is chosen when the send begins:
 *
 *   SHARE    the receiver copies: from the buffer, or, if the data are not in one piece, from
 *            scratch on the device into which they are packed first
 *   EAGER    the data go into a slot, and from there as any small message; what the processor can
 *            read goes straight into the packet if there is room for it
 *   STREAM   an RTS goes out, or an RTS_RKEY where the network reads device memory: then the
 *            receiver may read the buffer; if it asks for packets, the data go into slots and out,
 *            chunk after chunk; if it reads this rank's shelf, they go onto that
 *   NONE     there was an error before anything went out: the receiver gets the error
 *
 * Until its first packet can go out the send waits in its endpoint's list and holds up later ones,
 * so that messages stay in order.
 */
#include "pt2pt/device_private.h"

#include "pt2pt/pt2pt_pvars.h"
#include "runtime/shelf.h"
#include "datatype/pack.h"
#include "base/fail.h"
#include "base/least.h"
#include "base/pool.h"

#include <string.h>

typedef enum protocol { PROTOCOL_SHARE, PROTOCOL_EAGER, PROTOCOL_STREAM, PROTOCOL_NONE } protocol_t;

typedef struct weft_device_send {
    weft_send_t *send;
    weft_memory_t memory; /* of the buffer */
    protocol_t protocol;
    bool is_ready;   /* the first packet can go */
    bool is_stopped; /* the peer is lost */
    int pending;     /* events that are not reached */
    void *scratch;   /* [send->bytes] the packed message; NULL: the data stay in the buffer */
    weft_share_t share;
    weft_event_t event; /* behind the packing into scratch */
    bool by_shelf;      /* the stream's chunks are on the shelf, not in slots */
    bool is_broken;     /* the receiver was told that the stream ends early */
    weft_list_t chunks; /* in order: chunks that are in slots, or on their way there */
    weft_list_t lent;   /* chunks on the shelf that the receiver has not read yet */
    size_t staged;      /* bytes of the message that were given to chunks so far */
    weft_slot_waiter_t slot_waiter;
} weft_device_send_t;

static weft_pool_t device_sends = WEFT_POOL(weft_device_send_t);

/* ---- events ---- */

static void note_send_error(weft_device_send_t *d, int error)
{
    if (error == MPI_SUCCESS)
        return;
    weft_request_note_error(&d->send->request, error);
    if (!d->is_ready)
        d->protocol = PROTOCOL_NONE;
}

static bool send_has_failed(const weft_device_send_t *d)
{
    return d->send->request.status.MPI_ERROR != MPI_SUCCESS;
}

/* End the stream early, and tell the receiver; it gives back what it was lent. */
static void break_off(weft_device_send_t *d)
{
    weft_send_t *send = d->send;
    if (!d->is_stopped && !d->is_broken)
        wefti_send_error(send->endpoint, WEFT_PACKET_DATA_ERROR, send->cts.request, &send->request);
    d->is_broken = true;
    if (d->is_stopped || weft_list_is_empty(&d->lent))
        wefti_send_finish(send);
}

/* How much of the stream is in slots without a gap. */
static void count_ready(weft_device_send_t *d)
{
    weft_link_t *at = d->chunks.next;
    for (; at != &d->chunks && wefti_chunk_of(at)->is_ready; at = at->next)
        d->send->ready = wefti_chunk_of(at)->offset + wefti_chunk_of(at)->bytes;
}

/* To be called when a part of the work is over. The send may be gone afterwards. */
static void send_go_on(weft_device_send_t *d)
{
    bool is_first = !d->is_ready;
    if (d->pending > 0 && (is_first || send_has_failed(d)))
        return;
    if (d->send->is_queued && !is_first && !d->is_stopped && send_has_failed(d))
        return; /* it ends when its turn comes */
    d->is_ready = true;
    if (d->is_stopped || (!is_first && send_has_failed(d))) {
        break_off(d);
        return;
    }
    if (is_first)
        return; /* its turn comes in the endpoint's list */
    count_ready(d);
    wefti_send_more(d->send);
}

static void settle_send(weft_device_send_t *d, int error)
{
    d->pending--;
    note_send_error(d, error);
    send_go_on(d);
}

static void send_scratch_is_packed(weft_event_t *event, int error)
{
    settle_send(event->owner, error);
}

static void send_chunk_is_filled(weft_event_t *event, int error)
{
    ((weft_chunk_t *)event)->is_ready = true;
    settle_send(event->owner, error);
}

static int put_send_event(weft_device_send_t *d, weft_queue_t *queue, weft_event_t *event,
                          void (*done)(weft_event_t *event, int error))
{
    event->done = done;
    event->owner = d;
    int err = weft_device->record(queue, event);
    if (err == MPI_SUCCESS)
        d->pending++;
    return err;
}

static int pack_chunk(weft_device_send_t *d, weft_queue_t *queue, void *to, size_t offset,
                      size_t bytes)
{
    const weft_send_args_t *args = &d->send->args;
    if (queue == NULL)
        return MPI_ERR_OTHER; /* the text of weft_fail is set */
    if (d->scratch != NULL && to != d->scratch)
        return weft_device->copy(queue, to, (char *)d->scratch + offset, bytes);
    weft_elements_t elements = {(void *)args->buf, args->count, args->type};
    return weft_device->pack(queue, &(weft_packing_t){&elements, offset, bytes, to});
}

/* ---- the protocols ---- */

static bool describe_message(weft_device_send_t *d, const weft_memory_t *memory, const void *data)
{
    const weft_send_t *send = d->send;
    if (send->endpoint == weft_process_reached(weft_processes.self)) {
        weft_device_share_own(memory, data, weft_world.rank, &d->share);
        return true;
    }
    if (!weft_device->share(memory, data, send->bytes, &d->share))
        return false;
    if (send->bytes >= WEFT_MAP_BYTES) /* the receiver will map it at once */
        weft_device->push(&d->share,
                          weft_process_rank(weft_comm_process(send->args.comm, send->args.dest)));
    return true;
}

/* Share data that are in one piece where they are. */
static bool share_buffer(weft_device_send_t *d, ptrdiff_t offset)
{
    const void *data = (void *)((uintptr_t)d->send->args.buf + (uintptr_t)offset);
    if (!describe_message(d, &d->memory, data))
        return false;
    d->protocol = PROTOCOL_SHARE;
    d->is_ready = true;
    return true;
}

/* Data that are not in one piece have to be packed first. False: there is no memory for that, or it
 * cannot be shared. */
static bool take_send_scratch(weft_device_send_t *d)
{
    weft_memory_t memory;
    d->scratch = weft_device->take_scratch(d->memory.device, d->send->bytes);
    if (d->scratch == NULL)
        return false;
    if (weft_device->look(d->scratch, &memory) == MPI_SUCCESS &&
        describe_message(d, &memory, d->scratch)) {
        d->protocol = PROTOCOL_SHARE;
        return true;
    }
    weft_device->give_scratch(d->memory.device, d->scratch);
    d->scratch = NULL;
    return false;
}

static int pack_into_scratch(weft_device_send_t *d)
{
    size_t bytes = d->send->bytes;
    weft_queue_t *queue = wefti_queue_for(d->memory.device, WEFT_STREAM_BULK, bytes);
    int err = pack_chunk(d, queue, d->scratch, 0, bytes);
    return err == MPI_SUCCESS ? put_send_event(d, queue, &d->event, send_scratch_is_packed) : err;
}

static int stage_chunk(weft_device_send_t *d, weft_chunk_t *chunk)
{
    weft_queue_t *queue = wefti_queue_for(d->memory.device, WEFT_STREAM_DOWN, d->send->bytes);
    weft_list_append(&d->chunks, &chunk->link);
    d->staged += chunk->bytes;
    int err = pack_chunk(d, queue, chunk->slot, chunk->offset, chunk->bytes);
    return err == MPI_SUCCESS ? put_send_event(d, queue, &chunk->event, send_chunk_is_filled) : err;
}

/* Begin to fill a chunk from `staged` on; false: there is no slot, or no place on the shelf. */
static bool stage_next(weft_device_send_t *d, size_t bytes)
{
    size_t most = weft_least(bytes, d->by_shelf ? WEFT_SHELF_PIECE : WEFT_PINNED_SLOT);
    weft_chunk_t *chunk = d->by_shelf ? wefti_chunk_on_shelf(d->staged, most)
                                      : wefti_chunk_take(d->memory.device, d->staged, most);
    if (chunk == NULL)
        return false;
    note_send_error(d, stage_chunk(d, chunk));
    return true;
}

static bool suits_eager(const weft_send_t *send)
{
    return send->bytes <= send->through->eager_max && send->bytes <= WEFT_PINNED_SLOT &&
           send->args.mode == WEFT_SEND_STANDARD && !send->through->is_throttled;
}

/* Let the network read the data, if they are in one piece. */
static void try_to_register(weft_device_send_t *d)
{
    weft_send_t *send = d->send;
    const weft_remote_ops_t *remote = send->endpoint->remote;
    ptrdiff_t offset;
    size_t bytes;
    if (send->bytes <= send->endpoint->eager_max ||
        !weft_type_span(send->args.type, send->args.count, &offset, &bytes) ||
        !remote->takes_device(&d->memory))
        return;
    const void *data = (void *)((uintptr_t)send->args.buf + (uintptr_t)offset);
    send->is_registered =
        remote->register_memory(send->endpoint, data, send->bytes, &d->memory, &send->registration);
}

/* Have the processor read the data into a slot, without the driver; false: not possible. */
static bool read_into_slot(weft_device_send_t *d)
{
    const weft_send_args_t *args = &d->send->args;
    ptrdiff_t offset;
    size_t bytes;
    weft_bar_t bar;
    if (!suits_eager(d->send) || !weft_type_span(args->type, args->count, &offset, &bytes) ||
        !weft_device->bar_find(&d->memory, (void *)((uintptr_t)args->buf + (uintptr_t)offset),
                               bytes, false, &bar))
        return false;
    weft_chunk_t *chunk = wefti_chunk_take(d->memory.device, 0, bytes);
    if (chunk == NULL)
        return false;
    weft_device->bar_read(&bar, chunk->slot, bytes);
    weft_list_append(&d->chunks, &chunk->link);
    d->staged = bytes;
    d->protocol = PROTOCOL_EAGER;
    d->is_ready = true;
    return true;
}

static int choose_send_protocol(weft_device_send_t *d)
{
    const weft_send_t *send = d->send;
    ptrdiff_t offset;
    size_t bytes;
    int err = weft_device->look(wefti_first_byte(send->args.buf, send->args.type), &d->memory);
    if (err == MPI_SUCCESS && d->memory.device == NULL)
        err = weft_fail(MPI_ERR_OTHER, "the device memory at %p has gone", send->args.buf);
    if (err != MPI_SUCCESS)
        return err;
    if (read_into_slot(d))
        return MPI_SUCCESS;
    if (send->endpoint->is_on_host && !wefti_sends_to(send->endpoint)->cannot_map) {
        if (!weft_type_span(send->args.type, send->args.count, &offset, &bytes)) {
            if (take_send_scratch(d))
                return pack_into_scratch(d);
        } else if (share_buffer(d, offset))
            return MPI_SUCCESS;
    }
    /* A send that waits for a slot holds up later ones, perhaps those that have the slots. So a
     * send that gets no slot is not eager. */
    d->protocol =
        suits_eager(send) && stage_next(d, send->bytes) ? PROTOCOL_EAGER : PROTOCOL_STREAM;
    d->is_ready = d->protocol == PROTOCOL_STREAM;
    if (d->protocol == PROTOCOL_STREAM)
        try_to_register(d);
    return MPI_SUCCESS;
}

/* ---- streams ---- */

static int chunks_in(const weft_list_t *list)
{
    int count = 0;
    for (const weft_link_t *at = list->next; at != list; at = at->next)
        count++;
    return count;
}

static void fill_slots(weft_device_send_t *d)
{
    const weft_send_t *send = d->send;
    size_t limit = d->by_shelf ? send->bytes : weft_least(send->cts.limit, send->bytes);
    int chunks = chunks_in(&d->chunks) + chunks_in(&d->lent);
    while (!send_has_failed(d) && d->staged < limit && chunks < WEFT_CHUNKS) {
        if (!stage_next(d, limit - d->staged)) {
            if (chunks == 0)
                wefti_slot_waiter_wait(&d->slot_waiter);
            return;
        }
        chunks++;
    }
}

static void send_retry(void *owner)
{
    weft_device_send_t *d = owner;
    fill_slots(d);
    if (send_has_failed(d))
        send_go_on(d);
}

/* A send that has one chunk on the shelf always gets on: the place of a chunk that was read is its
 * own for the next. Without one it takes the other way, since those that have the places may wait
 * for receivers that are not in MPI. */
static bool begin_on_shelf(weft_device_send_t *d)
{
    d->by_shelf = wefti_shelf_is_written(d->memory.device);
    d->by_shelf = d->by_shelf && stage_next(d, d->send->bytes);
    return d->by_shelf;
}

void wefti_device_send_cts(weft_send_t *send)
{
    weft_device_send_t *d = send->device;
    if (send->cts.reads_shelf && !begin_on_shelf(d) && send->cts.limit == 0)
        wefti_send_answer(send->endpoint, WEFT_PACKET_NO_SHELF, send->cts.request, NULL);
    fill_slots(d);
    if (send_has_failed(d))
        send_go_on(d);
}

static bool send_chunk(weft_send_t *send, weft_chunk_t *chunk)
{
    weft_endpoint_t *endpoint = send->endpoint;
    while (chunk->filled < chunk->bytes) {
        size_t left = chunk->bytes - chunk->filled;
        size_t bytes = left < endpoint->packet_max ? left : endpoint->packet_max;
        weft_header_t header = weft_header_for(WEFT_PACKET_DATA, send->cts.request, bytes);
        if (!endpoint->link->send(endpoint, header, chunk->slot + chunk->filled))
            return false;
        chunk->filled += bytes;
        send->sent += bytes;
        wefti_staged.by_packets += bytes;
    }
    return true;
}

/* Tell the receiver where a chunk lies; false: there is no room for that. */
static bool lend_chunk(weft_device_send_t *d, weft_chunk_t *chunk)
{
    weft_send_t *send = d->send;
    weft_placed_t placed = {.ticket = chunk->ticket, .bytes = chunk->bytes};
    weft_header_t header = weft_header_for(WEFT_PACKET_PLACED, send->cts.request, sizeof(placed));
    if (!send->endpoint->link->send(send->endpoint, header, &placed))
        return false;
    weft_list_remove(&chunk->link);
    weft_list_append(&d->lent, &chunk->link);
    chunk->filled = chunk->bytes;
    send->sent += chunk->bytes;
    wefti_staged.by_shelf += chunk->bytes;
    return true;
}

bool wefti_device_send_stream(weft_send_t *send)
{
    weft_device_send_t *d = send->device;
    while (send->sent < send->ready && !send_has_failed(d)) {
        weft_chunk_t *chunk = wefti_chunk_of(d->chunks.next);
        if (d->by_shelf && lend_chunk(d, chunk))
            continue;
        if (d->by_shelf)
            return false;
        chunk->filled = send->sent - chunk->offset;
        if (!send_chunk(send, chunk))
            return false;
        wefti_chunk_give(chunk);
        fill_slots(d);
    }
    return true;
}

void wefti_device_send_go_on(weft_send_t *send)
{
    weft_device_send_t *d = send->device;
    if (send_has_failed(d))
        send_go_on(d);
    else if (send->sent == send->bytes && weft_list_is_empty(&d->lent))
        wefti_send_finish(send);
}

const weft_endpoint_t *wefti_device_send_reader(const weft_chunk_t *chunk)
{
    const weft_device_send_t *d = chunk->event.owner;
    return d->send->endpoint;
}

void wefti_device_send_taken(weft_chunk_t *chunk)
{
    weft_device_send_t *d = chunk->event.owner;
    wefti_chunk_give(chunk);
    fill_slots(d);
    wefti_device_send_go_on(d->send);
}

/* ---- the first packet ---- */

static bool send_push_share(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    weft_endpoint_t *endpoint = send->through;
    struct {
        char rts[WEFT_RTS_BYTES];
        weft_share_t share;
    } packet = {.share = send->device->share};
    weft_rts_t rts = {.bytes = send->bytes, .request = (uint64_t)(uintptr_t)send};
    bool is_synchronous = args->mode == WEFT_SEND_SYNCHRONOUS;
    weft_header_t header =
        weft_header(is_synchronous ? WEFT_PACKET_RTS_SHARE_SYNC : WEFT_PACKET_RTS_SHARE,
                    WEFT_RTS_SHARE_BYTES, args->context, args->tag);
    memcpy(packet.rts, &rts, WEFT_RTS_BYTES);
    return endpoint->link->send(endpoint, header, &packet);
}

static bool push_rts(weft_send_t *send)
{
    weft_rts_t rts = {.bytes = send->bytes, .request = (uint64_t)(uintptr_t)send};
    weft_header_t header =
        weft_header(WEFT_PACKET_RTS, WEFT_RTS_BYTES, send->args.context, send->args.tag);
    if (send->is_registered) {
        rts.rkey = send->registration.rkey;
        header.kind = WEFT_PACKET_RTS_RKEY;
        header.bytes = WEFT_RTS_RKEY_BYTES;
    }
    return send->through->link->send(send->through, header, &rts);
}

/* Push one of these two packets, which are answered. A message of the process to itself is answered
 * before `push` returns, so the state of the send is set before. */
static bool push_question(weft_send_t *send, bool (*push)(weft_send_t *send))
{
    send->stage = WEFT_SEND_RTS_OUT;
    send->endpoint->asked++;
    wefti_sends_to(send->endpoint)->has_shares = true;
    weft_endpoint_t *endpoint = send->endpoint;
    if (push(send))
        return true;
    endpoint->asked--;
    send->stage = WEFT_SEND_FIRST;
    return false;
}

static bool push_eager(weft_send_t *send)
{
    const weft_chunk_t *chunk = wefti_chunk_of(send->device->chunks.next);
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER, (uint32_t)send->bytes, send->args.context, send->args.tag);
    return send->through->link->send(send->through, header, chunk->slot);
}

static bool push_error(weft_send_t *send)
{
    weft_packet_error_t packet_error = wefti_packet_error(&send->request);
    weft_header_t header =
        weft_header(WEFT_PACKET_ERROR, sizeof(packet_error), send->args.context, send->args.tag);
    return send->through->link->send(send->through, header, &packet_error);
}

bool wefti_device_send_push(weft_send_t *send)
{
    const weft_device_send_t *d = send->device;
    if (!d->is_ready)
        return false;
    if (d->protocol == PROTOCOL_SHARE)
        return push_question(send, send_push_share);
    if (d->protocol == PROTOCOL_STREAM)
        return push_question(send, push_rts);
    if (!(d->protocol == PROTOCOL_EAGER ? push_eager(send) : push_error(send)))
        return false;
    wefti_send_finish(send);
    return true;
}

/* ---- beginning and end ---- */

bool wefti_device_send_at_once(weft_endpoint_t *endpoint, const weft_send_args_t *args)
{
    size_t bytes = args->count * args->type->size;
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER, (uint32_t)bytes, args->context, args->tag);
    weft_memory_t memory;
    weft_bar_t bar;
    if (!weft_device->bar_suits(bytes, false) ||
        weft_device->look(args->buf, &memory) != MPI_SUCCESS || memory.device == NULL ||
        !weft_device->bar_find(&memory, args->buf, bytes, false, &bar))
        return false;
    void *room = endpoint->link->reserve(endpoint, bytes);
    if (room == NULL)
        return false;
    weft_device->bar_read(&bar, room, bytes);
    endpoint->link->commit(endpoint, header);
    return true;
}

int wefti_device_send_begin(weft_send_t *send)
{
    weft_device_send_t *d = weft_pool_take(&device_sends);
    if (d == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a send from device memory");
    *d = (weft_device_send_t){.send = send};
    weft_list_init(&d->chunks);
    weft_list_init(&d->lent);
    wefti_slot_waiter_init(&d->slot_waiter, send_retry, d);
    send->device = d;
    send->ready = 0;
    note_send_error(d, choose_send_protocol(d));
    if (send_has_failed(d)) {
        d->protocol = PROTOCOL_NONE;
        d->is_ready = d->pending == 0;
    }
    return MPI_SUCCESS;
}

bool wefti_device_send_stop(weft_send_t *send)
{
    send->device->is_stopped = true;
    return send->device->pending == 0;
}

void wefti_device_send_end(weft_send_t *send)
{
    weft_device_send_t *d = send->device;
    send->device = NULL;
    wefti_slot_waiter_forget(&d->slot_waiter);
    while (!weft_list_is_empty(&d->chunks))
        wefti_chunk_give(wefti_chunk_of(d->chunks.next));
    while (!weft_list_is_empty(&d->lent))
        wefti_chunk_give(wefti_chunk_of(d->lent.next));
    if (d->scratch != NULL)
        weft_device->give_scratch(d->memory.device, d->scratch);
    weft_device->unshare(&d->share);
    weft_pool_give(&device_sends, d);
}

void wefti_device_tell_freed(uint64_t id)
{
    for (int i = 0; i < weft_world.local_size; i++) {
        weft_endpoint_t *endpoint =
            weft_process_reached(weft_process_find(WEFT_OWN_JOB, weft_world.local_ranks[i]));
        if (endpoint != NULL && wefti_sends_to(endpoint)->has_shares)
            wefti_send_answer(endpoint, WEFT_PACKET_SHARE_FREED, id, NULL);
    }
}

void wefti_device_sends_close(void)
{
    weft_pool_close(&device_sends);
    wefti_shelf_close();
}
