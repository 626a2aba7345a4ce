/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making connections.
 *
 *   connector   connect --> handshake (who I am, whom I want, proof that I know its key) -->
 *   acceptor    <-- verdict (proof that I am the one)                    now both may send
 *
 * When both connect at once, the connection of the lower rank stays, once its handshake is out: the
 * lower rank refuses the other's, and the higher rank gives up its own when the lower one's
 * handshake comes. One that the kernel still works at may never come through, where a firewall lets
 * others in on one side only.
 *
 * A host has several addresses, and some of them lead nowhere, or to ourselves (bridges of
 * containers have the same address everywhere). Those of a subnet that we are in come first, our
 * own are passed over, and whoever answers has to prove that it is the one.
 */
#define _GNU_SOURCE /* accept4 */
#include "tcp/tcp_private.h"

#include "net/address_card.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/file_limit.h"
#include "base/keep_alive.h"
#include "base/keyed_hash.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAGIC = 0x57465431,
    VERSION = 2, /* of frames */
    BACKLOG = 4096,
    PENDING_MOST = 256, /* and one for each rank: more are strangers that say nothing */
};

typedef struct handshake {
    uint32_t magic, version;
    uint32_t source, dest; /* ranks in the job */
    uint64_t proof;
    char host[TCP_HOST_BYTES]; /* of the source */
} handshake_t;

typedef struct verdict {
    uint64_t proof;
    uint32_t is_welcome; /* 0: I am connecting to you myself */
    uint32_t zero;
} verdict_t;

/* A way to a peer that is being tried. */
struct tcp_attempt {
    struct sockaddr_in addresses[WEFT_RAILS_MAX]; /* [count] best first */
    int count, next;
    int last_error;
    uint64_t key;
    int64_t deadline_ns; /* of the address that is being tried */
    char verdict[sizeof(verdict_t)];
    size_t verdict_got;
    tcp_peer_t *following; /* in `trying` */
};

/* Somebody who has connected and not said yet who it is. */
typedef struct pending {
    tcp_source_t source;  /* first */
    struct pending *next; /* in `pending connections` */
    char handshake[sizeof(handshake_t)];
    size_t handshake_got;
} pending_connection_t;

static struct sockaddr_in listens_at;
static tcp_peer_t *trying;
static pending_connection_t *pending_connections; /* youngest first */
static int pending_count;

enum { ROLE_CONNECTOR = 1, ROLE_ACCEPTOR = 2 };

/* What shows that `speaker` knows a key, without showing the key. */
static uint64_t connect_prove(uint64_t key, uint32_t role, int speaker)
{
    const uint64_t secret[WEFT_SECRET_BYTES / sizeof(uint64_t)] = {key, key};
    const uint32_t text[2] = {role, (uint32_t)speaker};
    uint64_t proof[WEFT_PROOF_BYTES / sizeof(uint64_t)];
    weft_keyed_hash((const uint8_t *)secret, text, sizeof(text), (uint8_t *)proof);
    return proof[0];
}

/* ---- choosing an address of the peer ---- */

static void connect_add_addresses(tcp_attempt_t *attempt, const weft_addresses_t *all, bool near)
{
    for (uint32_t i = 0; i < all->rails; i++) {
        struct sockaddr_in address;
        if (all->rail[i].bytes != sizeof(address))
            continue;
        memcpy(&address, all->rail[i].data, sizeof(address));
        if (!wefti_tcp_is_own(address.sin_addr.s_addr) &&
            wefti_tcp_is_near(address.sin_addr.s_addr) == near)
            attempt->addresses[attempt->count++] = address;
    }
}

/* ---- sockets ---- */

static void prepare_socket(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    weft_keep_alive(fd, weft_config.LOST_AFTER);
}

static int open_tcp_socket(void)
{
    enum { TYPE = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };
    int fd = socket(AF_INET, TYPE, 0);
    return fd < 0 && errno == EMFILE && weft_file_limit_raise() ? socket(AF_INET, TYPE, 0) : fd;
}

static void close_source(tcp_source_t *source)
{
    if (source->fd < 0)
        return;
    wefti_tcp_unwatch(source);
    close(source->fd);
    source->fd = -1;
}

/* ---- connecting ---- */

static void tcp_connector_ready(tcp_source_t *source, bool is_readable, bool is_writable);

static void end_attempt(tcp_peer_t *peer)
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
    end_attempt(peer);
    peer->state = TCP_OPEN;
    peer->source.ready = wefti_tcp_peer_ready;
    wefti_tcp_want_room(&peer->source, false);
    wefti_tcp_note_dirty(peer);
    WEFT_LOG(WEFT_DEBUG, "tcp", "connected to rank %d", weft_process_rank(peer->net.process));
}

static bool try_address(tcp_peer_t *peer)
{
    tcp_attempt_t *attempt = peer->attempt;
    const struct sockaddr_in *address = &attempt->addresses[attempt->next++];
    int fd = open_tcp_socket();
    if (fd < 0) {
        attempt->last_error = errno;
        return false;
    }
    prepare_socket(fd);
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno != EINPROGRESS) {
        attempt->last_error = errno;
        close(fd);
        return false;
    }
    attempt->deadline_ns = weft_clock_ns() + (int64_t)weft_config.TIMEOUT * 1000000000 /
                                                 (attempt->count > 0 ? attempt->count : 1);
    attempt->verdict_got = 0;
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
    describe_attempt(attempt, tried, sizeof(tried));
    weft_fail(MPI_ERR_OTHER,
              "rank %d on %s cannot reach rank %d on %s over TCP from %s: %s; tried %s. "
              "WEFT_FABRIC_INTERFACE names the interface to use",
              weft_world.rank, weft_world.host, weft_process_rank(peer->net.process), peer->host,
              wefti_tcp_interface(), strerror(attempt->last_error),
              attempt->count == 0 ? "nothing, since all its addresses are our own" : tried);
    end_attempt(peer);
    wefti_tcp_peer_unreachable(peer);
}

static void try_next(tcp_peer_t *peer)
{
    close_source(&peer->source);
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

static void begin_handshake(tcp_peer_t *peer)
{
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(peer->source.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
        connect_fail_attempt(peer, error);
        return;
    }
    handshake_t handshake = {
        .magic = MAGIC,
        .version = VERSION,
        .source = (uint32_t)weft_world.rank,
        .dest = (uint32_t)weft_process_rank(peer->net.process),
        .proof = connect_prove(peer->attempt->key, ROLE_CONNECTOR, weft_world.rank)};
    snprintf(handshake.host, sizeof(handshake.host), "%.39s", weft_world.host);
    ssize_t sent = send(peer->source.fd, &handshake, sizeof(handshake), MSG_NOSIGNAL);
    if (sent != (ssize_t)sizeof(handshake)) { /* a new socket has room */
        connect_fail_attempt(peer, sent < 0 ? errno : EIO);
        return;
    }
    peer->state = TCP_HANDSHAKE;
    wefti_tcp_want_room(&peer->source, false);
}

static void read_verdict(tcp_peer_t *peer)
{
    tcp_attempt_t *attempt = peer->attempt;
    ssize_t got = recv(peer->source.fd, attempt->verdict + attempt->verdict_got,
                       sizeof(attempt->verdict) - attempt->verdict_got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        connect_fail_attempt(peer, got == 0 ? ECONNRESET : errno);
        return;
    }
    attempt->verdict_got += (size_t)got;
    if (attempt->verdict_got < sizeof(verdict_t))
        return;
    verdict_t verdict;
    memcpy(&verdict, attempt->verdict, sizeof(verdict));
    if (verdict.proof !=
        connect_prove(attempt->key, ROLE_ACCEPTOR, weft_process_rank(peer->net.process)))
        connect_fail_attempt(peer, EPROTO);
    else if (verdict.is_welcome != 0)
        is_connected(peer);
    else /* by a rank whose handshake is on its way to us */
        close_source(&peer->source);
}

static void tcp_connector_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    tcp_peer_t *peer = WEFT_ELEMENT(source, tcp_peer_t, source);
    if (peer->state == TCP_CONNECTING && (is_writable || is_readable))
        begin_handshake(peer);
    else if (peer->state == TCP_HANDSHAKE && is_readable)
        read_verdict(peer);
}

int wefti_tcp_connect(tcp_peer_t *peer)
{
    weft_addresses_t addresses;
    tcp_attempt_t *attempt = weft_alloc_zeroed(1, sizeof(*attempt));
    if (attempt == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to connect");
    int err = weft_card_read(weft_process_rank(peer->net.process), &addresses, &attempt->key);
    if (err != MPI_SUCCESS) {
        weft_free(attempt);
        return err;
    }
    snprintf(peer->host, sizeof(peer->host), "%.39s",
             weft_card_host(weft_process_rank(peer->net.process)));
    connect_add_addresses(attempt, &addresses, true);
    connect_add_addresses(attempt, &addresses, false);
    attempt->last_error = EHOSTUNREACH;
    attempt->following = trying;
    peer->attempt = attempt;
    trying = peer;
    wefti_tcp.attempts++;
    try_next(peer);
    return peer->state == TCP_LOST ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void wefti_tcp_check_attempts(void)
{
    static unsigned rounds;
    if (++rounds % 64 != 0)
        return;
    int64_t now = weft_clock_ns();
    for (tcp_peer_t *peer = trying, *next; peer != NULL; peer = next) {
        next = peer->attempt->following;
        /* In our handshake's place the kernel has answered: the peer may well be computing. */
        if (peer->state != TCP_HANDSHAKE && now > peer->attempt->deadline_ns)
            connect_fail_attempt(peer, ETIMEDOUT);
    }
}

/* ---- accepting ---- */

static void forget_pending(pending_connection_t *pending)
{
    pending_connection_t **at = &pending_connections;
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    pending_count--;
    weft_free(pending);
}

static void dismiss(pending_connection_t *pending, const char *why)
{
    if (why != NULL && wefti_tcp.dropped++ == 0)
        WEFT_LOG(WEFT_WARN, "tcp", "dropped a connection: %s; more of them are only counted", why);
    close_source(&pending->source);
    forget_pending(pending);
}

static bool answer_handshake(int fd, bool is_welcome)
{
    verdict_t verdict = {.proof = connect_prove(wefti_tcp.own_key, ROLE_ACCEPTOR, weft_world.rank),
                         .is_welcome = is_welcome};
    return send(fd, &verdict, sizeof(verdict), MSG_NOSIGNAL) == (ssize_t)sizeof(verdict);
}

/* The pending connection is `peer`: its connection becomes the one between us. */
static void adopt_connection(tcp_peer_t *peer, pending_connection_t *pending)
{
    int fd = pending->source.fd;
    if (peer->attempt != NULL) {
        close_source(&peer->source);
        end_attempt(peer);
    }
    wefti_tcp_unwatch(&pending->source);
    forget_pending(pending);
    peer->source = (tcp_source_t){.fd = fd, .ready = wefti_tcp_peer_ready};
    peer->state = TCP_OPEN;
    wefti_tcp_watch(&peer->source);
    wefti_tcp_note_dirty(peer);
}

static void admit(pending_connection_t *pending, const handshake_t *handshake)
{
    tcp_peer_t *peer = wefti_tcp_peer(weft_process_find(WEFT_OWN_JOB, (int)handshake->source));
    if (peer == NULL)
        weft_out_of_memory("a rank that has connected", sizeof(*peer));
    bool is_ours_better = peer->state == TCP_HANDSHAKE && peer->source.fd >= 0 &&
                          weft_world.rank < (int)handshake->source;
    /* Both connected at once, and this one was given up; or it is lost, and said to be so, for
     * good. */
    if (peer->state == TCP_OPEN || peer->state == TCP_LOST) {
        dismiss(pending, NULL);
        return;
    }
    bool is_answered = answer_handshake(pending->source.fd, !is_ours_better);
    snprintf(peer->host, sizeof(peer->host), "%.39s", handshake->host);
    if (is_answered && !is_ours_better)
        adopt_connection(peer, pending);
    else
        dismiss(pending, NULL);
}

static const char *find_handshake_fault(const handshake_t *handshake)
{
    if (handshake->magic != MAGIC || handshake->version != VERSION)
        return "it does not speak our protocol";
    if (handshake->dest != (uint32_t)weft_world.rank ||
        handshake->proof !=
            connect_prove(wefti_tcp.own_key, ROLE_CONNECTOR, (int)handshake->source))
        return "it does not know the key of this rank";
    int source = weft_process_find(WEFT_OWN_JOB, (int)handshake->source);
    if (source == WEFT_NO_PROCESS || source == weft_processes.self)
        return "it names a rank that does not exist";
    return NULL;
}

static void tcp_pending_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    pending_connection_t *pending = (pending_connection_t *)source;
    (void)is_readable, (void)is_writable;
    ssize_t got = recv(source->fd, pending->handshake + pending->handshake_got,
                       sizeof(pending->handshake) - pending->handshake_got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        dismiss(pending, NULL); /* its rank has found another way to us */
        return;
    }
    pending->handshake_got += (size_t)got;
    if (pending->handshake_got < sizeof(handshake_t))
        return;
    handshake_t handshake;
    memcpy(&handshake, pending->handshake, sizeof(handshake));
    const char *fault = find_handshake_fault(&handshake);
    if (fault != NULL)
        dismiss(pending, fault);
    else
        admit(pending, &handshake);
}

/* The oldest has had the longest time to say who it is. */
static void dismiss_oldest(void)
{
    pending_connection_t *oldest = pending_connections;
    while (oldest->next != NULL)
        oldest = oldest->next;
    dismiss(oldest, "it says nothing, and many others wait");
}

void wefti_tcp_limit_pending(void)
{
    while (pending_count > PENDING_MOST + weft_world.size)
        dismiss_oldest();
}

static void welcome(int fd)
{
    pending_connection_t *pending = weft_alloc_zeroed(1, sizeof(*pending));
    if (pending == NULL) {
        close(fd);
        return;
    }
    prepare_socket(fd);
    pending->source = (tcp_source_t){.fd = fd, .ready = tcp_pending_ready};
    pending->next = pending_connections;
    pending_connections = pending;
    pending_count++;
    wefti_tcp_watch(&pending->source);
}

/* Who has connected would wait for an answer for ever, and so would we for whoever it is. */
static void cannot_accept(int error)
{
    char why[384];
    if (error != EMFILE && error != ENFILE)
        return;
    snprintf(why, sizeof(why),
             "rank %d on %s cannot accept a connection: %s; a rank needs one for each rank of "
             "another host "
             "that it talks to, and the limit is %lu (ulimit -n)",
             weft_world.rank, weft_world.host, strerror(error), weft_file_limit());
    weft_world.abort(1, why);
}

static void tcp_listener_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    int fd;
    (void)is_readable, (void)is_writable;
    do {
        while ((fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
            welcome(fd);
    } while (errno == EMFILE && weft_file_limit_raise());
    cannot_accept(errno);
}

int wefti_tcp_listen(void)
{
    int err = wefti_tcp_find_interfaces();
    if (err != MPI_SUCCESS)
        return err;
    int fd = open_tcp_socket();
    struct sockaddr_in any = {.sin_family = AF_INET};
    if (weft_config.FABRIC_INTERFACE[0] != '\0')
        any.sin_addr.s_addr = wefti_tcp_address(0);
    socklen_t length = sizeof(listens_at);
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&listens_at, &length) != 0) {
        err = weft_fail(MPI_ERR_OTHER, "cannot listen for connections: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return err;
    }
    wefti_tcp.listener = (tcp_source_t){.fd = fd, .ready = tcp_listener_ready};
    wefti_tcp_watch(&wefti_tcp.listener);
    return MPI_SUCCESS;
}

int wefti_tcp_publish(void)
{
    weft_addresses_t own = {.rails = (uint32_t)wefti_tcp_address_count()};
    for (int i = 0; i < (int)own.rails; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = listens_at.sin_port,
                                      .sin_addr.s_addr = wefti_tcp_address(i)};
        own.rail[i].bytes = sizeof(address);
        memcpy(own.rail[i].data, &address, sizeof(address));
    }
    return weft_card_publish(&own, &wefti_tcp.own_key);
}

void wefti_tcp_connect_close(void)
{
    close_source(&wefti_tcp.listener);
    while (pending_connections != NULL)
        dismiss(pending_connections, NULL);
    while (trying != NULL)
        end_attempt(trying);
}
