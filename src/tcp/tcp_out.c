/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending. The first packet for a peer in a round of progress goes straight to the socket. Those
 * that follow in the same round (a loop of MPI_Isend) gather in a buffer, which goes out with the
 * next round, when it has GATHER_BYTES, or before a call tells the program that something is
 * complete: a system call takes longer than the rest of a small message. Answers to READs go last
 * (tcp_block.c).
 */
#include "tcp/tcp_private.h"

#include "runtime/progress.h"
#include "base/copy.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { GATHER_BYTES = 128 * 1024, OUT_BYTES = PACKET_MAX + 2 * GATHER_BYTES, SHORT_BYTES = 1024 };

/* ---- peers with output ---- */

void wefti_tcp_note_dirty(tcp_peer_t *peer)
{
    if (peer->is_dirty)
        return;
    peer->is_dirty = true;
    peer->next_dirty = wefti_tcp.dirty;
    wefti_tcp.dirty = peer;
}

static size_t buffered(const tcp_peer_t *peer)
{
    return peer->out_end - peer->out_begin;
}

/* Bytes that wait for the socket, new blocks not included. */
static size_t rest_bytes(const tcp_peer_t *peer)
{
    return peer->stub_bytes + peer->tail_bytes + buffered(peer);
}

bool wefti_tcp_has_output(const tcp_peer_t *peer)
{
    if (peer->state == TCP_LOST)
        return false;
    return rest_bytes(peer) > 0 || peer->blocks != NULL || weft_net_must_tell_throttle(&peer->net);
}

static void note_waiting(tcp_peer_t *peer, bool is_waiting)
{
    size_t most = is_waiting || peer->has_pushed ? peer->eager_busy : peer->eager_idle;
    weft_endpoint_t *endpoint = &peer->net.endpoint;
    endpoint->at_once_max = endpoint->blocking_max = endpoint->eager_max = most;
}

/* After one large packet unasked, eager_max is small until something has come from the peer: of
 * many in a row the second would wait behind the first, and have to be copied. */
static void note_pushed(tcp_peer_t *peer, size_t bytes)
{
    if (bytes <= peer->eager_busy)
        return;
    peer->has_pushed = true;
    note_waiting(peer, true);
}

void wefti_tcp_note_heard(tcp_peer_t *peer)
{
    peer->has_pushed = false;
    note_waiting(peer, wefti_tcp_has_output(peer));
}

/* ---- the socket ---- */

static ssize_t write_once(int fd, struct iovec *pieces, int count)
{
    if (count == 1)
        return send(fd, pieces->iov_base, pieces->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

size_t wefti_tcp_write(tcp_peer_t *peer, struct iovec *pieces, int count)
{
    if (__builtin_expect(peer->pace != NULL, 0))
        return wefti_tcp_pace_write(peer, pieces, count);
    return wefti_tcp_write_socket(peer, pieces, count);
}

size_t wefti_tcp_write_socket(tcp_peer_t *peer, struct iovec *pieces, int count)
{
    ssize_t taken;
    do {
        taken = write_once(peer->source.fd, pieces, count);
    } while (taken < 0 && errno == EINTR);
    if (taken >= 0)
        return (size_t)taken;
    /* If the peer has gone, what it has said last may still be there to be read, and reading finds
     * the end of the connection. */
    bool is_gone = errno == EPIPE || errno == ECONNRESET;
    if (errno != EAGAIN && errno != EWOULDBLOCK && !is_gone)
        wefti_tcp_peer_lost(peer, "sending", errno);
    return 0;
}

/* The kernel copies what it is given into pages, piece after piece. If data get a place
 * whose offset in a page is greater than that of their source by less than 32 bytes, the copy takes
 * half as long again: 1 MiB from the beginning of a page took 186 us from one host to another with
 * 8, 16 or 24 bytes in front of it, and 147 us with 64. */
size_t wefti_tcp_make_head(char *head, const weft_header_t *header, const void *payload,
                           size_t before)
{
    weft_header_t own = *header;
    if (header->bytes > 0)
        own.lead = (uint8_t)(((uintptr_t)payload - HEADER_BYTES - before) % LINE_BYTES);
    memcpy(head, &own, HEADER_BYTES);
    memset(head + HEADER_BYTES, 0, own.lead);
    return HEADER_BYTES + own.lead;
}

static bool write_stub(tcp_peer_t *peer)
{
    struct iovec piece = {peer->stub, peer->stub_bytes};
    size_t taken = wefti_tcp_write(peer, &piece, 1);
    if (taken == 0)
        return false;
    peer->stub_bytes -= taken;
    memmove(peer->stub, peer->stub + taken, peer->stub_bytes);
    return peer->stub_bytes == 0;
}

static bool write_tail(tcp_peer_t *peer)
{
    struct iovec piece = {(void *)(uintptr_t)peer->tail, peer->tail_bytes};
    size_t taken = wefti_tcp_write(peer, &piece, 1);
    if (taken == 0)
        return false;
    peer->tail += taken;
    peer->tail_bytes -= taken;
    return peer->tail_bytes == 0;
}

static bool write_buffer(tcp_peer_t *peer)
{
    struct iovec piece = {peer->out + peer->out_begin, buffered(peer)};
    size_t taken = wefti_tcp_write(peer, &piece, 1);
    if (taken == 0)
        return false;
    peer->out_begin += taken;
    if (buffered(peer) > 0)
        return false;
    peer->out_begin = peer->out_end = 0;
    return true;
}

/* ---- what waits ---- */

/* Write the rests and the buffer, in order; true when nothing of them is left. */
static bool write_rests(tcp_peer_t *peer)
{
    if ((peer->stub_bytes > 0 && !write_stub(peer)) || (peer->tail_bytes > 0 && !write_tail(peer)))
        return false;
    wefti_tcp_end_block(peer);
    return buffered(peer) == 0 || write_buffer(peer);
}

/* Write all that waits until the socket is full; true when nothing is left. */
static bool tcp_write_all(tcp_peer_t *peer)
{
    if (peer->state != TCP_OPEN)
        return false;
    if (!write_rests(peer))
        return false;
    if (weft_net_must_tell_throttle(&peer->net) &&
        !weft_net_tell_throttle(&peer->net, wefti_tcp_send))
        return false;
    for (bool are_all_asked = false; !are_all_asked;) {
        are_all_asked = wefti_tcp_ask_gets(peer);
        if (!write_rests(peer))
            return false;
    }
    return wefti_tcp_write_blocks(peer); /* after the buffer, which may begin with half a frame */
}

static void settle_sent(tcp_peer_t *peer)
{
    peer->is_settling = true;
    bool is_done = tcp_write_all(peer);
    peer->is_settling = false;
    if (peer->state != TCP_OPEN) {
        if (peer->state != TCP_LOST)
            wefti_tcp_note_dirty(peer);
        return;
    }
    note_waiting(peer, !is_done);
    wefti_tcp_want_room(&peer->source, !is_done);
    if (!is_done)
        wefti_tcp_note_dirty(peer);
}

int wefti_tcp_flush_dirty(void)
{
    tcp_peer_t *peer = wefti_tcp.dirty;
    int moved = 0;
    wefti_tcp.dirty = NULL;
    while (peer != NULL) {
        tcp_peer_t *next = peer->next_dirty;
        size_t before = rest_bytes(peer);
        peer->is_dirty = false;
        settle_sent(peer);
        moved += rest_bytes(peer) != before;
        peer = next;
    }
    return moved;
}

/* ---- packets ---- */

static void make_buffer(tcp_peer_t *peer)
{
    char what[128];
    peer->out = weft_alloc(OUT_BYTES);
    if (peer->out != NULL)
        return;
    snprintf(what, sizeof(what), "what is sent to rank %d on %s",
             weft_process_rank(peer->net.process), peer->host);
    weft_out_of_memory(what, OUT_BYTES);
}

static bool has_room(tcp_peer_t *peer, size_t bytes)
{
    if (peer->out == NULL)
        make_buffer(peer);
    if (OUT_BYTES - peer->out_end >= bytes)
        return true;
    memmove(peer->out, peer->out + peer->out_begin, buffered(peer));
    peer->out_end -= peer->out_begin;
    peer->out_begin = 0;
    return OUT_BYTES - peer->out_end >= bytes;
}

static void append_frame(tcp_peer_t *peer, const void *data, size_t bytes)
{
    if (bytes > 0)
        weft_copy(peer->out + peer->out_end, data, bytes);
    peer->out_end += bytes;
}

static void let_frames_go(void)
{
    wefti_tcp_flush_dirty();
}

static void gather_frames(tcp_peer_t *peer)
{
    if (buffered(peer) >= GATHER_BYTES && !peer->is_settling) {
        settle_sent(peer);
        return;
    }
    wefti_tcp_note_dirty(peer);
    atomic_store_explicit(&weft_progress_held, let_frames_go, memory_order_relaxed);
}

/* Does nothing wait, and was nothing sent to the peer in this round? Notes that something is. */
static inline bool is_first_waiting(tcp_peer_t *peer)
{
    bool result = rest_bytes(peer) == 0 && peer->epoch != wefti_tcp.epoch;
    peer->epoch = wefti_tcp.epoch;
    return result;
}

static bool is_connection_open(tcp_peer_t *peer)
{
    if (__builtin_expect(peer->state == TCP_OPEN, 1))
        return true;
    /* Packets that are sent before the layer above is told of the loss are dropped. */
    return peer->state == TCP_LOST && !peer->net.endpoint.is_lost;
}

/* Write to the socket, and keep in the buffer what it does not take. */
static void write_or_keep(tcp_peer_t *peer, struct iovec *pieces, int count)
{
    size_t taken = wefti_tcp_write(peer, pieces, count);
    for (int i = 0; i < count && peer->state == TCP_OPEN; i++) {
        size_t gone = taken < pieces[i].iov_len ? taken : pieces[i].iov_len;
        taken -= gone;
        append_frame(peer, (const char *)pieces[i].iov_base + gone, pieces[i].iov_len - gone);
    }
    if (buffered(peer) > 0) {
        note_waiting(peer, true);
        wefti_tcp_note_dirty(peer);
    }
}

/* A short packet is copied together, which costs less than to give the kernel two pieces. */
static void write_short(tcp_peer_t *peer, const weft_header_t *header, const void *payload)
{
    char packet[SHORT_BYTES];
    memcpy(packet, header, HEADER_BYTES);
    if (header->bytes > 0)
        weft_copy(packet + HEADER_BYTES, payload, header->bytes);
    struct iovec piece = {packet, HEADER_BYTES + header->bytes};
    write_or_keep(peer, &piece, 1);
}

static void write_long(tcp_peer_t *peer, const weft_header_t *header, const void *payload)
{
    char head[HEAD_MAX];
    struct iovec pieces[2] = {{head, wefti_tcp_make_head(head, header, payload, 0)},
                              {(void *)(uintptr_t)payload, header->bytes}};
    write_or_keep(peer, pieces, 2);
}

bool wefti_tcp_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    tcp_peer_t *peer = (tcp_peer_t *)endpoint;
    if (!is_connection_open(peer) || !has_room(peer, HEAD_MAX + header.bytes))
        return false;
    if (__builtin_expect(peer->state == TCP_LOST, 0))
        return true;
    note_pushed(peer, header.bytes);
    if (is_first_waiting(peer)) {
        if (header.bytes <= SHORT_BYTES - HEADER_BYTES)
            write_short(peer, &header, payload);
        else
            write_long(peer, &header, payload);
        return true;
    }
    append_frame(peer, &header, HEADER_BYTES);
    append_frame(peer, payload, header.bytes);
    gather_frames(peer);
    return true;
}

void *wefti_tcp_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    tcp_peer_t *peer = (tcp_peer_t *)endpoint;
    if (!is_connection_open(peer) || !has_room(peer, HEADER_BYTES + bytes))
        return NULL;
    return peer->out + peer->out_end + HEADER_BYTES;
}

void wefti_tcp_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    tcp_peer_t *peer = (tcp_peer_t *)endpoint;
    if (__builtin_expect(peer->state == TCP_LOST, 0))
        return;
    bool goes_now = is_first_waiting(peer);
    note_pushed(peer, header.bytes);
    append_frame(peer, &header, HEADER_BYTES);
    peer->out_end += header.bytes;
    if (goes_now)
        settle_sent(peer);
    else
        gather_frames(peer);
}

void wefti_tcp_flush(weft_endpoint_t *endpoint)
{
    tcp_peer_t *peer = (tcp_peer_t *)endpoint;
    if (buffered(peer) > 0)
        settle_sent(peer);
}

void wefti_tcp_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    tcp_peer_t *peer = (tcp_peer_t *)endpoint;
    peer->net.throttles = is_on;
    wefti_tcp_note_dirty(peer);
}

void wefti_tcp_out_drop(tcp_peer_t *peer)
{
    peer->stub_bytes = peer->tail_bytes = 0;
    peer->out_begin = peer->out_end = 0;
    peer->net.has_told = peer->net.throttles;
    wefti_tcp_drop_blocks(peer);
}

void wefti_tcp_out_forget(tcp_peer_t *peer)
{
    wefti_tcp_out_drop(peer);
    weft_free(peer->out);
    peer->out = NULL;
}
