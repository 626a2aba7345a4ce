/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/tree/remote_input.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CREDIT = 1 << 18 /* bytes that may be under way */ };

/* ---- mpirun's side ---- */

/* A process group in the background that reads from the terminal would be stopped. */
static bool may_read(void)
{
    return isatty(STDIN_FILENO) != 1 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void wl_input_source_look(wl_input_source_t *source)
{
    bool is_read = source->is_open && source->under_way < CREDIT && may_read();
    if (source->router != NULL)
        wl_loop_set(source->router->loop, STDIN_FILENO, is_read ? POLLIN : 0);
}

static void send_input(wl_input_source_t *source, const char *data, size_t bytes)
{
    wl_writer_t body = {0};
    wl_write_bytes(&body, data, bytes);
    wl_router_send(source->router, WL_MSG_INPUT, source->node, &body);
    wl_writer_release(&body);
    source->under_way += bytes;
    if (bytes == 0)
        wl_input_source_close(source);
}

static void stdin_ready(void *owner, short ready)
{
    wl_input_source_t *source = owner;
    char data[16384];
    ssize_t bytes = read(STDIN_FILENO, data, sizeof(data));
    (void)ready;
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    send_input(source, data, bytes < 0 ? 0 : (size_t)bytes);
    wl_input_source_look(source);
}

int wl_input_source_open(wl_router_t *router, int node, wl_input_source_t *out)
{
    *out = (wl_input_source_t){.router = router, .is_open = true, .node = node};
    int err = wl_loop_add(router->loop, STDIN_FILENO, 0, stdin_ready, out);
    wl_input_source_look(out);
    return err;
}

void wl_input_source_take(wl_input_source_t *source, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    uint64_t bytes = wl_read_u64(&reader);
    source->under_way -= bytes < source->under_way ? bytes : source->under_way;
    wl_input_source_look(source);
}

void wl_input_source_close(wl_input_source_t *source)
{
    if (source->is_open)
        wl_loop_remove(source->router->loop, STDIN_FILENO);
    source->is_open = false;
}

/* ---- The daemon's side ---- */

static void close_pipe(wl_input_drain_t *drain)
{
    if (drain->pipe < 0)
        return;
    wl_loop_remove(drain->router->loop, drain->pipe);
    close(drain->pipe);
    drain->pipe = -1;
}

/* Returns how many bytes are done with: written, or dropped because the rank has closed its stdin.
 */
static size_t write_pipe(wl_input_drain_t *drain)
{
    size_t waiting = wl_queue_bytes(&drain->data);
    ssize_t bytes = drain->pipe < 0 || waiting == 0
                        ? 0
                        : write(drain->pipe, wl_queue_front(&drain->data), waiting);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (bytes < 0)
        close_pipe(drain);
    size_t done = drain->pipe < 0 ? waiting : (size_t)bytes;
    wl_queue_drop(&drain->data, done);
    return done;
}

static void tell_done(wl_router_t *router, size_t bytes)
{
    wl_writer_t body = {0};
    wl_write_u64(&body, bytes);
    wl_router_send(router, WL_MSG_READ, 0, &body);
    wl_writer_release(&body);
}

static void drain_data(wl_input_drain_t *drain)
{
    size_t done = write_pipe(drain);
    if (done > 0)
        tell_done(drain->router, done);
    bool is_empty = wl_queue_bytes(&drain->data) == 0;
    if (drain->has_ended && is_empty)
        close_pipe(drain);
    else if (drain->pipe >= 0)
        wl_loop_set(drain->router->loop, drain->pipe, is_empty ? 0 : POLLOUT);
}

static void drain_ready(void *owner, short ready)
{
    (void)ready;
    drain_data(owner);
}

int wl_input_drain_open(wl_router_t *router, wl_input_drain_t *out, int *rank_end_out)
{
    int ends[2];
    *out = (wl_input_drain_t){.router = router, .pipe = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe for the input of a rank cannot be made: %s",
                         strerror(errno));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    out->pipe = ends[1];
    *rank_end_out = ends[0];
    return wl_loop_add(router->loop, ends[1], 0, drain_ready, out);
}

void wl_input_drain_take(wl_input_drain_t *drain, const wl_message_t *message)
{
    if (drain->router == NULL)
        return; /* the rank with the input is elsewhere */
    if (message->bytes == 0 || !wl_queue_append(&drain->data, message->body, message->bytes))
        drain->has_ended = true;
    drain_data(drain);
}

void wl_input_drain_close(wl_input_drain_t *drain)
{
    close_pipe(drain);
    wl_queue_release(&drain->data);
}
