/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to the hub whose other ends have not proved yet which ranks they are. Any process on
 * the network can connect until all ranks have joined, so that they are bounded in number and time,
 * and the oldest end first; a rank that has lost its connection that way connects again.
 */
#define _GNU_SOURCE /* accept4 */
#include "pmi/hub_server_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/file_limit.h"
#include "base/keep_alive.h"
#include "base/memory.h"
#include "base/peer_user.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

void wefti_hub_dismiss(hub_client_t *pending)
{
    weft_list_remove(&pending->link);
    wefti_hub.pending_count--;
    wefti_hub_stream_close(&pending->stream);
    weft_free(pending);
}

static bool welcome(hub_client_t *pending, uint32_t verdict)
{
    weft_handshake_welcome(&pending->handshake, wefti_hub.secret, verdict);
    ssize_t sent = send(pending->stream.fd, pending->handshake.welcome, WEFT_WELCOME_BYTES,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == WEFT_WELCOME_BYTES;
}

static void refuse(hub_client_t *pending, const char *why)
{
    if (welcome(pending, HUB_NOT_WELCOME))
        wefti_hub_tell(
            pending,
            &(hub_frame_t){.kind = HUB_REFUSED, .data = why, .data_bytes = (uint32_t)strlen(why)});
    wefti_hub_dismiss(pending);
}

/* Is another process connected as this rank? It may have just ended. */
static bool is_taken(int rank)
{
    hub_client_t *other = wefti_hub.clients[rank];
    if (other == NULL)
        return false;
    wefti_hub_serve(other);
    return !other->is_gone;
}

static void admit_rank(hub_client_t *pending, int rank)
{
    if (!welcome(pending, HUB_WELCOME)) {
        wefti_hub_dismiss(pending);
        return;
    }
    weft_list_remove(&pending->link);
    wefti_hub.pending_count--;
    weft_keep_alive(pending->stream.fd, weft_config.LOST_AFTER);
    wefti_hub_enter(pending, rank);
}

static void refuse_double(hub_client_t *pending, int rank)
{
    char why[256];
    const hub_client_t *other = wefti_hub.clients[rank];
    snprintf(why, sizeof(why), "process %d on %.127s has joined as rank %d already", other->process,
             other->hostname == NULL ? "another host" : other->hostname, rank);
    refuse(pending, why);
}

static void judge(hub_client_t *pending, const hub_introduction_t *introduction)
{
    uint32_t rank = le32toh(introduction->rank), size = le32toh(introduction->size);
    if (size != (uint32_t)wefti_hub.size || rank == 0 || rank >= size) {
        char why[128];
        snprintf(why, sizeof(why), "this is rank %u of %u, but rank 0 is one of %d", rank, size,
                 wefti_hub.size);
        refuse(pending, why);
        return;
    }
    bool is_double = is_taken((int)rank);
    if (wefti_hub.listener < 0)
        return; /* the last rank has joined, and this connection is closed */
    if (le32toh(introduction->opened) != wefti_hub.opened) {
        welcome(pending, HUB_NOT_YET);
        wefti_hub_dismiss(pending);
    } else if (is_double) {
        refuse_double(pending, (int)rank);
    } else if (wefti_hub.clients[rank] == NULL) {
        admit_rank(pending, (int)rank);
    } else {
        wefti_hub_dismiss(pending); /* the other one is gone; this rank comes again */
    }
}

void wefti_hub_read_reply(hub_client_t *pending)
{
    hub_introduction_t introduction;
    ssize_t got = recv(pending->stream.fd, pending->handshake.reply + pending->got,
                       WEFT_REPLY_BYTES - pending->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        wefti_hub_dismiss(pending);
        return;
    }
    pending->got += (size_t)got;
    if (pending->got < WEFT_REPLY_BYTES)
        return;
    weft_handshake_name(&pending->handshake, &introduction, sizeof(introduction));
    if (weft_handshake_accept(&pending->handshake, wefti_hub.secret))
        judge(pending, &introduction);
    else
        wefti_hub_dismiss(pending);
}

static size_t most_pending(void)
{
    size_t most = WEFTI_HUB_PENDING_MOST + (size_t)wefti_hub.size, quarter = weft_file_limit() / 4;
    return most < quarter ? most : quarter;
}

void wefti_hub_limit_pending(void)
{
    int64_t oldest_ms = weft_clock_ms() - PATIENCE_MS;
    while (wefti_hub.pending_count > 0) {
        hub_client_t *oldest = WEFT_ELEMENT(wefti_hub.pending.next, hub_client_t, link);
        if (wefti_hub.pending_count <= most_pending() && oldest->since_ms > oldest_ms)
            return;
        wefti_hub_dismiss(oldest);
    }
}

int64_t wefti_hub_pending_limit(void)
{
    return wefti_hub.pending_count == 0
               ? INT64_MAX
               : WEFT_ELEMENT(wefti_hub.pending.next, hub_client_t, link)->since_ms + PATIENCE_MS;
}

/* A connection from this host must be of the same user, where the kernel tells. */
static bool is_of_other_user(int fd)
{
    uid_t user;
    return wefti_hub.knows_users && weft_peer_user(fd, &user) && user != getuid();
}

static void say_hello(int fd)
{
    int one = 1;
    hub_client_t *pending = weft_alloc_zeroed(1, sizeof(*pending));
    if (pending == NULL) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    pending->stream.fd = fd;
    pending->since_ms = weft_clock_ms();
    weft_list_append(&wefti_hub.pending, &pending->link);
    wefti_hub.pending_count++;
    if (!weft_handshake_begin(&pending->handshake, wefti_hub_protocol) ||
        send(fd, pending->handshake.hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT) !=
            WEFT_HELLO_BYTES)
        wefti_hub_dismiss(pending);
}

/* One connection a round, so that those who wait are served; and the oldest goes for a new one. */
void wefti_hub_accept(void)
{
    int fd = accept4(wefti_hub.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0 && is_of_other_user(fd)) {
        close(fd);
    } else if (fd >= 0) {
        say_hello(fd);
        wefti_hub_limit_pending();
    } else if ((errno == EMFILE || errno == ENFILE) && !weft_file_limit_raise() &&
               wefti_hub.pending_count > 0) {
        wefti_hub_dismiss(WEFT_ELEMENT(wefti_hub.pending.next, hub_client_t, link));
    }
}
