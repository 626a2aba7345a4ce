/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/connection.h"

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
    MOST_READS = 16, /* in one turn, so that one wire does not keep us */
};

static const uint32_t most_body = 1U << 30;

void weft_wire_open(int fd, weft_wire_t *out)
{
    int one = 1;
    *out = (weft_wire_t){.fd = fd};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void weft_wire_limit_silence(const weft_wire_t *wire, int seconds)
{
    unsigned unheard_ms = 1000 * (unsigned)seconds; /* data that nobody acknowledges */
    weft_keep_alive(wire->fd, seconds);
    setsockopt(wire->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof(unheard_ms));
}

int weft_wire_watch(weft_wire_t *wire, wl_loop_t *loop, wl_watch_fn_t fn, void *owner)
{
    short events = weft_queue_bytes(&wire->out) > 0 ? POLLIN | POLLOUT : POLLIN;
    if (wire->fd < 0)
        return MPI_SUCCESS; /* what it has received can still be taken */
    wire->loop = loop;
    return wl_loop_add(loop, wire->fd, events, fn, owner);
}

void weft_wire_unwatch(weft_wire_t *wire)
{
    if (wire->loop != NULL)
        wl_loop_remove(wire->loop, wire->fd);
    wire->loop = NULL;
}

/* The first reason is the one that counts. */
static void note_error(weft_wire_t *wire, const char *why)
{
    if (wire->error[0] == '\0')
        snprintf(wire->error, sizeof(wire->error), "%s", why);
}

static void end(weft_wire_t *wire, const char *why)
{
    note_error(wire, why);
    weft_wire_unwatch(wire);
    close(wire->fd);
    wire->fd = -1;
    weft_queue_release(&wire->out);
}

void weft_wire_send(weft_wire_t *wire, const weft_message_t *message)
{
    const uint32_t header[] = {htole32((uint32_t)message->bytes), htole32((uint32_t)message->kind),
                               htole32((uint32_t)message->to), htole32((uint32_t)message->from)};
    _Static_assert(sizeof(header) == HEADER_BYTES, "as drawn");
    if (wire->fd < 0)
        return;
    if (message->bytes > most_body || !weft_queue_append(&wire->out, header, sizeof(header)) ||
        !weft_queue_append(&wire->out, message->body, message->bytes)) {
        note_error(wire, "no memory for a message");
        weft_queue_release(&wire->out);
        shutdown(wire->fd, SHUT_RDWR); /* the loop finds it ended, and its owner is called */
        return;
    }
    if (wire->loop != NULL)
        wl_loop_set(wire->loop, wire->fd, POLLIN | POLLOUT);
}

static bool is_transient(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static void send_queued(weft_wire_t *wire)
{
    while (wire->fd >= 0 && weft_queue_bytes(&wire->out) > 0) {
        ssize_t bytes = send(wire->fd, weft_queue_front(&wire->out), weft_queue_bytes(&wire->out),
                             MSG_NOSIGNAL);
        if (bytes < 0 && is_transient())
            return;
        if (bytes < 0)
            end(wire, strerror(errno));
        else
            weft_queue_drop(&wire->out, (size_t)bytes);
    }
    if (wire->fd >= 0 && wire->loop != NULL)
        wl_loop_set(wire->loop, wire->fd, POLLIN);
}

static void receive(weft_wire_t *wire)
{
    for (int i = 0; i < MOST_READS && wire->fd >= 0; i++) {
        char *room = weft_queue_room(&wire->in, READ_BYTES);
        if (room == NULL) {
            end(wire, "no memory for a message");
            return;
        }
        ssize_t bytes = recv(wire->fd, room, READ_BYTES, 0);
        if (bytes < 0 && is_transient())
            return;
        if (bytes > 0)
            wire->in.end += (size_t)bytes;
        else
            end(wire, bytes == 0 ? "the connection was closed" : strerror(errno));
    }
}

void weft_wire_advance(weft_wire_t *wire)
{
    if (wire->fd < 0)
        return;
    weft_queue_drop(&wire->in, wire->taken);
    wire->taken = 0;
    /* First what has come: an end of the connection found in sending would throw it away. */
    receive(wire);
    send_queued(wire);
}

static uint32_t header_word(const weft_wire_t *wire, int index)
{
    uint32_t word;
    memcpy(&word, weft_queue_front(&wire->in) + 4 * index, sizeof(word));
    return le32toh(word);
}

bool weft_wire_next(weft_wire_t *wire, weft_message_t *out)
{
    weft_queue_drop(&wire->in, wire->taken);
    wire->taken = 0;
    size_t waiting = weft_queue_bytes(&wire->in);
    if (waiting < HEADER_BYTES)
        return false;
    uint32_t bytes = header_word(wire, 0);
    if (bytes > most_body) {
        if (wire->fd >= 0)
            end(wire, "a message has an impossible length");
        weft_queue_release(&wire->in);
        return false;
    }
    if (waiting < HEADER_BYTES + (size_t)bytes)
        return false;
    *out = (weft_message_t){.kind = (int)header_word(wire, 1),
                            .to = (int)header_word(wire, 2),
                            .from = (int)header_word(wire, 3),
                            .body = weft_queue_front(&wire->in) + HEADER_BYTES,
                            .bytes = bytes};
    wire->taken = HEADER_BYTES + (size_t)bytes;
    return true;
}

bool weft_wire_is_flushed(const weft_wire_t *wire)
{
    return wire->fd < 0 || weft_queue_bytes(&wire->out) == 0;
}

void weft_wire_close(weft_wire_t *wire)
{
    weft_wire_unwatch(wire);
    if (wire->fd >= 0)
        close(wire->fd);
    weft_queue_release(&wire->in);
    weft_queue_release(&wire->out);
    *wire = (weft_wire_t){.fd = -1};
}
