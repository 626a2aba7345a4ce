/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection between mpirun and a daemon, or two daemons: messages in both directions, never
 * blocking.
 *
 *   frame: | u32 bytes of the body | u32 kind | i32 to | i32 from | body |
 */
#ifndef WEFT_LAUNCH_TREE_CONNECTION_H
#define WEFT_LAUNCH_TREE_CONNECTION_H

#include "launch/tree/daemon_message.h"
#include "launch/loop/event_loop.h"

typedef struct weft_wire {
    int fd;          /* -1: closed */
    wl_loop_t *loop; /* that watches it; NULL: none */
    weft_byte_queue_t in, out;
    size_t taken;   /* bytes of `in` that the message given last takes */
    char error[96]; /* why it ended; "" while it is open or when it was closed in good order */
} weft_wire_t;

/** Take a connected socket. */
void weft_wire_open(int fd, weft_wire_t *out);

/** End it when the other host has not answered at all for so long. */
void weft_wire_limit_silence(const weft_wire_t *wire, int seconds);

/** Queue a message, a copy. Without memory for it the wire ends, which the next
 *  weft_wire_advance() finds out. */
void weft_wire_send(weft_wire_t *wire, const weft_message_t *message);

/**
 * Have the loop call `fn` when there is something to receive, or to send and room for it; it calls
 * weft_wire_advance(). The address of `wire` may not change from now on. MPI_ERR_NO_MEM.
 */
int weft_wire_watch(weft_wire_t *wire, wl_loop_t *loop, wl_watch_fn_t fn, void *owner);

/** The loop forgets it; it may be moved and watched again. */
void weft_wire_unwatch(weft_wire_t *wire);

/** Send and receive what is possible; messages that have come can be taken even if the wire ends
 *  here. */
void weft_wire_advance(weft_wire_t *wire);

/** The next message, which lives until the next call; false: none is complete. */
bool weft_wire_next(weft_wire_t *wire, weft_message_t *out);

/** Has all been sent, or can nothing be sent any more? */
bool weft_wire_is_flushed(const weft_wire_t *wire);

void weft_wire_close(weft_wire_t *wire);

#endif
