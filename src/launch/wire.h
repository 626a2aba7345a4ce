/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection between mpirun and a daemon, or two daemons: messages in both directions, never
 * blocking.
 *
 *   frame: | u32 bytes of the body | u32 kind | i32 to | i32 from | body |
 */
#ifndef WEFT_LAUNCH_WIRE_H
#define WEFT_LAUNCH_WIRE_H

#include "launch/daemon_message.h"

#include <poll.h>

typedef struct weft_wire {
    int fd; /* -1: closed */
    weft_byte_queue_t in, out;
    size_t taken;   /* bytes of `in` that the message given last takes */
    char error[96]; /* why it ended; "" while it is open or when it was closed in good order */
} weft_wire_t;

/** Take a connected socket. */
void weft_wire_open(int fd, weft_wire_t *out);

/** End it when the other host has not answered at all for so long. */
void weft_wire_limit_silence(const weft_wire_t *wire, int seconds);

/** Queue a message, a copy. Without memory for it the wire ends. */
void weft_wire_send(weft_wire_t *wire, const weft_message_t *message);

/** What to wait for; false: it is closed. */
bool weft_wire_prepare_poll(const weft_wire_t *wire, struct pollfd *out);

/** Send and receive what is possible; messages that have come can be taken even if the wire ends
 *  here. */
void weft_wire_advance(weft_wire_t *wire);

/** The next message, which lives until the next call; false: none is complete. */
bool weft_wire_next(weft_wire_t *wire, weft_message_t *out);

/** Has all been sent, or can nothing be sent any more? */
bool weft_wire_is_flushed(const weft_wire_t *wire);

void weft_wire_close(weft_wire_t *wire);

#endif
