/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting: whose failure it is when a connection cannot be made, and what is no failure. */
#include "tcp/tcp_connect.c" /* for its static functions */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <cmocka.h>

enum { WE = 0, FIRST = 1, SECOND = 2, SLOW = 3, LATE = 4, SILENT = 5, RANKS = 6 };

static void note_loss(int process, const char *why)
{
    (void)process, (void)why;
}

/* Give up a connection to `rank` after `error`. */
static void fail_to_connect(int rank, int error)
{
    tcp_peer_t *peer = wefti_tcp_peer(rank);
    peer->state = TCP_CONNECTING;
    peer->source.fd = -1;
    peer->attempt = weft_alloc_zeroed(1, sizeof(*peer->attempt));
    assert_non_null(peer->attempt);
    trying = peer;
    wefti_tcp.attempts = 1;
    connect_fail_attempt(peer, error);
    assert_int_equal(peer->state, TCP_LOST);
    assert_int_equal(wefti_tcp.attempts, 0);
}

/* A rank that has no descriptor for a connection has not failed because another one did. */
static void want_of_files_is_no_consequence(void **unused)
{
    (void)unused;
    weft_world.peer_lost = note_loss;
    fail_to_connect(FIRST, ECONNREFUSED);
    assert_false(weft_world.lacks_files);
    fail_to_connect(SECOND, EMFILE);
    assert_true(weft_world.lacks_files);
}

/* ---- over sockets of this host ---- */

/* A socket that listens, and lets `backlog` connections wait. */
static int listen_at(int backlog, struct sockaddr_in *out)
{
    socklen_t length = sizeof(*out);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)out, sizeof(*out)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)out, &length), 0);
    return fd;
}

static tcp_peer_t *begin_to_connect(int rank, const struct sockaddr_in *address)
{
    tcp_peer_t *peer = wefti_tcp_peer(rank);
    peer->attempt = weft_alloc_zeroed(1, sizeof(*peer->attempt));
    assert_non_null(peer->attempt);
    peer->attempt->addresses[peer->attempt->count++] = *address;
    trying = peer;
    wefti_tcp.attempts = 1;
    try_next(peer);
    assert_int_equal(peer->state, TCP_CONNECTING);
    return peer;
}

/* An acceptor closes what says nothing; this rank computes, and gives up only if it is quick. */
static void a_slow_rank_tries_again(void **unused)
{
    struct sockaddr_in address;
    int listener = listen_at(8 * CLOSED_MOST, &address);
    tcp_peer_t *peer = begin_to_connect(SLOW, &address);
    (void)unused;
    for (int i = 0; i < 2 * CLOSED_MOST; i++) {
        peer->attempt->tried_ns -= SLOW_NS;
        connection_was_closed(peer, ECONNRESET);
        assert_int_equal(peer->state, TCP_CONNECTING);
    }
    for (int i = 0; i < CLOSED_MOST; i++) {
        connection_was_closed(peer, ECONNRESET);
        assert_int_equal(peer->state, TCP_CONNECTING);
    }
    connection_was_closed(peer, ECONNRESET);
    assert_int_equal(peer->state, TCP_LOST);
    close(listener);
}

static void check_often(void)
{
    for (int i = 0; i < 100; i++)
        wefti_tcp_check_attempts();
}

/* The other host has answered in time, and this rank has not looked until now. */
static void an_answer_is_in_time_when_it_comes(void **unused)
{
    struct sockaddr_in address;
    int listener = listen_at(1, &address);
    tcp_peer_t *peer = begin_to_connect(LATE, &address);
    (void)unused;
    peer->attempt->deadline_ns = 0;
    check_often();
    assert_int_equal(peer->state, TCP_CONNECTING);
    wefti_tcp_close_source(&peer->source);
    wefti_tcp_end_attempt(peer);
    close(listener);
}

static void no_answer_is_a_failure(void **unused)
{
    enum { FILLERS = 4 };
    struct sockaddr_in address;
    int fillers[FILLERS], listener = listen_at(0, &address);
    (void)unused;
    for (int i = 0; i < FILLERS; i++) {
        fillers[i] = wefti_tcp_open_socket();
        connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
    tcp_peer_t *peer = begin_to_connect(SILENT, &address);
    check_often();
    assert_int_equal(peer->state, TCP_CONNECTING);
    peer->attempt->deadline_ns = 0;
    check_often();
    assert_int_equal(peer->state, TCP_LOST);
    for (int i = 0; i < FILLERS; i++)
        close(fillers[i]);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(want_of_files_is_no_consequence),
        cmocka_unit_test(a_slow_rank_tries_again),
        cmocka_unit_test(an_answer_is_in_time_when_it_comes),
        cmocka_unit_test(no_answer_is_a_failure),
    };
    static weft_net_peer_t *peers[RANKS];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = RANKS;
    weft_world.rank = WE;
    if (weft_processes_open(RANKS, WE) != MPI_SUCCESS)
        return 1;
    wefti_tcp = (weft_tcp_t){
        .listener.fd = -1, .net.at = peers, .net.count = RANKS, .epoll_fd = epoll_create1(0)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
