/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stdout and stderr of the ranks of a host, merged line by line.
 *
 *   rank 0 stdout --pipe--> stream (keeps what is not yet a line) \
 *   rank 1 stdout --pipe--> stream                                 > target: mpirun's stdout
 *   rank 0 stderr --pipe--> stream                                 > target: mpirun's stderr
 *
 * While the target has no room the streams are not read, so the ranks wait, as they would without
 * us.
 */
#ifndef WEFT_LAUNCH_NODE_RANK_OUTPUT_H
#define WEFT_LAUNCH_NODE_RANK_OUTPUT_H

#include "launch/loop/event_loop.h"

#include <stdbool.h>
#include <stddef.h>

enum { WL_PROMPT_MS = 100 /* without events, after which an unfinished line may be a prompt */ };

/** Where lines go: mpirun's own files, or the connection to it. `channel` is a
 * wl_channel_kind_t. */
typedef struct wl_output_target {
    void *context;
    void (*put)(void *context, int channel, const char *data,
                size_t bytes); /* copies; never waits */
    bool (*has_room)(void *context, int channel);
} wl_output_target_t;

struct wl_output;

typedef struct wl_output_stream {
    struct wl_output *output; /* that it is part of */
    int fd;                   /* -1: closed */
    char *line; /* what came since the last newline; from the heap when first needed */
    size_t used;
    bool is_inside_line; /* its first part has been given to the target */
} wl_output_stream_t;

typedef struct wl_output {
    wl_output_target_t target;
    wl_loop_t *loop;
    wl_output_stream_t *streams; /* [2 * count]: stdout of the first rank, its stderr, ... */
    const int *ranks;            /* [count] their numbers */
    int count;
    int first_number; /* tags count from here: 0, unless other mpiruns start ranks of the job */
    bool tags_lines;
    bool is_read[2];   /* the channel is read: the target has room */
    bool is_immediate; /* pass on parts of lines at once, as the only rank may write a prompt */
} wl_output_t;

/** Prepare for the `count` ranks ranks[], an array which has to live as long. The loop reads from
 *  now on; the address of `out` may not change. MPI_ERR_NO_MEM. */
int wl_output_open(const int *ranks, int count, wl_output_target_t target, wl_loop_t *loop,
                   wl_output_t *out);

/** Make a pipe for a channel of the rank with that index, in place of an earlier one; the caller
 *  closes its write end after giving it to the rank. MPI_ERR_SPAWN, MPI_ERR_NO_MEM. */
int wl_output_connect(wl_output_t *output, int index, int channel, int *write_end_out);

/** To be called right before each turn of the loop: read those channels only for which the target
 *  has room at that time. */
void wl_output_throttle(wl_output_t *output);

/** Read what the rank with that index has written so far, or, with -1, what all ranks have. */
void wl_output_gather(wl_output_t *output, int index);

/** The reader of this channel is gone: close the pipes, so that the ranks see it as they would
 *  without mpirun. */
void wl_output_break(wl_output_t *output, int channel);

/** Pass on the unfinished line in this channel of the rank with that index: it may be a prompt. */
void wl_output_show_prompt(wl_output_t *output, int index, int channel);

/** Have all streams ended? */
bool wl_output_is_closed(const wl_output_t *output);

/** The ranks have ended: read what is in the pipes even if other processes hold them open, close
 *  them, and pass on unfinished lines. */
void wl_output_drain(wl_output_t *output);

void wl_output_release(wl_output_t *output);

#endif
