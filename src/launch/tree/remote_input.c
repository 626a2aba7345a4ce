/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/tree/remote_input.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1 << 18 /* bytes under way */ };

/* ---- mpirun's side ---- */

/* The terminal stops groups in the background that read from it. */
static bool may_read(void)
{
    return isatty(STDIN_FILENO) != 1 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void weft_input_source_look(weft_input_source_t *source)
{
    bool is_read = source->is_open && source->under_way < WINDOW && may_read();
    if (source->relay != NULL)
        wl_loop_set(source->relay->loop, STDIN_FILENO, is_read ? POLLIN : 0);
}

static void send_input(weft_input_source_t *source, const char *data, size_t bytes)
{
    weft_writer_t body = {0};
    weft_write_bytes(&body, data, bytes);
    weft_relay_send(source->relay, WEFT_MSG_INPUT, source->node, &body);
    weft_writer_release(&body);
    source->under_way += bytes;
    if (bytes == 0)
        weft_input_source_close(source);
}

static void stdin_ready(void *owner, short ready)
{
    weft_input_source_t *source = owner;
    char data[16384];
    ssize_t bytes = read(STDIN_FILENO, data, sizeof(data));
    (void)ready;
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    send_input(source, data, bytes < 0 ? 0 : (size_t)bytes);
    weft_input_source_look(source);
}

int weft_input_source_open(weft_relay_t *relay, int node, weft_input_source_t *out)
{
    *out = (weft_input_source_t){.relay = relay, .is_open = true, .node = node};
    int err = wl_loop_add(relay->loop, STDIN_FILENO, 0, stdin_ready, out);
    weft_input_source_look(out);
    return err;
}

void weft_input_source_take(weft_input_source_t *source, const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    uint64_t bytes = weft_read_u64(&reader);
    source->under_way -= bytes < source->under_way ? bytes : source->under_way;
    weft_input_source_look(source);
}

void weft_input_source_close(weft_input_source_t *source)
{
    if (source->is_open)
        wl_loop_remove(source->relay->loop, STDIN_FILENO);
    source->is_open = false;
}

/* ---- The daemon's side ---- */

static void close_pipe(weft_input_drain_t *drain)
{
    if (drain->pipe < 0)
        return;
    wl_loop_remove(drain->relay->loop, drain->pipe);
    close(drain->pipe);
    drain->pipe = -1;
}

/* Returns how many bytes are done with: written, or of no use as the rank reads no more. */
static size_t write_pipe(weft_input_drain_t *drain)
{
    size_t waiting = weft_queue_bytes(&drain->data);
    ssize_t bytes = drain->pipe < 0 || waiting == 0
                        ? 0
                        : write(drain->pipe, weft_queue_front(&drain->data), waiting);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (bytes < 0)
        close_pipe(drain);
    size_t done = drain->pipe < 0 ? waiting : (size_t)bytes;
    weft_queue_drop(&drain->data, done);
    return done;
}

static void tell_done(weft_relay_t *relay, size_t bytes)
{
    weft_writer_t body = {0};
    weft_write_u64(&body, bytes);
    weft_relay_send(relay, WEFT_MSG_READ, 0, &body);
    weft_writer_release(&body);
}

static void drain_data(weft_input_drain_t *drain)
{
    size_t done = write_pipe(drain);
    if (done > 0)
        tell_done(drain->relay, done);
    bool is_empty = weft_queue_bytes(&drain->data) == 0;
    if (drain->has_ended && is_empty)
        close_pipe(drain);
    else if (drain->pipe >= 0)
        wl_loop_set(drain->relay->loop, drain->pipe, is_empty ? 0 : POLLOUT);
}

static void drain_ready(void *owner, short ready)
{
    (void)ready;
    drain_data(owner);
}

int weft_input_drain_open(weft_relay_t *relay, weft_input_drain_t *out, int *rank_end_out)
{
    int ends[2];
    *out = (weft_input_drain_t){.relay = relay, .pipe = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe for the input of a rank cannot be made: %s",
                         strerror(errno));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    out->pipe = ends[1];
    *rank_end_out = ends[0];
    return wl_loop_add(relay->loop, ends[1], 0, drain_ready, out);
}

void weft_input_drain_take(weft_input_drain_t *drain, const weft_message_t *message)
{
    if (drain->relay == NULL)
        return; /* the rank with the input is elsewhere */
    if (message->bytes == 0 || !weft_queue_append(&drain->data, message->body, message->bytes))
        drain->has_ended = true;
    drain_data(drain);
}

void weft_input_drain_close(weft_input_drain_t *drain)
{
    close_pipe(drain);
    weft_queue_release(&drain->data);
}
