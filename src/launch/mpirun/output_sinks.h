/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun's stdout and stderr. No write blocks, so that mpirun can react to signals: if a reader
 * takes nothing, the queue fills, and then those who write into it have to wait. */
#ifndef WEFT_LAUNCH_MPIRUN_OUTPUT_SINKS_H
#define WEFT_LAUNCH_MPIRUN_OUTPUT_SINKS_H

#include "launch/loop/byte_queue.h"
#include "launch/loop/event_loop.h"

#include <stdbool.h>

typedef enum wl_channel_kind { WL_STDOUT, WL_STDERR } wl_channel_kind_t;

typedef struct wl_sink {
    wl_loop_t *loop;
    int fd;
    wl_byte_queue_t queue;
    bool is_terminal, is_file; /* a write to a file never waits for a reader */
    bool is_broken;            /* nothing can be written any more */
    int error;                 /* errno that says why; 0: the reader is gone */
} wl_sink_t;

typedef struct wl_sinks {
    wl_sink_t sinks[2];
    bool is_one; /* 2>&1: both go through sinks[0], so that no line is written into another */
} wl_sinks_t;

/** The loop writes what waits, until wl_sinks_release(); the address of `out` may not change.
 *  MPI_ERR_NO_MEM. */
int wl_sinks_open(wl_loop_t *loop, wl_sinks_t *out);

/** Queue a copy; for a broken sink it is dropped. */
void wl_sinks_put(wl_sinks_t *sinks, int channel, const char *data, size_t bytes);

/** May more be put, or is the queue full? */
bool wl_sinks_have_room(const wl_sinks_t *sinks, int channel);

/** Write what can be written without waiting. */
void wl_sinks_flush(wl_sinks_t *sinks);

/** Can nothing be written to this channel any more, because its reader is gone or for another
 *  reason? */
bool wl_sinks_are_broken(const wl_sinks_t *sinks, int channel);

/** Of a broken channel: the errno that says why, such as ENOSPC; 0: its reader is gone. */
int wl_sinks_error(const wl_sinks_t *sinks, int channel);

bool wl_sinks_are_terminal(const wl_sinks_t *sinks, int channel);

/** Is there nothing to be written? */
bool wl_sinks_are_flushed(const wl_sinks_t *sinks);

void wl_sinks_release(wl_sinks_t *sinks);

#endif
