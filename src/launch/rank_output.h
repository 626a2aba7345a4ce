/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' stdout and stderr, merged line by line into ours.
 *
 *   rank 0 stdout --pipe--> stream (keeps what is not yet a line) \
 *   rank 1 stdout --pipe--> stream                                 > sink: queue --> our stdout
 *   rank 0 stderr --pipe--> stream                                 > sink: queue --> our stderr
 *
 * We never block in a write while a signal may come: a sink that takes nothing lets its queue fill,
 * and then its streams are not read any more, so the ranks wait, as they would without us.
 */
#ifndef WEFT_LAUNCH_RANK_OUTPUT_H
#define WEFT_LAUNCH_RANK_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct weft_sink {
    int fd;
    char *queue; /* [capacity]; what is to be written lies at begin..end */
    size_t begin, end, capacity;
    bool is_terminal, is_file; /* a write to a file never waits for a reader */
    bool is_broken;            /* nobody reads: EPIPE and the like */
} weft_sink_t;

typedef struct weft_stream {
    int fd; /* -1: closed */
    int rank;
    weft_sink_t *sink;
    char *line; /* what came since the last newline; from the heap when first needed */
    size_t used;
    bool is_inside_line; /* its first part has been given to the sink */
} weft_stream_t;

typedef struct weft_output {
    weft_sink_t sinks[2];
    weft_stream_t *streams; /* [2 * size]: stdout of rank 0, its stderr, ... */
    int size;
    bool tags_lines;
} weft_output_t;

/** Prepare for `size` ranks. MPI_ERR_NO_MEM. */
int weft_output_open(int size, bool tags_lines, weft_output_t *out);

/** Make the pipes of a rank; the caller closes write_ends[2] (stdout, stderr) after giving them to
 * the rank. MPI_ERR_SPAWN. */
int weft_output_connect(weft_output_t *output, int rank, int write_ends[2]);

/** Room in an array of pollfd that the next function needs. */
int weft_output_poll_room(const weft_output_t *output);

/** Fill in what to wait for; returns how many entries. */
int weft_output_prepare_poll(const weft_output_t *output, struct pollfd *out);

/** Read from and write to what is ready; `polls` as prepared. */
void weft_output_advance(weft_output_t *output, const struct pollfd *polls, int count);

/** Put a line of mpirun's own among the ranks' lines on stderr, after what they have written so
 * far. */
void weft_output_add_message(weft_output_t *output, const char *line);

/** Has the reader of our stdout or stderr gone? */
bool weft_output_is_broken(const weft_output_t *output);

/** Nothing has come for a moment: show the prompt of rank 0 that a user at a terminal waits for. */
void weft_output_show_prompt(weft_output_t *output);

/** Have all streams ended? */
bool weft_output_is_closed(const weft_output_t *output);

/** Is there nothing to be written? */
bool weft_output_is_flushed(const weft_output_t *output);

/** The ranks have ended: read what is in the pipes, whoever else holds them open, close them, and
 *  queue unfinished lines. */
void weft_output_drain(weft_output_t *output);

void weft_output_release(weft_output_t *output);

#endif
