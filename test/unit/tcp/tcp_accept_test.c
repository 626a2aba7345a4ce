/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepting connections: which connection of two stays, what does not prove to be a rank, and how
 * many connections may say nothing. */
#include "tcp/tcp_accept.c" /* for its static functions */

#include "tcp/tcp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { WE = 1, LOWER = 0, HIGHER = 2, RANKS = 3 };

static const uint8_t own_key[WEFT_SECRET_BYTES] = {77}, wrong_key[WEFT_SECRET_BYTES] = {78};

static int own_end, their_end; /* of the connection that the other rank makes to this one */
static weft_handshake_t theirs;

/* A socket pair has no address, so both places are zero. */
static void begin_pending(void)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    own_end = ends[0];
    their_end = ends[1];
    say_hello(own_end);
    assert_int_equal(pending_count, 1);
    memset(oldest_pending()->handshake.place, 0, WEFT_PLACE_BYTES);
    memset(&theirs, 0, sizeof(theirs));
    assert_int_equal(read(their_end, theirs.hello, WEFT_HELLO_BYTES), WEFT_HELLO_BYTES);
}

/* Send `bytes` bytes of the reply, each of them alone, as a slow network may. */
static void send_bytes(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(pending_count, 1);
        assert_int_equal(write(their_end, theirs.reply + i, 1), 1);
        oldest_pending()->source.ready(&oldest_pending()->source, true, false);
    }
}

static void make_reply(const uint8_t *key, int source, int dest)
{
    tcp_introduction_t introduction = {
        .source = (uint32_t)source, .dest = (uint32_t)dest, .host = "there"};
    assert_true(weft_handshake_answer(&theirs, wefti_tcp_protocol(), key, &introduction,
                                      sizeof(introduction)));
}

static void connect_as(int source)
{
    begin_pending();
    make_reply(own_key, source, WE);
    send_bytes(WEFT_REPLY_BYTES);
    assert_int_equal(pending_count, 0);
}

/* A verdict; -1: no answer. */
static int answer_to_them(void)
{
    uint32_t verdict;
    if (read(their_end, theirs.welcome, WEFT_WELCOME_BYTES) != WEFT_WELCOME_BYTES)
        return -1;
    assert_true(weft_handshake_check(&theirs, own_key, &verdict));
    return (int)verdict;
}

/* Make this rank's own connection to `rank`, in the given state. */
static tcp_peer_t *connect_to(int rank, tcp_state_t state)
{
    tcp_peer_t *peer = wefti_tcp_peer(rank);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    peer->state = state;
    peer->source = (tcp_source_t){.fd = fd};
    wefti_tcp_watch(&peer->source);
    return peer;
}

static void forget(tcp_peer_t *peer)
{
    wefti_tcp_close_source(&peer->source);
    close(their_end);
    peer->state = TCP_APART;
}

static void expect(int rank, tcp_state_t state, int welcome, tcp_state_t after)
{
    tcp_peer_t *peer = connect_to(rank, state);
    connect_as(rank);
    assert_int_equal(answer_to_them(), welcome);
    assert_int_equal(peer->state, after);
    assert_int_equal(peer->source.fd == own_end, welcome == TCP_WELCOME);
    forget(peer);
}

static void the_lower_ranks_connection_stays(void **unused)
{
    (void)unused;
    expect(HIGHER, TCP_HANDSHAKE, TCP_NOT_NEEDED, TCP_HANDSHAKE);
    expect(LOWER, TCP_HANDSHAKE, TCP_WELCOME, TCP_OPEN);
    expect(LOWER, TCP_CONNECTED, TCP_WELCOME, TCP_OPEN);
    expect(LOWER, TCP_CONNECTING, TCP_WELCOME, TCP_OPEN);
}

static void a_connection_that_is_there_is_better_than_one_to_come(void **unused)
{
    (void)unused;
    expect(HIGHER, TCP_CONNECTING, TCP_WELCOME, TCP_OPEN);
    expect(HIGHER, TCP_CONNECTED, TCP_WELCOME, TCP_OPEN);
}

static void who_was_lost_stays_so(void **unused)
{
    (void)unused;
    for (int rank = LOWER; rank <= HIGHER; rank += HIGHER - LOWER) {
        tcp_peer_t *peer = wefti_tcp_peer(rank);
        peer->state = TCP_LOST;
        connect_as(rank);
        assert_int_equal(answer_to_them(), -1);
        assert_int_equal(peer->state, TCP_LOST);
        forget(peer);
    }
}

static void expect_refusal(void)
{
    uint64_t before = wefti_tcp.dropped;
    send_bytes(WEFT_REPLY_BYTES);
    assert_int_equal(pending_count, 0);
    assert_int_equal(wefti_tcp.dropped, before + 1);
    assert_int_equal(answer_to_them(), -1);
    close(their_end);
}

static void the_key_is_what_admits(void **unused)
{
    (void)unused;
    begin_pending();
    make_reply(wrong_key, LOWER, WE);
    expect_refusal();
    begin_pending();
    make_reply(own_key, LOWER, HIGHER);
    expect_refusal();
    begin_pending();
    make_reply(own_key, RANKS + 5, WE);
    expect_refusal();
    begin_pending();
    make_reply(own_key, WE, WE);
    expect_refusal();
}

/* A reply that was right on another connection has another nonce in it. */
static void a_reply_works_once(void **unused)
{
    uint8_t reply[WEFT_REPLY_BYTES];
    (void)unused;
    connect_as(LOWER);
    memcpy(reply, theirs.reply, sizeof(reply));
    forget(wefti_tcp_peer(LOWER));
    begin_pending();
    memcpy(theirs.reply, reply, sizeof(reply));
    expect_refusal();
}

/* It was proved for another address than the one at which it arrives. */
static void the_address_counts(void **unused)
{
    (void)unused;
    begin_pending();
    theirs.place[0] = 10;
    make_reply(own_key, LOWER, WE);
    expect_refusal();
}

static void who_stops_midway_is_forgotten(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes < WEFT_REPLY_BYTES; bytes++) {
        begin_pending();
        make_reply(own_key, LOWER, WE);
        send_bytes(bytes);
        close(their_end);
        oldest_pending()->source.ready(&oldest_pending()->source, true, false);
        assert_int_equal(pending_count, 0);
    }
}

/* It came while this rank computed for long, and epoll told of others first. */
static void a_reply_is_read_however_late(void **unused)
{
    tcp_peer_t *peer = wefti_tcp_peer(LOWER);
    (void)unused;
    peer->state = TCP_APART;
    begin_pending();
    make_reply(own_key, LOWER, WE);
    assert_int_equal(write(their_end, theirs.reply, WEFT_REPLY_BYTES), WEFT_REPLY_BYTES);
    oldest_pending()->since_ns = INT64_MIN / 2;
    wefti_tcp_limit_pending();
    assert_int_equal(pending_count, 0);
    assert_int_equal(answer_to_them(), TCP_WELCOME);
    assert_int_equal(peer->state, TCP_OPEN);
    forget(peer);
}

/* ---- silent connections, over sockets of the network ---- */

enum { SILENT = 600, FEW_FILES = 64, OWN_FILES = 40 };

static int silent[SILENT], silent_count;

static void connect_silently(int count)
{
    for (silent_count = 0; silent_count < count; silent_count++) {
        silent[silent_count] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(
            connect(silent[silent_count], (struct sockaddr *)&listens_at, sizeof(listens_at)), 0);
    }
}

static void close_silent(void)
{
    while (silent_count > 0)
        close(silent[--silent_count]);
}

static void open_listener(void)
{
    socklen_t length = sizeof(listens_at);
    int fd = wefti_tcp_open_socket();
    listens_at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)&listens_at, sizeof(listens_at)), 0);
    assert_int_equal(listen(fd, SILENT), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&listens_at, &length), 0);
    wefti_tcp.listener = (tcp_source_t){.fd = fd, .ready = tcp_listener_ready};
}

/* As progress does; how many were accepted or dismissed. */
static size_t take_round(void)
{
    size_t before = pending_count;
    uint64_t dropped = wefti_tcp.dropped;
    wefti_tcp.listener.ready(&wefti_tcp.listener, true, false);
    wefti_tcp_limit_pending();
    return (pending_count > before) + (size_t)(wefti_tcp.dropped - dropped);
}

static void silent_connections_are_limited(void **unused)
{
    (void)unused;
    connect_silently(SILENT);
    while (take_round() > 0)
        assert_true(pending_count <= most_pending());
    assert_true(pending_count > 0);
    assert_true(pending_count < SILENT);
    oldest_pending()->since_ns = INT64_MIN / 2;
    size_t before = pending_count;
    wefti_tcp_limit_pending();
    assert_int_equal(pending_count, before - 1);
    while (pending_count > 0)
        dismiss(oldest_pending(), NULL);
    close_silent();
}

/* All ranks of another host connect at once: none is dismissed while the soft limit can rise. */
static void the_limit_rises_before_one_is_dismissed(void **unused)
{
    enum { RANKS_AT_ONCE = 30 };
    struct rlimit limit;
    (void)unused;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit low = {.rlim_cur = 80, .rlim_max = limit.rlim_max};
    assert_true(limit.rlim_max / 4 > RANKS_AT_ONCE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    uint64_t dropped = wefti_tcp.dropped;
    connect_silently(RANKS_AT_ONCE);
    while (pending_count < RANKS_AT_ONCE && wefti_tcp.dropped == dropped)
        take_round();
    assert_int_equal(pending_count, RANKS_AT_ONCE);
    while (pending_count > 0)
        dismiss(oldest_pending(), NULL);
    close_silent();
}

static jmp_buf before_abort;

static __attribute__((noreturn)) void note_abort(int code, const char *why)
{
    (void)code, (void)why;
    longjmp(before_abort, 1);
}

/* Is there no way to go on? */
static bool aborts_the_job(void)
{
    if (setjmp(before_abort) != 0)
        return true;
    lacks_descriptors = true;
    wefti_tcp_limit_pending();
    return false;
}

/* For good: the accepting function raises a limit that can be raised. */
static void leave_few_descriptors(int last_used)
{
    const rlim_t most = (rlim_t)last_used + 4;
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void descriptors_are_taken_from_the_silent(void **unused)
{
    (void)unused;
    weft_world.abort = note_abort;
    connect_silently(OWN_FILES);
    leave_few_descriptors(silent[OWN_FILES - 1]);
    if (setjmp(before_abort) != 0)
        fail_msg("silent connections have ended the job");
    for (int round = 0; round < OWN_FILES; round++) {
        take_round();
        if (pending_count > 0)
            oldest_pending()->since_ns = INT64_MIN / 2;
    }
    while (pending_count > 0)
        dismiss(oldest_pending(), NULL);
}

/* After the test before: descriptors are short, and no silent connection has one. */
static void without_descriptors_the_job_ends(void **unused)
{
    static int files[FEW_FILES];
    int count = 0;
    (void)unused;
    while ((files[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    assert_false(weft_world.lacks_files);
    assert_true(aborts_the_job());
    assert_true(weft_world.lacks_files);
    while (count > 0)
        close(files[--count]);
    close_silent();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_ranks_connection_stays),
        cmocka_unit_test(a_connection_that_is_there_is_better_than_one_to_come),
        cmocka_unit_test(who_was_lost_stays_so),
        cmocka_unit_test(the_key_is_what_admits),
        cmocka_unit_test(a_reply_works_once),
        cmocka_unit_test(the_address_counts),
        cmocka_unit_test(who_stops_midway_is_forgotten),
        cmocka_unit_test(a_reply_is_read_however_late),
        cmocka_unit_test(silent_connections_are_limited),
        cmocka_unit_test(the_limit_rises_before_one_is_dismissed),
        cmocka_unit_test(descriptors_are_taken_from_the_silent),
        cmocka_unit_test(without_descriptors_the_job_ends),
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
    memcpy(wefti_tcp.own_key, own_key, sizeof(own_key));
    weft_list_init(&pending_connections);
    open_listener();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
