/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames from a socket: good ones in pieces of all lengths arrive complete and in order, where the
 * layer above wants them; a malformed one ends the connection, nothing of it is delivered, and
 * nothing is written outside the buffer of a get. The owner of a registration is told once the
 * socket has all bytes that were requested. */
#include "tcp/tcp_private.h"

#include "tcp/tcp.h"
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    GOOD_ROUNDS = 3000,
    BAD_ROUNDS = 6000,
    STREAM = 1 << 18,
    GET_BYTES = 5000,
    GUARD = 64,
    LARGEST = 20000, /* bytes of a frame; above the size that makes the reader expect large ones */
    KIND = 1,
    KIND_LANDED = 2,
    MEMORY_BYTES = 3 << 20, /* one frame, of more bytes than a socket takes */
    ANSWERS = 60,
    ANSWER_MOST = 100000,
    LARGE_FETCHES = 3,
    LARGE_FETCH = 3 << 20, /* all gets together exceed the bytes after which a reader rests */
};

static uint64_t state;
static unsigned delivered, sent;
static bool is_checked; /* what is delivered is what the test has sent */
static weft_get_t get;
static unsigned char gotten[GUARD + GET_BYTES + GUARD];
static bool is_got;
static unsigned char landing[LARGEST + GUARD];
static unsigned landed;

static unsigned pick(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static void sink(int source, weft_header_t header, const void *payload)
{
    const unsigned char *bytes = payload;
    assert_int_equal(source, 1);
    unsigned number = delivered++;
    if (is_checked)
        assert_true((header.kind == KIND_LANDED) == (payload == landing));
    volatile unsigned char last = 0;
    for (unsigned at = 0; at < header.bytes; at++) {
        last = bytes[at];
        if (is_checked)
            assert_int_equal(last, (unsigned char)(number + at));
    }
    if (is_checked)
        assert_int_equal(header.context, number);
}

/* Gives some of the packets that come in pieces a place to land. */
static void *land(int source, weft_header_t *header)
{
    assert_int_equal(source, 1);
    if (header->kind != KIND || header->bytes > LARGEST || pick(3) == 0)
        return NULL;
    memset(landing, 0xa5, sizeof(landing));
    header->kind = KIND_LANDED;
    landed++;
    return landing;
}

/* ---- a peer, and the other end of its connection ---- */

static tcp_peer_t *connect_peer(int *other_end)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    tcp_peer_t *peer = wefti_tcp_peer(1);
    peer->state = TCP_OPEN;
    peer->source = (tcp_source_t){.fd = ends[0], .ready = wefti_tcp_peer_ready};
    peer->header_got = peer->place_got = 0;
    peer->place = NULL;
    wefti_tcp_watch(&peer->source);
    *other_end = ends[1];
    return peer;
}

static void part(tcp_peer_t *peer, int other_end)
{
    close(other_end);
    while (peer->state == TCP_OPEN)
        wefti_tcp_receive(peer);
    assert_int_equal(peer->source.fd, -1);
    wefti_tcp.net.lost = NULL;
    weft_free(peer->net.why);
    peer->net.why = NULL;
    peer->net.is_losing = false;
}

/* Write the bytes in pieces, and receive after each. */
static void feed(tcp_peer_t *peer, int other_end, const unsigned char *bytes, size_t count)
{
    char answers[4096];
    while (count > 0 && peer->state == TCP_OPEN) {
        size_t piece = 1 + pick(pick(3) ? 40 : 8000);
        ssize_t written = write(other_end, bytes, piece < count ? piece : count);
        assert_true(written > 0);
        bytes += written;
        count -= (size_t)written;
        while (wefti_tcp_receive(peer) > 0 && peer->state == TCP_OPEN)
            ;
        wefti_tcp_flush_dirty();
        while (read(other_end, answers, sizeof(answers)) > 0)
            ;
    }
}

/* ---- frames ---- */

static size_t put_frame(unsigned char *to, unsigned bytes)
{
    weft_header_t header = {.kind = KIND,
                            .lead = (uint8_t)pick(2) * (uint8_t)pick(256),
                            .bytes = bytes,
                            .context = sent};
    unsigned char *payload = to + sizeof(header) + header.lead;
    memcpy(to, &header, sizeof(header));
    memset(to + sizeof(header), 0xff, header.lead);
    for (unsigned at = 0; at < bytes; at++)
        payload[at] = (unsigned char)(sent + at);
    sent++;
    return sizeof(header) + header.lead + bytes;
}

static size_t put_many(unsigned char *to, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < 12; i++) {
        unsigned bytes = pick(4) ? pick(100) : pick(pick(4) ? 5000 : LARGEST);
        if (used + sizeof(weft_header_t) + UINT8_MAX + bytes > room)
            break;
        used += put_frame(to + used, bytes);
    }
    return used;
}

static void test_pieces(void **unused)
{
    static unsigned char stream[STREAM];
    int other_end;
    (void)unused;
    state = 1;
    is_checked = true;
    sent = delivered = 0;
    tcp_peer_t *peer = connect_peer(&other_end);
    for (int round = 0; round < GOOD_ROUNDS; round++) {
        feed(peer, other_end, stream, put_many(stream, STREAM));
        assert_int_equal(peer->state, TCP_OPEN);
        assert_int_equal(delivered, sent);
        for (int i = 0; i < GUARD && landed > 0; i++)
            assert_int_equal(landing[LARGEST + i], 0xa5);
    }
    assert_true(landed > 0);
    part(peer, other_end);
}

static void get_is_over(weft_get_t *over, bool is_good)
{
    (void)over, (void)is_good;
    is_got = true;
}

static void begin_get(tcp_peer_t *peer)
{
    memset(gotten, 0xa5, sizeof(gotten));
    get = (weft_get_t){.endpoint = &peer->net.endpoint,
                       .to = (char *)gotten + GUARD,
                       .bytes = GET_BYTES,
                       .done = get_is_over};
    is_got = false;
    wefti_tcp_get(&get);
}

/* A frame of a random kind; it mostly has the number of the get that waits. */
static size_t put_strange(unsigned char *to, size_t room)
{
    static const uint8_t kinds[] = {
        WEFT_WIRE_THROTTLE, WEFT_WIRE_RELEASE, FRAME_READ, FRAME_BLOCK, FRAME_NO_READ, 1, 200, 255};
    uint64_t number = (uint64_t)(uintptr_t)get.handle + (pick(5) == 0);
    weft_header_t header = {.kind = kinds[pick(sizeof(kinds))],
                            .bytes = pick(5) ? pick(3000) : pick(1u << 31),
                            .context = (uint32_t)number,
                            .tag = (int32_t)(number >> 32)};
    if (header.kind == FRAME_READ && pick(4) != 0)
        header.bytes = sizeof(tcp_read_t);
    header.lead = (uint8_t)pick(2) * (uint8_t)pick(256);
    size_t bytes = sizeof(header) + header.lead + header.bytes;
    if (bytes > room)
        bytes = room;
    for (size_t at = 0; at < bytes; at++)
        to[at] = (unsigned char)pick(256);
    if (bytes >= sizeof(header))
        memcpy(to, &header, sizeof(header));
    return bytes;
}

static void test_strange(void **unused)
{
    static unsigned char stream[STREAM];
    (void)unused;
    state = 2;
    is_checked = false;
    for (int round = 0; round < BAD_ROUNDS; round++) {
        int other_end;
        tcp_peer_t *peer = connect_peer(&other_end);
        begin_get(peer);
        size_t bytes = put_many(stream, 3000);
        for (unsigned i = pick(4); i > 0; i--)
            bytes += put_strange(stream + bytes, 12000);
        for (unsigned i = pick(3); i > 0 && bytes > 0; i--)
            stream[pick((unsigned)bytes)] ^= (unsigned char)(1u << pick(8));
        feed(peer, other_end, stream, bytes);
        part(peer, other_end);
        for (int i = 0; i < GUARD; i++) {
            assert_int_equal(gotten[i], 0xa5);
            assert_int_equal(gotten[GUARD + GET_BYTES + i], 0xa5);
        }
    }
}

/* ---- registrations ---- */

static int times_taken;

static void memory_is_taken(weft_registration_t *registration)
{
    assert_ptr_equal(registration->owner, &times_taken);
    times_taken++;
}

static void ask_for(int other_end, const weft_registration_t *registration, uint64_t bytes,
                    uint64_t ends)
{
    weft_header_t header = {.kind = FRAME_READ, .bytes = sizeof(tcp_read_t)};
    tcp_read_t read = {.address = registration->rkey.address,
                       .bytes = bytes,
                       .key = registration->rkey.keys[0],
                       .entry = registration->rkey.keys[1],
                       .get = 7,
                       .ends = ends};
    assert_int_equal(write(other_end, &header, sizeof(header)), sizeof(header));
    assert_int_equal(write(other_end, &read, sizeof(read)), sizeof(read));
}

/* Read until no more bytes come; returns their number. The owner must not be told before the last
 * bytes can be read. */
static size_t drain(tcp_peer_t *peer, int other_end, size_t expected)
{
    static char sink_of_bytes[1 << 16];
    size_t got = 0;
    ssize_t piece;
    wefti_tcp_receive(peer);
    do {
        wefti_tcp_flush_dirty();
        wefti_tcp_tell_taken();
        if (got + (512 << 10) < expected)
            assert_int_equal(times_taken, 0);
        piece = read(other_end, sink_of_bytes, sizeof(sink_of_bytes));
        got += piece > 0 ? (size_t)piece : 0;
    } while (piece > 0);
    return got;
}

static void test_registrations_end(void **unused)
{
    static const struct {
        uint64_t bytes, ends;
        int taken;
    } cases[] = {
        {MEMORY_BYTES, 1, 1}, {1, 1, 1}, {MEMORY_BYTES / 2, 0, 0}, {MEMORY_BYTES + 1, 1, 0}};
    char *data = weft_alloc_zeroed(1, MEMORY_BYTES);
    int other_end;
    (void)unused;
    tcp_peer_t *peer = connect_peer(&other_end);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        weft_registration_t registration;
        bool is_refused = cases[i].bytes > MEMORY_BYTES;
        size_t data_bytes = is_refused ? 0 : cases[i].bytes;
        weft_header_t header = {.bytes = (uint32_t)data_bytes};
        char head[HEAD_MAX];
        size_t expected = data_bytes + wefti_tcp_make_head(head, &header, data, 0);
        assert_true(
            wefti_tcp_register(&peer->net.endpoint, data, MEMORY_BYTES, NULL, &registration));
        registration.taken = memory_is_taken;
        registration.owner = &times_taken;
        times_taken = 0;
        ask_for(other_end, &registration, cases[i].bytes, cases[i].ends);
        assert_int_equal(drain(peer, other_end, expected), expected);
        assert_int_equal(times_taken, cases[i].taken);
        wefti_tcp_deregister(&peer->net.endpoint, &registration);
    }
    part(peer, other_end);
    weft_free(data);
}

/* ---- many at once ---- */

typedef struct memory {
    const char *data;
    size_t bytes;
    weft_registration_t registration;
} memory_t;

static void read_whole(int other_end, void *to, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t piece = read(other_end, (char *)to + got, bytes - got);
        got += piece > 0 ? (size_t)piece : 0;
        if (piece <= 0)
            wefti_tcp_flush_dirty();
    }
}

static void check_answer(int other_end, const memory_t *memory)
{
    static char bytes[UINT8_MAX + ANSWER_MOST];
    weft_header_t header;
    bool is_refused = memory->registration.handle == NULL;
    read_whole(other_end, &header, sizeof(header));
    assert_int_equal(header.kind, is_refused ? FRAME_NO_READ : FRAME_BLOCK);
    assert_int_equal(header.bytes, is_refused ? 0 : memory->bytes);
    read_whole(other_end, bytes, header.lead + (size_t)header.bytes);
    assert_memory_equal(bytes + header.lead, memory->data, header.bytes);
}

/* READs of registrations of all lengths, some of which have ended: the answers come in order and
 * complete, however much the socket takes at a time. */
static void test_answers(void **unused)
{
    static memory_t memories[ANSWERS];
    static char data[2 * ANSWER_MOST];
    int other_end;
    (void)unused;
    state = 3;
    for (size_t at = 0; at < sizeof(data); at++)
        data[at] = (char)pick(256);
    tcp_peer_t *peer = connect_peer(&other_end);
    for (int i = 0; i < ANSWERS; i++) {
        memory_t *memory = &memories[i];
        memory->data = data + pick(ANSWER_MOST);
        memory->bytes = pick(3) ? pick(ANSWER_MOST) : pick(100);
        assert_true(wefti_tcp_register(&peer->net.endpoint, memory->data, memory->bytes, NULL,
                                       &memory->registration));
        weft_registration_t asked = memory->registration;
        if (pick(10) == 0) {
            wefti_tcp_deregister(&peer->net.endpoint, &memory->registration);
            memory->registration.handle = NULL;
        }
        ask_for(other_end, &asked, memory->bytes, 0);
        wefti_tcp_receive(peer);
    }
    for (int i = 0; i < ANSWERS; i++) {
        check_answer(other_end, &memories[i]);
        if (memories[i].registration.handle != NULL)
            wefti_tcp_deregister(&peer->net.endpoint, &memories[i].registration);
    }
    assert_null(peer->blocks);
    part(peer, other_end);
}

static int large_over;

static void large_is_over(weft_get_t *over, bool is_good)
{
    assert_true(is_good);
    assert_ptr_equal(over->owner, &large_over);
    large_over++;
}

/* Write the bytes in pieces of any size. A socket whose reader rests must be read in the end,
 * though no more bytes come. */
static void feed_large(tcp_peer_t *peer, int other_end, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t piece = 1 + pick(pick(2) ? 100000 : 1000);
        ssize_t written = write(other_end, bytes, piece < count ? piece : count);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
        wefti_tcp_receive(peer);
    }
    for (int there = 1; there > 0; wefti_tcp_receive(peer))
        assert_int_equal(ioctl(peer->source.fd, FIONREAD, &there), 0);
}

static void test_rests(void **unused)
{
    static weft_get_t gets[LARGE_FETCHES];
    char *data = weft_alloc(LARGE_FETCH), *came = weft_alloc_zeroed(LARGE_FETCHES, LARGE_FETCH);
    int other_end;
    (void)unused;
    state = 4;
    large_over = 0;
    for (size_t at = 0; at < LARGE_FETCH; at++)
        data[at] = (char)pick(256);
    tcp_peer_t *peer = connect_peer(&other_end);
    for (int i = 0; i < LARGE_FETCHES; i++) {
        gets[i] = (weft_get_t){.endpoint = &peer->net.endpoint,
                               .to = came + (size_t)i * LARGE_FETCH,
                               .bytes = LARGE_FETCH,
                               .done = large_is_over,
                               .owner = &large_over};
        wefti_tcp_get(&gets[i]);
    }
    for (int i = 0; i < LARGE_FETCHES; i++) {
        uint64_t number = (uint64_t)(uintptr_t)gets[i].handle;
        weft_header_t header = weft_header_for(FRAME_BLOCK, number, LARGE_FETCH);
        feed_large(peer, other_end, (const char *)&header, sizeof(header));
        feed_large(peer, other_end, data, LARGE_FETCH);
        assert_int_equal(large_over, i + 1);
        assert_memory_equal(came + (size_t)i * LARGE_FETCH, data, LARGE_FETCH);
    }
    assert_int_equal(peer->wanted_bytes, 0);
    part(peer, other_end);
    weft_free(data);
    weft_free(came);
}

/* A sender whose payloads never end where a read ends must not make the receiver read all that it
 * has sent in one turn. */
static void test_turns(void **unused)
{
    enum { LARGE = 16 * 1024, FRAMES = 64, TURN_MOST = 32 };
    static unsigned char frame[sizeof(weft_header_t) + UINT8_MAX + LARGE];
    int other_end, room = 4 << 20;
    (void)unused;
    is_checked = true;
    sent = delivered = 0;
    tcp_peer_t *peer = connect_peer(&other_end);
    if (setsockopt(other_end, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0) {
        part(peer, other_end);
        skip(); /* only root may send so much at once */
    }
    for (int i = 0; i < FRAMES; i++) {
        size_t bytes = put_frame(frame, LARGE);
        assert_int_equal(write(other_end, frame, bytes), bytes);
    }
    wefti_tcp_receive(peer);
    assert_in_range(delivered, 1, TURN_MOST);
    while (delivered < sent)
        assert_int_equal(wefti_tcp_receive(peer), 1);
    part(peer, other_end);
}

/* The socket was full in the middle of the header of a refusal: the next frame must not overtake
 * the rest of it. */
static void test_cut_refusal(void **unused)
{
    static const char rest[] = "rest";
    unsigned char came[64];
    int other_end;
    (void)unused;
    tcp_peer_t *peer = connect_peer(&other_end);
    weft_header_t header = {.kind = 1, .context = 5};
    memcpy(peer->stub, rest, sizeof(rest));
    peer->stub_bytes = sizeof(rest);
    wefti_tcp.epoch++;
    assert_true(wefti_tcp_send(&peer->net.endpoint, header, NULL));
    wefti_tcp.epoch++;
    wefti_tcp_note_dirty(peer);
    wefti_tcp_flush_dirty();
    assert_int_equal(read(other_end, came, sizeof(came)), sizeof(rest) + sizeof(header));
    assert_memory_equal(came, rest, sizeof(rest));
    assert_memory_equal(came + sizeof(rest), &header, sizeof(header));
    part(peer, other_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_strange),
                                       cmocka_unit_test(test_registrations_end),
                                       cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_rests),
                                       cmocka_unit_test(test_cut_refusal)};
    static weft_net_peer_t *peers[2];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = 2;
    if (weft_processes_open(2, 0) != MPI_SUCCESS)
        return 1;
    weft_world.land = land;
    wefti_tcp = (weft_tcp_t){.sink = sink,
                             .listener.fd = -1,
                             .net.at = peers,
                             .net.count = 2,
                             .epoll_fd = epoll_create1(0)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    wefti_tcp_out_forget((tcp_peer_t *)peers[1]);
    wefti_tcp_in_forget((tcp_peer_t *)peers[1]);
    wefti_tcp_in_close();
    wefti_tcp_blocks_close();
    wefti_tcp_gets_close();
    return failed;
}
