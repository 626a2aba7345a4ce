/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting to a peer.
 *
 *   connector   connect -->
 *   acceptor    <-- hello                                                  (base/handshake.h)
 *   connector   reply: which rank it is, which it wants, proof that it knows that one's key -->
 *   acceptor    <-- welcome: proof that it is that rank, verdict           now both may send
 *
 * When both connect at once, the connection of the lower rank stays, once its reply is out: the
 * lower rank's verdict on the other's is no, and the higher rank gives up its own when the lower
 * one's reply comes. A connection that is not as far may never come through, where a firewall lets
 * others in on one side only.
 *
 * A host has several addresses, and some of them lead nowhere, or to ourselves (bridges of
 * containers have the same address everywhere). Those of a subnet that we are in come first, our
 * own are passed over unless there are no others, and the rank that answers has to prove that it is
 * the one, and that it was reached at the address that this rank tried.
 *
 * A rank that is connected to by very many others may close a connection before it has read the
 * reply; the same address is then tried again.
 */
#include "tcp/tcp_private.h"

#include "net/address_card.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/file_limit.h"
#include "base/keep_alive.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLOSED_MOST = 16,
    SLOW_NS = 1000000000, /* no acceptor takes a connection for silent before this time */
};

/* A way to a peer that is being tried. */
struct tcp_attempt {
    struct sockaddr_in addresses[WEFT_RAILS_MAX]; /* [count] best first */
    int count, next;
    int closed; /* how often the other side has closed a connection at once */
    int last_error;
    uint8_t key[WEFT_SECRET_BYTES];
    int64_t tried_ns, deadline_ns; /* of the address that is being tried */
    weft_handshake_t handshake;
    size_t got;            /* of the part that it sends */
    tcp_peer_t *following; /* in `trying` */
};

static tcp_peer_t *trying;

/* ---- choosing an address of the peer ---- */

typedef enum connect_place { PLACE_NEAR, PLACE_FAR, PLACE_OWN } connect_place_t;

static connect_place_t connect_place_of(in_addr_t address)
{
    if (wefti_tcp_is_own(address))
        return PLACE_OWN;
    return wefti_tcp_is_near(address) ? PLACE_NEAR : PLACE_FAR;
}

static void connect_add_addresses(tcp_attempt_t *attempt, const weft_addresses_t *all,
                                  connect_place_t place)
{
    for (uint32_t i = 0; i < all->rails; i++) {
        struct sockaddr_in address;
        if (all->rail[i].bytes != sizeof(address))
            continue;
        memcpy(&address, all->rail[i].data, sizeof(address));
        if (connect_place_of(address.sin_addr.s_addr) == place)
            attempt->addresses[attempt->count++] = address;
    }
}

/* ---- sockets ---- */

void wefti_tcp_prepare_socket(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    weft_keep_alive(fd, weft_config.LOST_AFTER);
}

int wefti_tcp_open_socket(void)
{
    enum { TYPE = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };
    int fd = socket(AF_INET, TYPE, 0);
    return fd < 0 && errno == EMFILE && weft_file_limit_raise() ? socket(AF_INET, TYPE, 0) : fd;
}

void wefti_tcp_close_source(tcp_source_t *source)
{
    if (source->fd < 0)
        return;
    wefti_tcp_unwatch(source);
    close(source->fd);
    source->fd = -1;
}

/* ---- connecting ---- */

static void tcp_connector_ready(tcp_source_t *source, bool is_readable, bool is_writable);

void wefti_tcp_end_attempt(tcp_peer_t *peer)
{
    tcp_peer_t **at = &trying;
    while (*at != peer)
        at = &(*at)->attempt->following;
    *at = peer->attempt->following;
    weft_free(peer->attempt);
    peer->attempt = NULL;
    wefti_tcp.attempts--;
}

static void is_connected(tcp_peer_t *peer)
{
    wefti_tcp_end_attempt(peer);
    peer->source.ready = wefti_tcp_peer_ready;
    wefti_tcp_want_room(&peer->source, false);
    wefti_tcp_peer_open(peer);
    WEFT_LOG(WEFT_DEBUG, "tcp", "connected to rank %d", weft_process_rank(peer->net.process));
}

static bool try_address(tcp_peer_t *peer)
{
    tcp_attempt_t *attempt = peer->attempt;
    const struct sockaddr_in *address = &attempt->addresses[attempt->next++];
    int fd = wefti_tcp_open_socket();
    if (fd < 0) {
        attempt->last_error = errno;
        return false;
    }
    wefti_tcp_prepare_socket(fd);
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno != EINPROGRESS) {
        attempt->last_error = errno;
        close(fd);
        return false;
    }
    attempt->tried_ns = weft_clock_ns();
    attempt->deadline_ns =
        attempt->tried_ns + (int64_t)weft_config.TIMEOUT * 1000000000 / attempt->count;
    attempt->got = 0;
    peer->state = TCP_CONNECTING;
    peer->source = (tcp_source_t){.fd = fd, .ready = tcp_connector_ready};
    wefti_tcp_watch(&peer->source);
    wefti_tcp_want_room(&peer->source, true);
    return true;
}

static void describe_attempt(const tcp_attempt_t *attempt, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < attempt->count && used < bytes; i++) {
        char text[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &attempt->addresses[i].sin_addr, text, sizeof(text));
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i == 0 ? "" : ", ", text);
    }
}

static void give_up_connecting(tcp_peer_t *peer)
{
    char tried[128];
    const tcp_attempt_t *attempt = peer->attempt;
    weft_world.lacks_files |= attempt->last_error == EMFILE || attempt->last_error == ENFILE;
    describe_attempt(attempt, tried, sizeof(tried));
    weft_fail(MPI_ERR_OTHER,
              "rank %d on %s cannot reach rank %d on %s over TCP from %s: %s; tried %s. "
              "WEFT_FABRIC_INTERFACE names the interface to use",
              weft_world.rank, weft_world.host, weft_process_rank(peer->net.process), peer->host,
              wefti_tcp_interface(), strerror(attempt->last_error),
              attempt->count == 0 ? "nothing, since it has no address" : tried);
    wefti_tcp_end_attempt(peer);
    wefti_tcp_peer_unreachable(peer);
}

static void try_next(tcp_peer_t *peer)
{
    wefti_tcp_close_source(&peer->source);
    while (peer->attempt->next < peer->attempt->count) {
        if (try_address(peer))
            return;
    }
    give_up_connecting(peer);
}

static void connect_fail_attempt(tcp_peer_t *peer, int error)
{
    peer->attempt->last_error = error;
    try_next(peer);
}

static void await_hello(tcp_peer_t *peer)
{
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(peer->source.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
        connect_fail_attempt(peer, error);
        return;
    }
    peer->state = TCP_CONNECTED;
    wefti_tcp_want_room(&peer->source, false);
}

/* The acceptor has closed the connection: perhaps too many were waiting with it, or this rank has
 * computed, and said nothing for so long that the acceptor lost patience. That may happen again and
 * again until the program waits in MPI. */
static void connection_was_closed(tcp_peer_t *peer, int error)
{
    tcp_attempt_t *attempt = peer->attempt;
    bool was_slow = weft_clock_ns() - attempt->tried_ns >= SLOW_NS;
    if (was_slow || attempt->closed++ < CLOSED_MOST)
        attempt->next--;
    connect_fail_attempt(peer, error);
}

/* Go on reading a part of the handshake; true: all `bytes` are there. */
static bool read_part(tcp_peer_t *peer, uint8_t *to, size_t bytes)
{
    tcp_attempt_t *attempt = peer->attempt;
    ssize_t got = recv(peer->source.fd, to + attempt->got, bytes - attempt->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        connection_was_closed(peer, got == 0 ? ECONNRESET : errno);
        return false;
    }
    attempt->got += (size_t)got;
    if (attempt->got < bytes)
        return false;
    attempt->got = 0;
    return true;
}

static bool send_reply(tcp_peer_t *peer)
{
    weft_handshake_t *handshake = &peer->attempt->handshake;
    tcp_introduction_t introduction = {.source = (uint32_t)weft_world.rank,
                                       .dest = (uint32_t)weft_process_rank(peer->net.process)};
    snprintf(introduction.host, sizeof(introduction.host), "%.39s", weft_world.host);
    /* A new socket has room for the reply. */
    return wefti_tcp_place(peer->source.fd, true, handshake->place) &&
           weft_handshake_answer(handshake, wefti_tcp_protocol(), peer->attempt->key, &introduction,
                                 sizeof(introduction)) &&
           send(peer->source.fd, handshake->reply, WEFT_REPLY_BYTES, MSG_NOSIGNAL) ==
               WEFT_REPLY_BYTES;
}

static void read_hello(tcp_peer_t *peer)
{
    if (!read_part(peer, peer->attempt->handshake.hello, WEFT_HELLO_BYTES))
        return;
    if (send_reply(peer))
        peer->state = TCP_HANDSHAKE;
    else
        connect_fail_attempt(peer, EPROTO);
}

static void read_welcome(tcp_peer_t *peer)
{
    tcp_attempt_t *attempt = peer->attempt;
    uint32_t verdict;
    if (!read_part(peer, attempt->handshake.welcome, WEFT_WELCOME_BYTES))
        return;
    if (!weft_handshake_check(&attempt->handshake, attempt->key, &verdict))
        connect_fail_attempt(peer, EPROTO);
    else if (verdict == TCP_WELCOME)
        is_connected(peer);
    else /* by a rank whose reply is on its way to us */
        wefti_tcp_close_source(&peer->source);
}

static void tcp_connector_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    tcp_peer_t *peer = WEFT_ELEMENT(source, tcp_peer_t, source);
    if (peer->state == TCP_CONNECTING && (is_writable || is_readable))
        await_hello(peer);
    else if (peer->state == TCP_CONNECTED && is_readable)
        read_hello(peer);
    else if (peer->state == TCP_HANDSHAKE && is_readable)
        read_welcome(peer);
}

int wefti_tcp_connect(tcp_peer_t *peer)
{
    weft_addresses_t addresses;
    tcp_attempt_t *attempt = weft_alloc_zeroed(1, sizeof(*attempt));
    if (attempt == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to connect");
    int err = weft_card_read(weft_process_rank(peer->net.process), &addresses, attempt->key);
    if (err != MPI_SUCCESS) {
        weft_free(attempt);
        return err;
    }
    snprintf(peer->host, sizeof(peer->host), "%.39s",
             weft_card_host(weft_process_rank(peer->net.process)));
    connect_add_addresses(attempt, &addresses, PLACE_NEAR);
    connect_add_addresses(attempt, &addresses, PLACE_FAR);
    if (attempt->count == 0) /* containers with one network, which share no memory */
        connect_add_addresses(attempt, &addresses, PLACE_OWN);
    attempt->last_error = EHOSTUNREACH;
    attempt->following = trying;
    peer->attempt = attempt;
    trying = peer;
    wefti_tcp.attempts++;
    try_next(peer);
    return peer->state == TCP_LOST ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Has the kernel of the other host not answered? If it has, this rank may not have seen that yet,
 * since it has computed. */
static bool waits_for_kernel(const tcp_peer_t *peer)
{
    struct pollfd socket = {.fd = peer->source.fd, .events = POLLOUT};
    return peer->state == TCP_CONNECTING && poll(&socket, 1, 0) == 0;
}

void wefti_tcp_check_attempts(void)
{
    static unsigned rounds;
    if (++rounds % 64 != 0)
        return;
    int64_t now = weft_clock_ns();
    for (tcp_peer_t *peer = trying, *next; peer != NULL; peer = next) {
        next = peer->attempt->following;
        /* Once the kernel of the other host has answered, there is no limit: the peer may well be
         * computing. */
        if (now > peer->attempt->deadline_ns && waits_for_kernel(peer))
            connect_fail_attempt(peer, ETIMEDOUT);
    }
}

void wefti_tcp_connect_close(void)
{
    while (trying != NULL)
        wefti_tcp_end_attempt(trying);
}
