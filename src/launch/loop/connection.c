/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/loop/connection.h"

#include "base/keep_alive.h"
#include "mpi.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 16,
    READ_BYTES = 65536,
    MOST_READS = 16, /* in one turn, so that one busy connection does not stop the others */
};

static const uint32_t most_body = 1U << 30;

void wl_connection_open(int fd, wl_connection_t *out)
{
    int one = 1;
    *out = (wl_connection_t){.fd = fd};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void wl_connection_limit_silence(const wl_connection_t *connection, int seconds)
{
    unsigned unheard_ms = 1000 * (unsigned)seconds; /* limit for data that the other host does not
                                                     * acknowledge */
    weft_keep_alive(connection->fd, seconds);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof(unheard_ms));
}

int wl_connection_watch(wl_connection_t *connection, wl_loop_t *loop, wl_watch_fn_t fn, void *owner)
{
    short events = wl_queue_bytes(&connection->out) > 0 ? POLLIN | POLLOUT : POLLIN;
    if (connection->fd < 0)
        return MPI_SUCCESS; /* what it has received can still be taken */
    connection->loop = loop;
    return wl_loop_add(loop, connection->fd, events, fn, owner);
}

void wl_connection_unwatch(wl_connection_t *connection)
{
    if (connection->loop != NULL)
        wl_loop_remove(connection->loop, connection->fd);
    connection->loop = NULL;
}

/* The first reason is the one that counts. */
static void note_end_reason(wl_connection_t *connection, const char *why)
{
    if (connection->error[0] == '\0')
        snprintf(connection->error, sizeof(connection->error), "%s", why);
}

static void end_connection(wl_connection_t *connection, const char *why)
{
    note_end_reason(connection, why);
    wl_connection_unwatch(connection);
    close(connection->fd);
    connection->fd = -1;
    wl_queue_release(&connection->out);
}

void wl_connection_send(wl_connection_t *connection, const wl_message_t *message)
{
    const uint32_t header[] = {htole32((uint32_t)message->bytes), htole32((uint32_t)message->kind),
                               htole32((uint32_t)message->to), htole32((uint32_t)message->from)};
    _Static_assert(sizeof(header) == HEADER_BYTES, "as drawn");
    if (connection->fd < 0)
        return;
    if (message->bytes > most_body || !wl_queue_append(&connection->out, header, sizeof(header)) ||
        !wl_queue_append(&connection->out, message->body, message->bytes)) {
        note_end_reason(connection, "no memory for a message");
        wl_queue_release(&connection->out);
        shutdown(connection->fd, SHUT_RDWR); /* the loop finds it ended, and its owner is called */
        return;
    }
    if (connection->loop != NULL)
        wl_loop_set(connection->loop, connection->fd, POLLIN | POLLOUT);
}

static bool is_transient(void)
{
    return errno == EAGAIN || errno == EINTR;
}

void wl_connection_flush(wl_connection_t *connection)
{
    while (connection->fd >= 0 && wl_queue_bytes(&connection->out) > 0) {
        ssize_t bytes = send(connection->fd, wl_queue_front(&connection->out),
                             wl_queue_bytes(&connection->out), MSG_NOSIGNAL);
        if (bytes < 0 && is_transient())
            return;
        if (bytes < 0)
            end_connection(connection, strerror(errno));
        else
            wl_queue_drop(&connection->out, (size_t)bytes);
    }
    if (connection->fd >= 0 && connection->loop != NULL)
        wl_loop_set(connection->loop, connection->fd, POLLIN);
}

static void receive(wl_connection_t *connection)
{
    for (int i = 0; i < MOST_READS && connection->fd >= 0; i++) {
        char *room = wl_queue_room(&connection->in, READ_BYTES);
        if (room == NULL) {
            end_connection(connection, "no memory for a message");
            return;
        }
        ssize_t bytes = recv(connection->fd, room, READ_BYTES, 0);
        if (bytes < 0 && is_transient())
            return;
        if (bytes > 0)
            connection->in.end += (size_t)bytes;
        else
            end_connection(connection, bytes == 0 ? "the connection was closed" : strerror(errno));
    }
}

void wl_connection_advance(wl_connection_t *connection)
{
    if (connection->fd < 0)
        return;
    wl_queue_drop(&connection->in, connection->taken);
    connection->taken = 0;
    /* Receive first: when a send finds the connection ended, what had come would be lost. */
    receive(connection);
    wl_connection_flush(connection);
}

static uint32_t header_word(const wl_connection_t *connection, int index)
{
    uint32_t word;
    memcpy(&word, wl_queue_front(&connection->in) + 4 * index, sizeof(word));
    return le32toh(word);
}

bool wl_connection_next(wl_connection_t *connection, wl_message_t *out)
{
    wl_queue_drop(&connection->in, connection->taken);
    connection->taken = 0;
    size_t waiting = wl_queue_bytes(&connection->in);
    if (waiting < HEADER_BYTES)
        return false;
    uint32_t bytes = header_word(connection, 0);
    if (bytes > most_body) {
        if (connection->fd >= 0)
            end_connection(connection, "a message has an impossible length");
        wl_queue_release(&connection->in);
        return false;
    }
    if (waiting < HEADER_BYTES + (size_t)bytes)
        return false;
    *out = (wl_message_t){.kind = (int)header_word(connection, 1),
                          .to = (int)header_word(connection, 2),
                          .from = (int)header_word(connection, 3),
                          .body = wl_queue_front(&connection->in) + HEADER_BYTES,
                          .bytes = bytes};
    connection->taken = HEADER_BYTES + (size_t)bytes;
    return true;
}

bool wl_connection_is_flushed(const wl_connection_t *connection)
{
    return connection->fd < 0 || wl_queue_bytes(&connection->out) == 0;
}

void wl_connection_close(wl_connection_t *connection)
{
    wl_connection_unwatch(connection);
    if (connection->fd >= 0)
        close(connection->fd);
    wl_queue_release(&connection->in);
    wl_queue_release(&connection->out);
    *connection = (wl_connection_t){.fd = -1};
}
