/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpirun's stdin on its way to a rank (usually 0) on another host: mpirun reads and sends, the
 * daemon writes into a pipe and says how much the rank has taken.
 */
#ifndef WEFT_LAUNCH_TREE_REMOTE_INPUT_H
#define WEFT_LAUNCH_TREE_REMOTE_INPUT_H

#include "launch/tree/router.h"

#include <stdbool.h>

/** mpirun's side. */
typedef struct wl_input_source {
    wl_router_t *router;
    bool is_open;
    int node; /* the daemon of the rank */
    uint64_t under_way;
} wl_input_source_t;

/** The router's loop reads stdin from now on; the address of `out` may not change. MPI_ERR_NO_MEM.
 */
int wl_input_source_open(wl_router_t *router, int node, wl_input_source_t *out);
/** Look whether mpirun is in the foreground; to be called now and then, as a shell does not tell.
 */
void wl_input_source_look(wl_input_source_t *source);
/** A message of kind WL_MSG_READ. */
void wl_input_source_take(wl_input_source_t *source, const wl_message_t *message);
/** Read no more. Does nothing if it is not open. */
void wl_input_source_close(wl_input_source_t *source);

/** The daemon's side. */
typedef struct wl_input_drain {
    wl_router_t *router;
    int pipe; /* to the rank; -1: none, or closed */
    bool has_ended;
    wl_byte_queue_t data;
} wl_input_drain_t;

/** rank_end_out: what the rank gets as stdin, to be closed after its start. The router's loop
 * writes from now on; the address of `out` may not change. MPI_ERR_SPAWN, MPI_ERR_NO_MEM. */
int wl_input_drain_open(wl_router_t *router, wl_input_drain_t *out, int *rank_end_out);
/** A message of kind WL_MSG_INPUT: write what can be written, and give mpirun credit for it. */
void wl_input_drain_take(wl_input_drain_t *drain, const wl_message_t *message);
void wl_input_drain_close(wl_input_drain_t *drain);

#endif
