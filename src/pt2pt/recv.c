/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving: a receive either finds its message among those that wait, or waits itself. Once
 * matched, the data come with the packet, straight from the sender's memory, or as a stream of
 * packets.
 */
#include "pt2pt/device_private.h"

#include "runtime/failures.h"
#include "runtime/progress.h"
#include "datatype/pack.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"

#include <string.h>

enum { BOUNCE_BYTES = 64 * 1024, SMALL_COPY = 64 };

/* ---- data ---- */

static inline void copy_dense(char *to, const void *data, size_t bytes)
{
    if (bytes <= SMALL_COPY)
        weft_copy_small(to, data, bytes);
    else
        weft_copy_read(to, data, bytes);
}

static void unpack_message(weft_recv_t *recv, size_t offset, const void *data, size_t bytes)
{
    const weft_recv_args_t *args = &recv->args;
    if (offset >= recv->capacity)
        return;
    if (bytes > recv->capacity - offset)
        bytes = recv->capacity - offset;
    if (args->type->is_dense)
        copy_dense((char *)args->buf + offset, data, bytes);
    else
        weft_unpack(args->buf, args->count, args->type, offset, data, bytes);
}

static void finish_recv(weft_recv_t *recv)
{
    size_t bytes = recv->message_bytes;
    recv->is_streaming = recv->is_split = recv->is_landing = false;
    if (__builtin_expect(bytes > recv->capacity, 0)) {
        bytes = recv->capacity;
        recv->request.status.MPI_ERROR = MPI_ERR_TRUNCATE;
    }
    weft_status_set_bytes(&recv->request.status, bytes);
    weft_request_complete(&recv->request);
}

/* Copy from the sender's memory through a bounce buffer, since the user's is not one run. */
static bool read_in_pieces(weft_recv_t *recv, weft_endpoint_t *endpoint, uint64_t address,
                           size_t bytes)
{
    char *bounce = weft_alloc(BOUNCE_BYTES);
    bool is_read = bounce != NULL;
    for (size_t at = 0; is_read && at < bytes; at += BOUNCE_BYTES) {
        size_t piece = bytes - at < BOUNCE_BYTES ? bytes - at : BOUNCE_BYTES;
        is_read = endpoint->remote->read(endpoint, address + at, bounce, piece);
        if (is_read)
            unpack_message(recv, at, bounce, piece);
    }
    weft_free(bounce);
    return is_read;
}

static bool read_directly(weft_recv_t *recv, weft_endpoint_t *endpoint, const weft_rts_t *rts)
{
    size_t bytes = rts->bytes < recv->capacity ? rts->bytes : recv->capacity;
    if (bytes == 0)
        return true;
    if (rts->address == 0 || !endpoint->can_read)
        return false;
    ptrdiff_t offset;
    size_t span;
    bool is_one_run = weft_type_span(recv->args.type, recv->args.count, &offset, &span);
    char *to = is_one_run ? (char *)recv->args.buf + offset : NULL;
    const weft_remote_ops_t *remote = endpoint->remote;
    bool is_short = rts->kind == WEFT_PACKET_RTS_SHORT;
    recv->is_preferred = !is_short && remote->prefers_stream(endpoint, rts->address, to, bytes);
    bool is_read =
        !recv->is_preferred && (is_one_run ? remote->read(endpoint, rts->address, to, bytes)
                                           : read_in_pieces(recv, endpoint, rts->address, bytes));
    if (is_short && is_read)
        remote->note_short(endpoint, bytes, rts->sent_ns, true);
    return is_read;
}

static void tell_stream_over(weft_recv_t *recv, size_t bytes)
{
    if (!recv->is_preferred)
        return;
    recv->is_preferred = false;
    weft_endpoint_t *endpoint = weft_process_reached(recv->peer);
    if (endpoint != NULL)
        endpoint->remote->stream_over(endpoint, bytes);
}

void wefti_recv_finish(weft_recv_t *recv)
{
    finish_recv(recv);
}

void wefti_recv_fail(weft_recv_t *recv)
{
    tell_stream_over(recv, 0);
    if (recv->is_split)
        wefti_split_forget(recv);
    recv->is_streaming = recv->is_split = recv->is_landing = false;
    weft_request_complete(&recv->request);
}

void wefti_recv_stop(weft_recv_t *recv)
{
    if (recv->device == NULL || wefti_device_recv_stop(recv))
        wefti_recv_fail(recv);
}

void wefti_recv_lose(weft_recv_t *recv)
{
    int process =
        recv->args.source >= 0 ? weft_comm_process(recv->args.comm, recv->args.source) : recv->peer;
    if (process >= 0 && weft_has_failed(process))
        weft_request_note_error(&recv->request, wefti_fail_lost(process));
    else
        recv->request.status.MPI_ERROR = MPI_ERR_OTHER;
    wefti_recv_stop(recv);
}

void wefti_recv_stream(weft_recv_t *recv, weft_endpoint_t *endpoint, uint64_t sender,
                       weft_cts_t *cts)
{
    recv->is_streaming = true;
    cts->request = (uint64_t)(uintptr_t)recv;
    wefti_send_answer(endpoint, WEFT_PACKET_CTS, sender, cts);
}

static void ask_for_stream(weft_recv_t *recv, weft_endpoint_t *endpoint, uint64_t sender)
{
    weft_cts_t cts = {.limit = UINT64_MAX,
                      .reads_shelf = wefti_shelf_is_read(recv->peer, NULL, recv->message_bytes)};
    recv->arrived = 0;
    wefti_recv_stream(recv, endpoint, sender, &cts);
}

static void recv_get_is_over(weft_get_t *get, bool is_good)
{
    weft_recv_t *recv = get->owner;
    if (!is_good) {
        get->endpoint->can_get = false;
        ask_for_stream(recv, get->endpoint, recv->sender);
        return;
    }
    if (!get->ends)
        wefti_send_answer(get->endpoint, WEFT_PACKET_FIN, recv->sender, NULL);
    finish_recv(recv);
}

/* Get the sender's memory, if it is registered and the receive buffer is one run. */
static bool recv_begin_get(weft_recv_t *recv, weft_endpoint_t *endpoint, const weft_rts_t *rts)
{
    ptrdiff_t offset;
    size_t span;
    if (rts->kind != WEFT_PACKET_RTS_RKEY || !endpoint->can_get ||
        !weft_type_span(recv->args.type, recv->args.count, &offset, &span))
        return false;
    recv->sender = rts->request;
    recv->get.endpoint = endpoint;
    recv->get.rkey = rts->rkey;
    recv->get.memory = NULL;
    recv->get.to = (char *)recv->args.buf + offset;
    recv->get.bytes = rts->bytes < recv->capacity ? rts->bytes : recv->capacity;
    recv->get.ends = endpoint->remote->tells_owner && recv->get.bytes > 0;
    recv->get.done = recv_get_is_over;
    recv->get.owner = recv;
    endpoint->remote->get(&recv->get);
    return true;
}

/* When this returns NULL the sender goes on waiting, since it cannot be told. */
weft_endpoint_t *wefti_recv_endpoint(weft_recv_t *recv, int source)
{
    weft_endpoint_t *endpoint = weft_process_endpoint(source);
    if (__builtin_expect(endpoint != NULL, 1))
        return endpoint;
    weft_request_note_error(&recv->request, MPI_ERR_OTHER);
    wefti_recv_stop(recv);
    return NULL;
}

/* Handle device memory on either side, or an error in place of data. */
static void match_unusual(weft_recv_t *recv, int source, const weft_rts_t *rts, const void *data)
{
    if (rts->kind != WEFT_PACKET_ERROR) {
        wefti_device_recv_matched(recv, source, rts, data);
        return;
    }
    wefti_note_packet_error(&recv->request, rts->extra, sizeof(weft_packet_error_t));
    wefti_recv_stop(recv);
}

static void note_match(weft_recv_t *recv, const weft_match_key_t *from, size_t bytes)
{
    MPI_Status *status = &recv->request.status;
    status->MPI_TAG = from->tag;
    status->MPI_SOURCE = recv->args.source != MPI_ANY_SOURCE
                             ? recv->args.source
                             : weft_group_rank_of(recv->args.comm->peers, from->source);
    recv->message_bytes = bytes;
    recv->peer = from->source;
    recv->is_preferred = false;
}

void wefti_recv_matched(weft_recv_t *recv, const weft_match_key_t *from, const weft_rts_t *rts,
                        const void *data)
{
    note_match(recv, from, rts->bytes);
    if (__builtin_expect(recv->device != NULL || rts->extra != NULL, 0)) {
        match_unusual(recv, from->source, rts, data);
        return;
    }
    if (data != NULL)
        unpack_message(recv, 0, data, rts->bytes);
    if (rts->request == 0) {
        finish_recv(recv);
        return;
    }
    weft_endpoint_t *endpoint = wefti_recv_endpoint(recv, from->source);
    if (__builtin_expect(endpoint == NULL, 0))
        return;
    if (__builtin_expect(endpoint->is_lost, 0)) {
        wefti_recv_lose(recv);
        return;
    }
    weft_fin_t fin = {.began_ns = rts->kind == WEFT_PACKET_RTS_SHORT ? weft_clock_ns() : 0};
    if (data != NULL || read_directly(recv, endpoint, rts)) {
        wefti_send_was_read(endpoint, rts->request, fin.began_ns == 0 ? NULL : &fin);
        finish_recv(recv);
        return;
    }
    if (!recv_begin_get(recv, endpoint, rts))
        ask_for_stream(recv, endpoint, rts->request);
}

weft_recv_t *wefti_recv_named(int source, const weft_header_t *header)
{
    weft_recv_t *recv = (weft_recv_t *)(uintptr_t)weft_header_number(header);
    if (wefti_recv_is_one(recv) && recv->request.object.kind == WEFT_KIND_REQUEST &&
        recv->peer == source &&
        (header->kind == WEFT_PACKET_LANDED ? recv->is_landing : recv->is_streaming))
        return recv;
    if (!weft_has_failed(source)) /* else the receive has ended with that */
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped data that belong to no receive");
    return NULL;
}

void wefti_recv_data_error(int source, const weft_header_t *header, const void *payload)
{
    weft_recv_t *recv = wefti_recv_named(source, header);
    if (recv == NULL)
        return;
    wefti_note_packet_error(&recv->request, payload, header->bytes);
    if (recv->device != NULL)
        wefti_device_recv_break(recv);
    else
        wefti_recv_fail(recv);
}

void wefti_recv_more(weft_recv_t *recv, const void *data, size_t bytes)
{
    unpack_message(recv, recv->arrived, data, bytes);
    recv->arrived += bytes;
    if (recv->arrived < recv->message_bytes)
        return;
    tell_stream_over(recv, recv->arrived);
    finish_recv(recv);
}

void wefti_recv_data(int source, const weft_header_t *header, const void *payload)
{
    weft_recv_t *recv = wefti_recv_named(source, header);
    if (recv == NULL)
        return;
    if (header->bytes > recv->message_bytes - recv->arrived) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped data that are too many for their message");
        return;
    }
    if (__builtin_expect(recv->device != NULL, 0)) {
        wefti_device_recv_data(recv, payload, header->bytes);
        return;
    }
    wefti_recv_more(recv, payload, header->bytes);
}

/* ---- what arrives ---- */

static inline void take_receive(weft_recv_t *recv)
{
    weft_match_remove(wefti_receives_with(recv), &recv->entry);
    recv->is_queued = false;
    if (__builtin_expect(wefti_pt2pt.has_trouble, 0))
        wefti_recv_resume(recv);
}

weft_recv_t *wefti_recv_find(const weft_match_key_t *key)
{
    weft_match_queue_t *receives = &wefti_matching(key->context)->receives;
    if (receives->count == 0)
        return NULL;
    weft_match_entry_t *entry = weft_match_find(receives, *key);
    return entry == NULL ? NULL : WEFT_ELEMENT(entry, weft_recv_t, entry);
}

void wefti_recv_take(weft_recv_t *recv, const weft_match_key_t *key, size_t bytes)
{
    take_receive(recv);
    note_match(recv, key, bytes);
    wefti_note_received(key->source, bytes);
}

void wefti_deliver(const weft_match_key_t *key, const weft_rts_t *rts, const void *data)
{
    weft_recv_t *recv = wefti_recv_find(key);
    wefti_note_received(key->source, rts->bytes);
    if (recv == NULL) {
        wefti_message_keep(key, rts, data);
        return;
    }
    take_receive(recv);
    wefti_recv_matched(recv, key, rts, data);
}

static __attribute__((noinline)) void deliver_eager(int source, weft_header_t header,
                                                    const void *payload)
{
    weft_match_key_t key = {header.context, source, header.tag};
    wefti_deliver(&key, &(weft_rts_t){.bytes = header.bytes}, payload);
}

/* A small message for the receive that was posted first, as most are. */
void wefti_recv_eager(int source, weft_header_t header, const void *payload)
{
    weft_match_queue_t *receives = &wefti_matching(header.context)->receives;
    weft_match_key_t key = {header.context, source, header.tag};
    weft_match_entry_t *entry = weft_match_first(receives, &key);
    weft_recv_t *recv = entry == NULL ? NULL : WEFT_ELEMENT(entry, weft_recv_t, entry);
    size_t bytes = header.bytes;
    if (__builtin_expect(recv == NULL || !recv->is_plain || bytes > SMALL_COPY ||
                             bytes > recv->capacity || receives->is_binned ||
                             !wefti_is_unobserved(),
                         0)) {
        deliver_eager(source, header, payload);
        return;
    }
    weft_match_unlink(receives, entry);
    recv->is_queued = false;
    weft_copy_small(recv->args.buf, payload, bytes);
    recv->request.status.MPI_SOURCE = recv->args.source;
    recv->request.status.MPI_TAG = header.tag;
    weft_status_set_bytes(&recv->request.status, bytes);
    weft_request_complete(&recv->request);
}
