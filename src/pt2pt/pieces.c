/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are more than one packet whose data are copied out.
 *
 * Streams: the DATA packets of a message that the receiver has asked for.
 *
 * Split eager messages: where a packet is small beside what is worth sending unasked, as in shared
 * memory, the message goes as several packets, and the receiver copies the first ones out while the
 * sender fills the next. Nothing that is matched goes between them, so an EAGER_NEXT need not say
 * what it belongs to. A message that no receive waits for is put together in memory of its own.
 *
 * Landing: data that come over a socket are copied once less when the transport writes them into
 * the receive's buffer.
 */
#include "pt2pt/device_private.h"

#include "datatype/pack.h"
#include "base/clock.h"
#include "base/least.h"
#include "base/log.h"

#include <string.h>

enum {
    LINE = 64,
    PAGE = 4096,
    ANSWER_PIECE = 4096,
    FIRST_PIECE = 8192, /* of a split message; further ones: */
    SHORT_PIECE = 16384,
    LONG_PIECE = 32768,
    SHORT_STREAM = 262144, /* bytes of one that may go back and forth within a core's cache */
    PIECES_LEFT = 8,
};

static void pack_piece(const weft_send_t *send, weft_endpoint_t *endpoint, void *room, size_t bytes)
{
    const weft_send_args_t *args = &send->args;
    if (args->type->is_dense)
        endpoint->link->store(endpoint, room, (const char *)args->buf + send->sent, bytes);
    else
        weft_pack(args->buf, args->count, args->type, send->sent, room, bytes);
}

/* Of what is left so many bytes go next, in whole lines, if a packet takes `most`: the last two
 * packets are alike, since nothing is filled while the last one is copied out. */
static size_t bytes_of_rest(size_t left, size_t most)
{
    if (left <= most)
        return left;
    return left < 2 * most ? (left / 2 + LINE - 1) & ~(size_t)(LINE - 1) : most;
}

/* ---- streams ---- */

/* Long packets cost less. But while the first one is filled, or the last one emptied, the other
 * rank waits: in shared memory these are short. And of a stream that is not long, all are short
 * enough to change hands (shm/cells.h): on a Zen 4 256 KiB take 8.1 us so, and 9.5 otherwise. */
static size_t bytes_of_piece(const weft_send_t *send)
{
    const weft_endpoint_t *endpoint = send->endpoint;
    size_t left = send->ready - send->sent, most = endpoint->packet_max;
    if (endpoint->split_max == 0)
        return weft_least(left, most);
    if (send->bytes <= SHORT_STREAM)
        return bytes_of_rest(left,
                             weft_least(most, send->sent < LONG_PIECE ? SHORT_PIECE : LONG_PIECE));
    size_t piece = weft_least(send->sent, left / PIECES_LEFT) & ~(size_t)(PAGE - 1);
    most = weft_least(most, piece > SHORT_PIECE ? piece : SHORT_PIECE);
    return weft_least(left, most);
}

bool wefti_stream_push(weft_send_t *send)
{
    weft_endpoint_t *endpoint = send->endpoint;
    while (send->sent < send->ready) {
        size_t bytes = bytes_of_piece(send);
        void *room = endpoint->link->reserve(endpoint, bytes);
        if (room == NULL)
            return false;
        pack_piece(send, endpoint, room, bytes);
        weft_header_t header = weft_header_for(WEFT_PACKET_DATA, send->cts.request, bytes);
        endpoint->link->commit(endpoint, header);
        send->sent += bytes;
    }
    return true;
}

/* ---- split: sending ---- */

/* A message that is worth one packet is split since the receiver waits for it: short pieces are
 * best, and there is no other way that it could take. */
static bool is_awaited(const weft_send_t *send)
{
    return send->bytes <= send->through->eager_max;
}

/* Whole lines, so that all packets begin as the buffer does; the first has room for its end, and is
 * not all of the message. */
static size_t bytes_of_next(const weft_send_t *send)
{
    size_t left = send->bytes - send->sent, later = send->sent == 0 ? FIRST_PIECE : SHORT_PIECE,
           piece = is_awaited(send) ? ANSWER_PIECE : later,
           most = weft_least(send->through->packet_max - LINE, piece);
    return bytes_of_rest(left, send->sent == 0 ? weft_least(most, left - 1) : most);
}

static bool push_packet(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    weft_endpoint_t *endpoint = send->through;
    weft_split_end_t end = {.total = send->bytes};
    bool is_first = send->sent == 0;
    size_t bytes = bytes_of_next(send), all = bytes + (is_first ? sizeof(end) : 0);
    char *room = endpoint->link->reserve(endpoint, all);
    if (room == NULL)
        return false;
    if (is_first && !is_awaited(send))
        end.sent_ns = weft_clock_ns();
    pack_piece(send, endpoint, room, bytes);
    if (is_first)
        memcpy(room + bytes, &end, sizeof(end));
    weft_header_t header = weft_header(is_first ? WEFT_PACKET_EAGER_FIRST : WEFT_PACKET_EAGER_NEXT,
                                       (uint32_t)all, args->context, args->tag);
    endpoint->link->commit(endpoint, header);
    send->sent += bytes;
    return true;
}

bool wefti_split_push(weft_send_t *send)
{
    while (send->sent < send->bytes) {
        if (!push_packet(send))
            return false;
        send->stage = WEFT_SEND_SPLIT;
    }
    send->stage = WEFT_SEND_FIRST; /* over, as an eager message is */
    wefti_send_finish(send);
    return true;
}

/* ---- split: receiving ---- */

/* Into host memory of a receive that waits, or else into a message, from which a receive on a
 * device gets it as a whole. */
static void begin_split(weft_split_t *split, const weft_match_key_t *key,
                        const weft_split_end_t *end)
{
    weft_recv_t *recv = wefti_recv_find(key);
    size_t bytes = end->total;
    *split = (weft_split_t){.left = bytes, .bytes = bytes, .sent_ns = end->sent_ns};
    if (recv != NULL)
        wefti_recv_take(recv, key, bytes);
    else
        wefti_note_received(key->source, bytes);
    if (recv == NULL || recv->device != NULL) {
        split->message = wefti_message_begin(key, bytes, recv);
        return;
    }
    recv->is_split = true;
    recv->arrived = 0;
    split->recv = recv;
}

/* The receive or the message may be gone after this, and another split message begun. */
static void hand_on(const weft_split_t *split, const void *data, size_t bytes)
{
    if (split->recv != NULL)
        wefti_recv_more(split->recv, data, bytes);
    else if (split->message != NULL)
        wefti_message_more(split->message, data, bytes);
}

static void take_data(weft_endpoint_t *endpoint, const void *data, size_t bytes)
{
    weft_split_t *split = wefti_split_from(endpoint), taken = *split;
    split->left -= bytes;
    if (split->left > 0) {
        hand_on(&taken, data, bytes);
        return;
    }
    *split = (weft_split_t){0};
    hand_on(&taken, data, bytes);
    if (taken.sent_ns != 0)
        endpoint->remote->note_short(endpoint, taken.bytes, taken.sent_ns, false);
}

/* Where such messages of a context come from; NULL: from nowhere. */
static weft_endpoint_t *split_source(int source, uint32_t context)
{
    weft_endpoint_t *endpoint = weft_process_reached(source);
    return endpoint == NULL ? NULL : weft_endpoint_of_vci(endpoint, weft_vci_of(context));
}

void wefti_split_first(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = {header->context, source, header->tag};
    weft_endpoint_t *endpoint = split_source(source, header->context);
    weft_split_end_t end;
    size_t bytes = header->bytes - sizeof(end);
    memcpy(&end, (const char *)payload + bytes, sizeof(end));
    if (endpoint == NULL || wefti_split_from(endpoint)->left > 0 || bytes >= end.total ||
        end.total > WEFT_SPLIT_MOST) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed EAGER_FIRST packet of rank %d", source);
        return;
    }
    begin_split(wefti_split_from(endpoint), &key, &end);
    take_data(endpoint, payload, bytes);
}

void wefti_split_next(int source, const weft_header_t *header, const void *payload)
{
    weft_endpoint_t *endpoint = split_source(source, header->context);
    if (endpoint == NULL || header->bytes > wefti_split_from(endpoint)->left)
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped an EAGER_NEXT packet of rank %d that is too long",
                 source);
    else
        take_data(endpoint, payload, header->bytes);
}

void wefti_split_forget(const weft_recv_t *recv)
{
    weft_endpoint_t *endpoint =
        recv->peer >= 0 ? split_source(recv->peer, recv->args.context) : NULL;
    if (endpoint != NULL && wefti_split_from(endpoint)->recv == recv)
        wefti_split_from(endpoint)->recv = NULL;
}

static void lose_split(weft_split_t *split, int process)
{
    weft_message_t *message = split->left > 0 ? split->message : NULL;
    *split = (weft_split_t){0};
    if (message != NULL)
        wefti_message_break(message, process);
}

void wefti_split_lose(int process)
{
    weft_endpoint_t *endpoint = process >= 0 ? weft_process_reached(process) : NULL;
    if (endpoint == NULL)
        return;
    lose_split(wefti_split_from(endpoint), process);
    for (int vci = 1; endpoint->of_vcis != NULL && vci < weft_world.vcis; vci++)
        lose_split(wefti_split_from(endpoint->of_vcis[vci]), process);
}

/* ---- landing ---- */

void *weft_packet_land(int source, weft_header_t *header)
{
    weft_match_key_t key = {header->context, source, header->tag};
    ptrdiff_t offset;
    size_t span, bytes = header->bytes;
    if (header->kind != WEFT_PACKET_EAGER)
        return NULL;
    weft_recv_t *recv = wefti_recv_find(&key);
    if (recv == NULL || recv->device != NULL || recv->capacity < bytes ||
        !weft_type_span(recv->args.type, recv->args.count, &offset, &span))
        return NULL;
    wefti_recv_take(recv, &key, bytes);
    recv->is_landing = true;
    recv->get.to = (char *)((uintptr_t)recv->args.buf + (uintptr_t)offset);
    *header = weft_header_for(WEFT_PACKET_LANDED, (uint64_t)(uintptr_t)recv, bytes);
    return recv->get.to;
}

void wefti_recv_landed(int source, const weft_header_t *header, const void *payload)
{
    weft_recv_t *recv = wefti_recv_named(source, header);
    if (recv != NULL && payload == recv->get.to && header->bytes == recv->message_bytes)
        wefti_recv_finish(recv);
}
