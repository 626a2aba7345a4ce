/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accepting connections. A connection stays pending until its other end has proved to be a rank of
 * the job (tcp_connect.c has the picture). Any process on the network can connect, so the number of
 * pending connections and their time are bounded, and the oldest end first; a rank that has lost
 * its connection that way tries again.
 */
#define _GNU_SOURCE /* accept4 */
#include "tcp/tcp_private.h"

#include "net/address_card.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/file_limit.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "mpi.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    ACCEPTED_MOST = 64, /* in one round of progress */
    PENDING_MOST = 256, /* and one for each rank */
};

/* How long a connection may send nothing while this rank polls it; and while descriptors are short.
 */
static const int64_t patience_ns = INT64_C(10000000000), short_patience_ns = 1000000000;

/* Ranks whose links are paced have marks between the frames. */
const char *wefti_tcp_protocol(void)
{
    static const char plain[WEFT_PROTOCOL_BYTES] = {'w', 'e', 'f', 't', '-', 't', '0', '3'};
    static const char paced[WEFT_PROTOCOL_BYTES] = {'w', 'e', 'f', 't', '-', 'p', '0', '3'};
    return wefti_tcp.is_paced ? paced : plain;
}

/* A connection whose other end has not proved yet which rank it is. */
typedef struct pending {
    tcp_source_t source; /* first */
    weft_link_t link;    /* in `pending_connections` */
    weft_handshake_t handshake;
    size_t got; /* of the reply */
    int64_t since_ns;
} pending_connection_t;

static struct sockaddr_in listens_at;
static weft_list_t pending_connections; /* oldest first */
static size_t pending_count;
static bool lacks_descriptors; /* for another connection */

bool wefti_tcp_place(int fd, bool is_peer, uint8_t out[WEFT_PLACE_BYTES])
{
    struct sockaddr_in address = {0};
    socklen_t bytes = sizeof(address);
    int err = is_peer ? getpeername(fd, (struct sockaddr *)&address, &bytes)
                      : getsockname(fd, (struct sockaddr *)&address, &bytes);
    memset(out, 0, WEFT_PLACE_BYTES);
    memcpy(out, &address.sin_addr.s_addr, sizeof(address.sin_addr.s_addr));
    memcpy(out + sizeof(address.sin_addr.s_addr), &address.sin_port, sizeof(address.sin_port));
    return err == 0;
}

/* ---- the end of a pending connection ---- */

static void forget_pending(pending_connection_t *pending)
{
    weft_list_remove(&pending->link);
    pending_count--;
    weft_free(pending);
}

static void dismiss(pending_connection_t *pending, const char *why)
{
    if (why != NULL && wefti_tcp.dropped++ == 0)
        WEFT_LOG(WEFT_WARN, "tcp", "dropped a connection: %s; more of them are only counted", why);
    wefti_tcp_close_source(&pending->source);
    forget_pending(pending);
}

/* The oldest pending connection, which has had the most time for its handshake. */
static pending_connection_t *oldest_pending(void)
{
    return WEFT_ELEMENT(pending_connections.next, pending_connection_t, link);
}

/* Pending connections may use a quarter of the descriptors that this process may open; the limit
 * is raised before one is dismissed. */
static size_t most_pending(void)
{
    size_t most = PENDING_MOST + (size_t)weft_world.size, quarter = weft_file_limit() / 4;
    return most < quarter ? most : quarter;
}

/* Without a descriptor a rank that connects would wait for an answer for ever. */
static void cannot_accept(void)
{
    char why[384];
    snprintf(why, sizeof(why),
             "rank %d on %s cannot accept a connection: %s; a rank needs one for each rank of "
             "another host that it talks to, and the limit is %lu (ulimit -n)",
             weft_world.rank, weft_world.host, strerror(EMFILE), weft_file_limit());
    weft_world.lacks_files = true;
    weft_world.abort(MPI_ERR_OTHER, why);
}

/* Its reply may have come while this rank computed: then it is read, and not dismissed unread. */
static void dismiss_oldest(const char *why)
{
    pending_connection_t *oldest = oldest_pending();
    size_t before = pending_count;
    oldest->source.ready(&oldest->source, true, false);
    if (pending_count == before)
        dismiss(oldest, why);
}

static void dismiss_older_than(int64_t age_ns, const char *why)
{
    int64_t since_ns = weft_clock_ns() - age_ns;
    while (pending_count > 0 && oldest_pending()->since_ns < since_ns)
        dismiss_oldest(why);
}

/* The handshake of a rank that connects comes within an instant, unless the rank computes. */
static void free_descriptors(void)
{
    lacks_descriptors = false;
    if (pending_count == 0)
        cannot_accept();
    dismiss_older_than(short_patience_ns, "it says nothing, and descriptors are short");
}

void wefti_tcp_limit_pending(void)
{
    if (lacks_descriptors)
        free_descriptors();
    if (pending_count == 0)
        return;
    if (pending_count > most_pending())
        weft_file_limit_raise();
    for (size_t most = most_pending(); pending_count > most;)
        dismiss_oldest("it says nothing, and many others wait");
    dismiss_older_than(patience_ns, "it says nothing");
}

/* ---- a rank has connected ---- */

static bool answer_reply(pending_connection_t *pending, uint32_t verdict)
{
    weft_handshake_welcome(&pending->handshake, wefti_tcp.own_key, verdict);
    return send(pending->source.fd, pending->handshake.welcome, WEFT_WELCOME_BYTES, MSG_NOSIGNAL) ==
           WEFT_WELCOME_BYTES;
}

/* The pending connection is that of `peer`: it becomes the connection of the pair. */
static void adopt_connection(tcp_peer_t *peer, pending_connection_t *pending)
{
    int fd = pending->source.fd;
    if (peer->attempt != NULL) {
        wefti_tcp_close_source(&peer->source);
        wefti_tcp_end_attempt(peer);
    }
    wefti_tcp_unwatch(&pending->source);
    forget_pending(pending);
    peer->source = (tcp_source_t){.fd = fd, .ready = wefti_tcp_peer_ready};
    wefti_tcp_watch(&peer->source);
    wefti_tcp_peer_open(peer);
}

static void admit(pending_connection_t *pending, const tcp_introduction_t *introduction)
{
    int source = (int)introduction->source;
    tcp_peer_t *peer = wefti_tcp_peer(weft_process_find(WEFT_OWN_JOB, source));
    if (peer == NULL)
        weft_out_of_memory("a rank that has connected", sizeof(*peer));
    bool is_ours_better =
        peer->state == TCP_HANDSHAKE && peer->source.fd >= 0 && weft_world.rank < source;
    /* Either both ranks connected at once, and this connection was given up; or the peer is lost
     * for good, and the layer above was told so. */
    if (peer->state == TCP_OPEN || peer->state == TCP_LOST) {
        dismiss(pending, NULL);
        return;
    }
    bool is_answered = answer_reply(pending, is_ours_better ? TCP_NOT_NEEDED : TCP_WELCOME);
    snprintf(peer->host, sizeof(peer->host), "%.39s", introduction->host);
    if (is_answered && !is_ours_better)
        adopt_connection(peer, pending);
    else
        dismiss(pending, NULL);
}

static const char *find_reply_fault(const pending_connection_t *pending,
                                    const tcp_introduction_t *introduction)
{
    if (!weft_handshake_accept(&pending->handshake, wefti_tcp.own_key))
        return "it does not know the key of this rank, or wanted another address";
    if (introduction->dest != (uint32_t)weft_world.rank)
        return "it wanted another rank";
    int source = weft_process_find(WEFT_OWN_JOB, (int)introduction->source);
    if (source == WEFT_NO_PROCESS || source == weft_processes.self)
        return "it names a rank that does not exist";
    return NULL;
}

static void tcp_pending_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    pending_connection_t *pending = (pending_connection_t *)source;
    tcp_introduction_t introduction;
    (void)is_readable, (void)is_writable;
    ssize_t got = recv(source->fd, pending->handshake.reply + pending->got,
                       WEFT_REPLY_BYTES - pending->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        dismiss(pending, NULL); /* its rank has connected by another one */
        return;
    }
    pending->got += (size_t)got;
    if (pending->got < WEFT_REPLY_BYTES)
        return;
    weft_handshake_name(&pending->handshake, &introduction, sizeof(introduction));
    introduction.host[sizeof(introduction.host) - 1] = '\0';
    const char *fault = find_reply_fault(pending, &introduction);
    if (fault != NULL)
        dismiss(pending, fault);
    else
        admit(pending, &introduction);
}

/* ---- listening ---- */

static void say_hello(int fd)
{
    pending_connection_t *pending = weft_alloc_zeroed(1, sizeof(*pending));
    if (pending == NULL) {
        close(fd);
        return;
    }
    wefti_tcp_prepare_socket(fd);
    pending->source = (tcp_source_t){.fd = fd, .ready = tcp_pending_ready};
    pending->since_ns = weft_clock_ns();
    weft_list_append(&pending_connections, &pending->link);
    pending_count++;
    wefti_tcp_watch(&pending->source);
    if (!wefti_tcp_place(fd, false, pending->handshake.place) ||
        !weft_handshake_begin(&pending->handshake, wefti_tcp_protocol()) ||
        send(fd, pending->handshake.hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL) != WEFT_HELLO_BYTES)
        dismiss(pending, NULL);
}

/* Connections above the limit are dismissed after the round (wefti_tcp_limit_pending). */
static void tcp_listener_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    (void)is_readable, (void)is_writable;
    for (int accepted = 0; accepted < ACCEPTED_MOST; accepted++) {
        int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            say_hello(fd);
        else if (errno != EMFILE || !weft_file_limit_raise()) {
            lacks_descriptors = errno == EMFILE || errno == ENFILE;
            return;
        }
    }
}

int wefti_tcp_listen(void)
{
    weft_list_init(&pending_connections);
    int err = wefti_tcp_find_interfaces();
    if (err != MPI_SUCCESS)
        return err;
    int fd = wefti_tcp_open_socket();
    struct sockaddr_in any = {.sin_family = AF_INET};
    if (weft_config.FABRIC_INTERFACE[0] != '\0' || weft_world.machine[0] != '\0')
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
    return weft_card_publish(&own, wefti_tcp.own_key);
}

void wefti_tcp_accept_close(void)
{
    wefti_tcp_close_source(&wefti_tcp.listener);
    while (pending_count > 0)
        dismiss(oldest_pending(), NULL);
}
