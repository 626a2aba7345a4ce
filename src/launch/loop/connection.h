/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection between two processes of the launcher: messages in both directions, never blocking.
 *
 *   frame: | u32 bytes of the body | u32 kind | i32 to | i32 from | body |
 */
#ifndef WEFT_LAUNCH_LOOP_CONNECTION_H
#define WEFT_LAUNCH_LOOP_CONNECTION_H

#include "launch/loop/event_loop.h"
#include "launch/loop/launch_message.h"

typedef struct wl_connection {
    int fd;          /* -1: closed */
    wl_loop_t *loop; /* that watches it; NULL: none */
    wl_byte_queue_t in, out;
    size_t taken;   /* bytes of `in` that belong to the message that was returned last */
    char error[96]; /* why it ended; "" if it has not, or was closed in good order */
} wl_connection_t;

/** Take a connected socket. */
void wl_connection_open(int fd, wl_connection_t *out);

/** End it when the other host has not answered at all for so many seconds. */
void wl_connection_limit_silence(const wl_connection_t *connection, int seconds);

/** Queue a copy of a message. If there is no memory, the connection ends; the next
 *  wl_connection_advance() finds that out. */
void wl_connection_send(wl_connection_t *connection, const wl_message_t *message);

/**
 * Have the loop call `fn` when something can be received, or queued messages can be sent; `fn`
 * calls wl_connection_advance(). The address of `connection` may not change from now on.
 * MPI_ERR_NO_MEM.
 */
int wl_connection_watch(wl_connection_t *connection, wl_loop_t *loop, wl_watch_fn_t fn,
                        void *owner);

/** Take it out of the loop, so that it can be moved, and watched again. */
void wl_connection_unwatch(wl_connection_t *connection);

/** Send and receive what is possible; messages that have come can still be taken if the connection
 *  ends here. */
void wl_connection_advance(wl_connection_t *connection);

/** Send what is possible, and receive nothing. */
void wl_connection_flush(wl_connection_t *connection);

/** The next message, which lives until the next call; false: none is complete. */
bool wl_connection_next(wl_connection_t *connection, wl_message_t *out);

/** Has all been sent, or can nothing be sent any more? */
bool wl_connection_is_flushed(const wl_connection_t *connection);

void wl_connection_close(wl_connection_t *connection);

#endif
