/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting: whose failure it is when a connection cannot be made. */
#include "tcp/tcp_connect.c" /* for its static functions */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <cmocka.h>

enum { WE = 0, FIRST = 1, SECOND = 2, RANKS = 3 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(want_of_files_is_no_consequence)};
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
