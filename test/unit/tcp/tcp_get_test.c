/* SPDX-License-Identifier: BSD-3-Clause */
/* Thousands of gets begun together, more than the buffer of a peer holds: each is asked for once,
 * in order, and each gets its bytes. */
#include "tcp/tcp_private.h"

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
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { GETS = 5000, FILLER_KIND = 1, FILLER_BYTES = 16000, READ_AT_ONCE = 1 << 16, STRANGER = 77 };

static weft_get_t gets[GETS];
static uint64_t come[GETS]; /* the bytes that each get reads */
static unsigned over;
static char came[16 << 20]; /* what the other end has read so far */
static size_t came_bytes;

static void sink(int source, weft_header_t header, const void *payload)
{
    (void)source, (void)payload;
    fail_msg("a packet of kind %d came, expected none", header.kind);
}

static void get_is_over(weft_get_t *get, bool is_good)
{
    assert_true(is_good);
    assert_ptr_equal(get, &gets[over]);
    over++;
}

static tcp_peer_t *connect_peer(int *other_end)
{
    int ends[2], room = 4 << 20;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    tcp_peer_t *peer = wefti_tcp_peer(1);
    peer->state = TCP_OPEN;
    peer->source = (tcp_source_t){.fd = ends[0], .ready = wefti_tcp_peer_ready};
    peer->header_got = peer->place_got = 0;
    peer->place = NULL;
    wefti_tcp_watch(&peer->source);
    /* Where the test may have it (root may), a socket that takes all at once. */
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    *other_end = ends[1];
    over = 0;
    came_bytes = 0;
    return peer;
}

static void part(tcp_peer_t *peer, int other_end)
{
    close(other_end);
    while (peer->state == TCP_OPEN)
        wefti_tcp_receive(peer);
    wefti_tcp.net.lost = NULL;
    weft_free(peer->net.why);
    peer->net.why = NULL;
    peer->net.is_losing = false;
}

/* Packets until neither the socket nor the buffer takes another one; how many. */
static unsigned fill_buffer(tcp_peer_t *peer)
{
    static const char filler[FILLER_BYTES];
    weft_header_t header = {.kind = FILLER_KIND, .bytes = FILLER_BYTES};
    unsigned count = 0;
    while (wefti_tcp_send(&peer->net.endpoint, header, filler))
        count++;
    assert_true(count > 0);
    return count;
}

static void begin_gets(tcp_peer_t *peer)
{
    for (uint64_t i = 0; i < GETS; i++) {
        memset(&gets[i], 0xff, sizeof(gets[i])); /* what an owner leaves unset has any contents */
        gets[i].endpoint = &peer->net.endpoint;
        gets[i].rkey = (weft_rkey_t){.address = i, .keys = {STRANGER, STRANGER}};
        gets[i].to = (char *)&come[i];
        gets[i].bytes = sizeof(come[i]);
        gets[i].done = get_is_over;
        gets[i].ends = true;
        wefti_tcp_get(&gets[i]);
    }
}

/* Read until the socket is empty; how much there was. */
static size_t drain(int other_end)
{
    size_t before = came_bytes;
    for (ssize_t piece = 1; piece > 0; came_bytes += piece > 0 ? (size_t)piece : 0) {
        assert_true(came_bytes + READ_AT_ONCE <= sizeof(came));
        piece = read(other_end, came + came_bytes, READ_AT_ONCE);
    }
    return came_bytes - before;
}

static void read_all(tcp_peer_t *peer, int other_end)
{
    while (drain(other_end) > 0 || wefti_tcp_has_output(peer)) {
        wefti_tcp.epoch++;
        wefti_tcp_flush_dirty();
    }
}

/* The READ of get `i` at `at`; returns what follows it. */
static const char *check_read(const char *at, uint64_t i)
{
    weft_header_t header;
    tcp_read_t read;
    memcpy(&header, at, sizeof(header));
    assert_int_equal(header.kind, FRAME_READ);
    assert_int_equal(header.bytes, sizeof(read));
    at += sizeof(header) + header.lead;
    memcpy(&read, at, sizeof(read));
    assert_int_equal(read.address, i);
    assert_int_equal(read.get, (uint64_t)(uintptr_t)gets[i].handle);
    assert_int_equal(read.bytes, sizeof(come[i]));
    return at + sizeof(read);
}

static void check_reads(unsigned fillers)
{
    const char *at = came;
    for (unsigned i = 0; i < fillers; i++) {
        weft_header_t header;
        memcpy(&header, at, sizeof(header));
        assert_int_equal(header.kind, FILLER_KIND);
        at += sizeof(header) + header.lead + header.bytes;
    }
    for (uint64_t i = 0; i < GETS; i++)
        at = check_read(at, i);
    assert_ptr_equal(at, came + came_bytes);
}

static void answer(tcp_peer_t *peer, int other_end)
{
    for (uint64_t i = 0; i < GETS; i++) {
        struct {
            weft_header_t header;
            uint64_t value;
        } block = {weft_header_for(FRAME_BLOCK, (uint64_t)(uintptr_t)gets[i].handle, sizeof(i)),
                   ~i};
        assert_int_equal(write(other_end, &block, sizeof(block)), sizeof(block));
        while (wefti_tcp_receive(peer) > 0)
            ;
    }
    assert_int_equal(peer->state, TCP_OPEN);
    assert_int_equal(over, GETS);
    for (uint64_t i = 0; i < GETS; i++)
        assert_true(come[i] == ~i);
    assert_int_equal(peer->wanted_bytes, 0);
}

static void run_gets(bool is_full)
{
    int other_end;
    tcp_peer_t *peer = connect_peer(&other_end);
    unsigned fillers = is_full ? fill_buffer(peer) : 0;
    begin_gets(peer);
    read_all(peer, other_end);
    check_reads(fillers);
    answer(peer, other_end);
    part(peer, other_end);
}

static void test_full_buffer(void **unused)
{
    (void)unused;
    run_gets(true);
}

static void test_empty_buffer(void **unused)
{
    (void)unused;
    run_gets(false);
}

/* A peer that answers a get which it was not asked for yet is not believed. */
static void test_answer_too_early(void **unused)
{
    int other_end;
    (void)unused;
    tcp_peer_t *peer = connect_peer(&other_end);
    fill_buffer(peer);
    begin_gets(peer);
    const weft_get_t *last = &gets[GETS - 1];
    assert_null(wefti_tcp_find_get(peer, (uint64_t)(uintptr_t)last->handle));
    read_all(peer, other_end);
    assert_ptr_equal(wefti_tcp_find_get(peer, (uint64_t)(uintptr_t)last->handle), last);
    part(peer, other_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_full_buffer),
                                       cmocka_unit_test(test_empty_buffer),
                                       cmocka_unit_test(test_answer_too_early)};
    static weft_net_peer_t *peers[2];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = 2;
    if (weft_processes_open(2, 0) != MPI_SUCCESS)
        return 1;
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
