/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks connect to each other at once: which connection stays depends on the state of this
 * rank's own. */
#include "tcp/tcp_connect.c" /* for its static functions and the handshake's format */

#include "tcp/tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <cmocka.h>

enum { WE = 1, LOWER = 0, HIGHER = 2, RANKS = 3 };

static int own_end, their_end; /* of the connection that the other rank makes to this one */

static void handshake_us(int source)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    own_end = ends[0];
    their_end = ends[1];
    pending_connection_t *pending = weft_alloc_zeroed(1, sizeof(*pending));
    pending->source = (tcp_source_t){.fd = own_end, .ready = tcp_pending_ready};
    pending_connections = pending;
    pending_count = 1;
    wefti_tcp_watch(&pending->source);
    handshake_t handshake = {.magic = MAGIC,
                             .version = VERSION,
                             .source = (uint32_t)source,
                             .dest = WE,
                             .host = "there"};
    handshake.proof = connect_prove(wefti_tcp.own_key, ROLE_CONNECTOR, source);
    assert_int_equal(write(their_end, &handshake, sizeof(handshake)), sizeof(handshake));
    pending->source.ready(&pending->source, true, false);
    assert_null(pending_connections);
}

/* 1: welcome, 0: not welcome, -1: no answer */
static int answer_to_them(void)
{
    verdict_t verdict;
    return read(their_end, &verdict, sizeof(verdict)) == (ssize_t)sizeof(verdict)
               ? (int)verdict.is_welcome
               : -1;
}

/* Make this rank's own connection to `rank`, in the given state. */
static tcp_peer_t *connect_to(int rank, tcp_state_t state)
{
    tcp_peer_t *peer = wefti_tcp_peer(rank);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    peer->state = state;
    peer->source = (tcp_source_t){.fd = fd, .ready = tcp_connector_ready};
    peer->attempt = weft_alloc_zeroed(1, sizeof(*peer->attempt));
    trying = peer;
    wefti_tcp.attempts = 1;
    wefti_tcp_watch(&peer->source);
    return peer;
}

static void forget(tcp_peer_t *peer)
{
    if (peer->attempt != NULL)
        end_attempt(peer);
    close_source(&peer->source);
    close(their_end);
    peer->state = TCP_APART;
}

static void expect(int rank, tcp_state_t state, int welcome, tcp_state_t after)
{
    tcp_peer_t *peer = connect_to(rank, state);
    handshake_us(rank);
    assert_int_equal(answer_to_them(), welcome);
    assert_int_equal(peer->state, after);
    assert_int_equal(peer->source.fd == own_end, welcome == 1);
    assert_int_equal(wefti_tcp.attempts, after == TCP_OPEN ? 0 : 1);
    forget(peer);
}

static void the_lower_ranks_connection_stays(void **unused)
{
    (void)unused;
    expect(HIGHER, TCP_HANDSHAKE, 0, TCP_HANDSHAKE);
    expect(LOWER, TCP_HANDSHAKE, 1, TCP_OPEN);
    expect(LOWER, TCP_CONNECTING, 1, TCP_OPEN);
}

static void a_connection_that_is_there_is_better_than_one_to_come(void **unused)
{
    (void)unused;
    expect(HIGHER, TCP_CONNECTING, 1, TCP_OPEN);
}

static void who_was_lost_stays_so(void **unused)
{
    (void)unused;
    for (int rank = LOWER; rank <= HIGHER; rank += HIGHER - LOWER) {
        tcp_peer_t *peer = wefti_tcp_peer(rank);
        peer->state = TCP_LOST;
        handshake_us(rank);
        assert_int_equal(answer_to_them(), -1);
        assert_int_equal(peer->state, TCP_LOST);
        forget(peer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_ranks_connection_stays),
        cmocka_unit_test(a_connection_that_is_there_is_better_than_one_to_come),
        cmocka_unit_test(who_was_lost_stays_so),
    };
    static weft_net_peer_t *peers[RANKS];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = RANKS;
    weft_world.rank = WE;
    if (weft_processes_open(RANKS, WE) != MPI_SUCCESS)
        return 1;
    wefti_tcp = (weft_tcp_t){.listener.fd = -1,
                             .net.at = peers,
                             .net.count = RANKS,
                             .epoll_fd = epoll_create1(0),
                             .own_key = 77};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
