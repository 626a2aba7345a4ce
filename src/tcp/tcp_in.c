/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving. Data are read from the socket into one buffer, the inbox, and whole packets are handed
 * on from there. The rest of a packet that is not whole is read into its own place: the block of a
 * get straight into the user's memory.
 */
#include "tcp/tcp_private.h"

#include "base/clock.h"
#include "base/copy.h"
#include "base/least.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    INBOX_BYTES = 256 * 1024,
    /* While a block is expected, or another large packet after one, only so many bytes are read
     * into the inbox, since they have to be copied from there; the rest is read into its place. */
    INBOX_OF_BLOCKS = 512,
    LARGE_BYTES = 16 * 1024,
    /* While more than MUCH_BYTES are to come in a stream, a socket that was read empty is left
     * alone until ENOUGH_BYTES are there, or no more have come for STILL_NS. An early read finds
     * little, and takes the lock of the socket, for which the kernel has to wait when it adds data.
     * With the rest the reader's core worked half as long, and messages of 64 KiB, 256 KiB and 1
     * MiB moved at 5.8, 6.7 and 6.3 GB/s (means of ten runs); without it at 5.1, 5.8 and 5.9. */
    MUCH_BYTES = 1024 * 1024,
    MUCH_AT_ONCE =
        4 * 1024 * 1024, /* the same for a single message, where to wait costs more than it gains */
    ENOUGH_BYTES = 512 * 1024,
    STREAM_BYTES = 32 * 1024, /* what a read of a stream gets at least */
    STILL_NS = 20000,
    LOOK_NS = 2000,
};

static char *inbox; /* [INBOX_BYTES] shared by all peers; it is empty between two reads */

static void drop_connection(tcp_peer_t *peer, const char *why)
{
    WEFT_LOG(WEFT_ERROR, "tcp", "rank %d sent a malformed packet: %s",
             weft_process_rank(peer->net.process), why);
    wefti_tcp_peer_lost(peer, "receiving", EPROTO);
}

/* ---- whole frames ---- */

static void take_read(tcp_peer_t *peer, const char *payload)
{
    tcp_read_t read;
    memcpy(&read, payload, sizeof(read));
    wefti_tcp_add_block(peer, &read);
}

static void take_no_read(tcp_peer_t *peer)
{
    weft_get_t *get = wefti_tcp_find_get(peer, weft_header_number(&peer->header));
    if (get != NULL)
        wefti_tcp_end_get(peer, get, false);
}

/* All data of a block are in their place. */
static void take_frame_block(tcp_peer_t *peer)
{
    weft_get_t *get = wefti_tcp_find_get(peer, weft_header_number(&peer->header));
    if (get == NULL)
        return;
    get->begun += peer->header.bytes;
    peer->wanted_bytes -= peer->header.bytes;
    if (get->begun == get->bytes)
        wefti_tcp_end_get(peer, get, true);
}

static void take_frame(tcp_peer_t *peer, const char *payload)
{
    weft_header_t header = peer->header;
    peer->header_got = 0; /* before the sink is called, which may call this transport again */
    peer->place = NULL;
    peer->place_got = 0;
    switch (header.kind) {
    case WEFT_WIRE_THROTTLE:
    case WEFT_WIRE_RELEASE:
        weft_net_take_throttle(&peer->net, header.kind);
        break;
    case FRAME_READ:
        take_read(peer, payload);
        break;
    case FRAME_NO_READ:
        take_no_read(peer);
        break;
    case FRAME_BLOCK:
        take_frame_block(peer);
        break;
    default:
        wefti_tcp.sink(peer->net.process, header, payload);
    }
}

/* ---- frames in pieces ---- */

/* What is wrong with a header; NULL: nothing. */
static const char *find_frame_fault(tcp_peer_t *peer)
{
    const weft_header_t *header = &peer->header;
    if (header->kind == FRAME_READ && header->bytes != sizeof(tcp_read_t))
        return "a read of the wrong length";
    if (header->kind != FRAME_BLOCK)
        return header->bytes > PACKET_MAX ? "it is too long" : NULL;
    weft_get_t *get = wefti_tcp_find_get(peer, weft_header_number(header));
    if (get == NULL)
        return "a block that nobody asked for";
    return header->bytes > get->bytes - get->begun ? "a block that is too long" : NULL;
}

/* Where the parts of a payload that is not whole are to go. */
static char *find_place(tcp_peer_t *peer)
{
    if (peer->header.kind == FRAME_BLOCK) {
        weft_get_t *get = wefti_tcp_find_get(peer, weft_header_number(&peer->header));
        return get->to + get->begun;
    }
    char *place =
        weft_world.land == NULL ? NULL : weft_world.land(peer->net.process, &peer->header);
    if (place != NULL)
        return place;
    if (peer->assembly == NULL)
        peer->assembly = weft_alloc(PACKET_MAX);
    if (peer->assembly == NULL)
        weft_out_of_memory("a packet that comes in pieces", PACKET_MAX);
    return peer->assembly;
}

static void note_header(tcp_peer_t *peer)
{
    peer->expects_large = peer->header.bytes >= LARGE_BYTES;
    const char *fault = find_frame_fault(peer);
    if (fault != NULL)
        drop_connection(peer, fault);
}

/* Is the header complete? Its lead may still be missing. */
static bool has_header(const tcp_peer_t *peer)
{
    return peer->header_got >= HEADER_BYTES;
}

static bool is_in_payload(const tcp_peer_t *peer)
{
    return has_header(peer) && peer->header_got == HEADER_BYTES + (size_t)peer->header.lead;
}

/* Take bytes of the header, or of its lead, out of `bytes` bytes at `data`. Returns how many. */
static size_t take_header(tcp_peer_t *peer, const char *data, size_t bytes)
{
    bool is_lead = has_header(peer);
    size_t wanted = HEADER_BYTES + (is_lead ? peer->header.lead : 0u) - peer->header_got;
    if (wanted > bytes)
        wanted = bytes;
    if (!is_lead)
        memcpy((char *)&peer->header + peer->header_got, data, wanted);
    peer->header_got += wanted;
    if (!is_lead && has_header(peer))
        note_header(peer);
    return wanted;
}

/* Take payload out of `bytes` bytes at `data`. Returns how many. */
static size_t take_payload(tcp_peer_t *peer, const char *data, size_t bytes)
{
    size_t wanted = peer->header.bytes - peer->place_got;
    bool is_block = peer->header.kind == FRAME_BLOCK;
    if (peer->place == NULL && bytes >= wanted && !is_block) {
        take_frame(peer, data);
        return wanted;
    }
    if (peer->place == NULL)
        peer->place = find_place(peer);
    if (wanted > bytes)
        wanted = bytes;
    weft_copy(peer->place + peer->place_got, data, wanted);
    peer->place_got += wanted;
    if (peer->place_got == peer->header.bytes)
        take_frame(peer, peer->place);
    return wanted;
}

static void frame_parse(tcp_peer_t *peer, const char *data, size_t bytes)
{
    while (bytes > 0 || (is_in_payload(peer) && peer->header.bytes == 0)) {
        size_t taken =
            is_in_payload(peer) ? take_payload(peer, data, bytes) : take_header(peer, data, bytes);
        if (peer->state != TCP_OPEN)
            return;
        data += taken;
        bytes -= taken;
    }
}

/* ---- the socket ---- */

static size_t inbox_room(const tcp_peer_t *peer)
{
    return peer->gets != NULL || peer->expects_large ? INBOX_OF_BLOCKS : INBOX_BYTES;
}

/* The rest of an unfinished payload goes to its place, and what follows it into the inbox. */
static ssize_t read_in_two(tcp_peer_t *peer, size_t missing, size_t most)
{
    size_t behind = most - missing < inbox_room(peer) ? most - missing : inbox_room(peer);
    struct iovec pieces[2] = {{peer->place + peer->place_got, missing}, {inbox, behind}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    return recvmsg(peer->source.fd, &message, MSG_DONTWAIT);
}

/* Bytes that the payload in `place` still lacks. */
static size_t missing_bytes(const tcp_peer_t *peer)
{
    return peer->place == NULL ? 0 : peer->header.bytes - peer->place_got;
}

/* Read `most` bytes, SIZE_MAX: as many as there is room for. */
static ssize_t read_at_most(tcp_peer_t *peer, size_t missing, size_t most)
{
    if (missing == 0)
        return recv(peer->source.fd, inbox, weft_least(inbox_room(peer), most), MSG_DONTWAIT);
    if (missing < most)
        return read_in_two(peer, missing, most);
    return recv(peer->source.fd, peer->place + peer->place_got, most, MSG_DONTWAIT);
}

/* Over a simulated link only that can be read which has arrived. */
static ssize_t read_paced(tcp_peer_t *peer, size_t missing)
{
    size_t most = wefti_tcp_pace_read(peer);
    if (most == 0)
        return errno == ECONNRESET ? 0 : -1;
    ssize_t got = read_at_most(peer, missing, most);
    if (got > 0)
        wefti_tcp_pace_note_read(peer, (size_t)got);
    return got;
}

static ssize_t read_socket(tcp_peer_t *peer, size_t *placed_out)
{
    size_t missing = missing_bytes(peer);
    ssize_t got;
    do {
        got = __builtin_expect(peer->pace == NULL, 1) ? read_at_most(peer, missing, SIZE_MAX)
                                                      : read_paced(peer, missing);
    } while (got < 0 && errno == EINTR);
    *placed_out = got <= 0 ? 0 : (size_t)got < missing ? (size_t)got : missing;
    return got;
}

/* ---- when to read ---- */

static bool misses_much(const tcp_peer_t *peer)
{
    bool is_block = peer->place != NULL && peer->header.kind == FRAME_BLOCK; /* of a get */
    size_t missing =
        is_block ? peer->wanted_bytes - peer->place_got : peer->wanted_bytes + missing_bytes(peer);
    bool are_several = peer->gets != NULL && peer->gets->next != NULL;
    return missing > (are_several ? MUCH_BYTES : MUCH_AT_ONCE);
}

/* Begin to leave the socket alone, which was read empty. */
static void begin_rest(tcp_peer_t *peer)
{
    peer->source.rests = true;
    peer->rest_found = 0;
    peer->rest_since = weft_clock_ns();
    peer->rest_looks = peer->rest_since + LOOK_NS;
}

/* Is it better not to read until more has come? */
static bool is_resting(tcp_peer_t *peer)
{
    int found = 0;
    if (__builtin_expect(!peer->source.rests, 1))
        return false;
    int64_t now = weft_clock_ns();
    if (now < peer->rest_looks)
        return true;
    peer->rest_looks = now + LOOK_NS;
    bool is_known = ioctl(peer->source.fd, FIONREAD, &found) == 0;
    if (found != peer->rest_found)
        peer->rest_since = now;
    peer->rest_found = found;
    peer->source.rests = is_known && found < ENOUGH_BYTES && now - peer->rest_since < STILL_NS;
    return peer->source.rests;
}

typedef enum tcp_found { FOUND_NOTHING, FOUND_SOME, FOUND_MORE } tcp_found_t;

/* Read once. FOUND_MORE: there is a place for more, and more to be read. */
static tcp_found_t receive_some(tcp_peer_t *peer)
{
    size_t placed, room = missing_bytes(peer) + inbox_room(peer);
    ssize_t got = read_socket(peer, &placed);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return FOUND_NOTHING;
    if (got <= 0) {
        wefti_tcp_peer_lost(peer, "receiving", got == 0 ? ECONNRESET : errno);
        return FOUND_SOME;
    }
    wefti_tcp.hot = peer;
    if (peer->has_pushed)
        wefti_tcp_note_heard(peer);
    if (placed > 0) {
        peer->place_got += placed;
        if (peer->place_got == peer->header.bytes)
            take_frame(peer, peer->place);
    }
    if (peer->state == TCP_OPEN)
        frame_parse(peer, inbox, (size_t)got - placed);
    if (got >= STREAM_BYTES && (size_t)got < room && peer->pace == NULL && misses_much(peer))
        begin_rest(peer);
    bool has_more =
        peer->state == TCP_OPEN && (size_t)got == room && placed == 0 && missing_bytes(peer) > 0;
    return has_more ? FOUND_MORE : FOUND_SOME;
}

/* Reads once, or twice if the first read ended with the header of a payload. It does not read until
 * the socket is empty, since then a fast sender could keep other peers from being served. */
int wefti_tcp_receive(tcp_peer_t *peer)
{
    if (inbox == NULL && (inbox = weft_alloc(INBOX_BYTES)) == NULL)
        weft_out_of_memory("what comes from the network", INBOX_BYTES);
    if (peer->state != TCP_OPEN || is_resting(peer))
        return 0;
    tcp_found_t found = receive_some(peer);
    if (found == FOUND_MORE)
        receive_some(peer);
    return found != FOUND_NOTHING;
}

void wefti_tcp_peer_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    tcp_peer_t *peer = WEFT_ELEMENT(source, tcp_peer_t, source);
    if (is_writable)
        wefti_tcp_note_dirty(peer);
    if (is_readable)
        wefti_tcp_receive(peer);
}

void wefti_tcp_in_forget(tcp_peer_t *peer)
{
    weft_free(peer->assembly);
    peer->assembly = NULL;
}

void wefti_tcp_in_close(void)
{
    weft_free(inbox);
    inbox = NULL;
}
