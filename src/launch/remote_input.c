/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/remote_input.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1 << 18 /* bytes under way */ };

/* ---- mpirun's side ---- */

void weft_input_source_open(int node, weft_input_source_t *out)
{
    *out = (weft_input_source_t){.is_open = true, .node = node};
}

/* The terminal stops groups in the background that read from it. */
static bool may_read(void)
{
    return isatty(STDIN_FILENO) != 1 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int weft_input_source_prepare_poll(const weft_input_source_t *source, struct pollfd *out)
{
    if (!source->is_open || source->under_way >= WINDOW || !may_read())
        return 0;
    *out = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    return 1;
}

void weft_input_source_advance(weft_input_source_t *source, weft_relay_t *relay)
{
    char data[16384];
    ssize_t bytes = read(STDIN_FILENO, data, sizeof(data));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (bytes < 0)
        bytes = 0;
    weft_writer_t body = {0};
    weft_write_bytes(&body, data, (size_t)bytes);
    weft_relay_send(relay, WEFT_MSG_INPUT, source->node, &body);
    weft_writer_release(&body);
    source->under_way += (uint64_t)bytes;
    source->is_open = bytes > 0;
}

void weft_input_source_take(weft_input_source_t *source, const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    uint64_t bytes = weft_read_u64(&reader);
    source->under_way -= bytes < source->under_way ? bytes : source->under_way;
}

/* ---- The daemon's side ---- */

int weft_input_drain_open(weft_input_drain_t *out, int *rank_end_out)
{
    int ends[2];
    *out = (weft_input_drain_t){.pipe = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe for the input of a rank cannot be made: %s",
                         strerror(errno));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    out->pipe = ends[1];
    *rank_end_out = ends[0];
    return MPI_SUCCESS;
}

int weft_input_drain_prepare_poll(const weft_input_drain_t *drain, struct pollfd *out)
{
    if (drain->pipe < 0 || weft_queue_bytes(&drain->data) == 0)
        return 0;
    *out = (struct pollfd){.fd = drain->pipe, .events = POLLOUT};
    return 1;
}

static void close_pipe(weft_input_drain_t *drain)
{
    if (drain->pipe >= 0)
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

void weft_input_drain_advance(weft_input_drain_t *drain, weft_relay_t *relay)
{
    size_t done = write_pipe(drain);
    if (done > 0) {
        weft_writer_t body = {0};
        weft_write_u64(&body, done);
        weft_relay_send(relay, WEFT_MSG_READ, 0, &body);
        weft_writer_release(&body);
    }
    if (drain->has_ended && weft_queue_bytes(&drain->data) == 0)
        close_pipe(drain);
}

void weft_input_drain_take(weft_input_drain_t *drain, const weft_message_t *message)
{
    if (message->bytes == 0 || !weft_queue_append(&drain->data, message->body, message->bytes))
        drain->has_ended = true;
}

void weft_input_drain_close(weft_input_drain_t *drain)
{
    close_pipe(drain);
    weft_queue_release(&drain->data);
}
