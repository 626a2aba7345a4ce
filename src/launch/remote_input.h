/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpirun's stdin on its way to a rank (usually 0) on another host: mpirun reads and sends, the daemon
 * writes into a pipe and says how much the rank has taken.
 */
#ifndef WEFT_LAUNCH_REMOTE_INPUT_H
#define WEFT_LAUNCH_REMOTE_INPUT_H

#include "launch/relay.h"

#include <poll.h>
#include <stdbool.h>

/** mpirun's side. */
typedef struct weft_input_source {
    bool is_open;
    int node; /* the daemon of the rank */
    uint64_t under_way;
} weft_input_source_t;

void weft_input_source_open(int node, weft_input_source_t *out);
/** Fill in one entry, or none; returns how many. */
int weft_input_source_prepare_poll(const weft_input_source_t *source, struct pollfd *out);
/** poll() says that there is something on stdin: send it. */
void weft_input_source_advance(weft_input_source_t *source, weft_relay_t *relay);
/** A message of kind WEFT_MSG_READ. */
void weft_input_source_take(weft_input_source_t *source, const weft_message_t *message);

/** The daemon's side. */
typedef struct weft_input_drain {
    int pipe; /* to the rank; -1: none, or closed */
    bool has_ended;
    weft_byte_queue_t data;
} weft_input_drain_t;

/** rank_end_out: what the rank gets as stdin, to be closed after its start. MPI_ERR_SPAWN. */
int weft_input_drain_open(weft_input_drain_t *out, int *rank_end_out);
int weft_input_drain_prepare_poll(const weft_input_drain_t *drain, struct pollfd *out);
/** Write what can be written, and tell mpirun. */
void weft_input_drain_advance(weft_input_drain_t *drain, weft_relay_t *relay);
/** A message of kind WEFT_MSG_INPUT. */
void weft_input_drain_take(weft_input_drain_t *drain, const weft_message_t *message);
void weft_input_drain_close(weft_input_drain_t *drain);

#endif
