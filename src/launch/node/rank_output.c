/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/node/rank_output.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 65536 /* longer lines are passed on in pieces */ };

int wl_output_open(const int *ranks, int count, wl_output_target_t target, wl_loop_t *loop,
                   wl_output_t *out)
{
    wl_output_stream_t *streams = weft_alloc_zeroed(2 * (size_t)count, sizeof(*streams));
    if (streams == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%d streams of output", 2 * count);
    for (int i = 0; i < 2 * count; i++)
        streams[i] = (wl_output_stream_t){.output = out, .fd = -1};
    *out = (wl_output_t){.target = target,
                         .loop = loop,
                         .streams = streams,
                         .ranks = ranks,
                         .count = count,
                         .is_read = {true, true}};
    return MPI_SUCCESS;
}

static void put_output(const wl_output_t *output, int index, const char *data, size_t bytes)
{
    output->target.put(output->target.context, index % 2, data, bytes);
}

/* Give the first `bytes` bytes of a stream's buffer to the target, each line with its rank. */
static void pass_output_on(const wl_output_t *output, int index, size_t bytes)
{
    wl_output_stream_t *stream = &output->streams[index];
    const char *data = stream->line, *end = data + bytes;
    if (!output->tags_lines) {
        put_output(output, index, data, bytes);
        return;
    }
    char tag[24];
    int tag_bytes =
        snprintf(tag, sizeof(tag), "[%d] ", output->first_number + output->ranks[index / 2]);
    while (data < end) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        const char *next = newline == NULL ? end : newline + 1;
        if (!stream->is_inside_line)
            put_output(output, index, tag, (size_t)tag_bytes);
        put_output(output, index, data, (size_t)(next - data));
        stream->is_inside_line = newline == NULL;
        data = next;
    }
}

/* Pass on whole lines; an unfinished one stays, unless it fills the buffer or `takes_all`. */
static void pass_on_lines(const wl_output_t *output, int index, bool takes_all)
{
    wl_output_stream_t *stream = &output->streams[index];
    if (stream->used == 0)
        return;
    const char *newline = memrchr(stream->line, '\n', stream->used);
    size_t bytes = newline == NULL ? 0 : (size_t)(newline + 1 - stream->line);
    if (takes_all || (newline == NULL && stream->used == LINE_BYTES))
        bytes = stream->used;
    if (bytes == 0)
        return;
    pass_output_on(output, index, bytes);
    stream->used -= bytes;
    memmove(stream->line, stream->line + bytes, stream->used);
}

static void close_output(wl_output_stream_t *stream)
{
    wl_loop_remove(stream->output->loop, stream->fd);
    close(stream->fd);
    stream->fd = -1;
}

/* Read once; false: there is nothing to read at the moment. */
static bool output_read_stream(const wl_output_t *output, int index)
{
    wl_output_stream_t *stream = &output->streams[index];
    if (stream->line == NULL)
        stream->line = weft_alloc(LINE_BYTES);
    if (stream->line == NULL)
        return false;
    ssize_t bytes = read(stream->fd, stream->line + stream->used, LINE_BYTES - stream->used);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (bytes <= 0) {
        close_output(stream);
        return false;
    }
    stream->used += (size_t)bytes;
    pass_on_lines(output, index, output->is_immediate);
    return true;
}

static bool target_has_room(const wl_output_t *output, int index)
{
    return output->target.has_room(output->target.context, index % 2);
}

static void output_stream_ready(void *owner, short ready)
{
    const wl_output_stream_t *stream = owner;
    (void)ready;
    output_read_stream(stream->output, (int)(stream - stream->output->streams));
}

/* Read what is there, but no more than a pipe holds: a quick writer could keep us here for ever. */
static void read_all(const wl_output_t *output, int index)
{
    enum { PIPE_BYTES = 1 << 20 }; /* what a pipe holds at most, unless root asks for more */
    for (int n = 0; output->streams[index].fd >= 0 && n < PIPE_BYTES / PIPE_BUF; n++) {
        if (!output_read_stream(output, index))
            return;
    }
}

/* What an earlier process of the rank has started may still hold its pipe open. */
static void end_stream(wl_output_t *output, int index)
{
    read_all(output, index);
    if (output->streams[index].fd >= 0)
        close_output(&output->streams[index]);
    pass_on_lines(output, index, true);
}

int wl_output_connect(wl_output_t *output, int index, int channel, int *write_end_out)
{
    int ends[2];
    end_stream(output, 2 * index + channel);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe for the output of rank %d cannot be made: %s",
                         output->ranks[index], strerror(errno));
    wl_output_stream_t *stream = &output->streams[2 * index + channel];
    int err = wl_loop_add(output->loop, ends[0], output->is_read[channel] ? POLLIN : 0,
                          output_stream_ready, stream);
    if (err != MPI_SUCCESS) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->fd = ends[0];
    *write_end_out = ends[1];
    return MPI_SUCCESS;
}

void wl_output_throttle(wl_output_t *output)
{
    for (int channel = 0; channel < 2; channel++) {
        bool is_read = target_has_room(output, channel);
        if (is_read == output->is_read[channel])
            continue;
        output->is_read[channel] = is_read;
        for (int i = channel; i < 2 * output->count; i += 2)
            wl_loop_set(output->loop, output->streams[i].fd, is_read ? POLLIN : 0);
    }
}

void wl_output_gather(wl_output_t *output, int index)
{
    int first = index < 0 ? 0 : 2 * index, end = index < 0 ? 2 * output->count : first + 2;
    for (int i = first; i < end; i++) {
        if (target_has_room(output, i))
            read_all(output, i);
    }
}

void wl_output_break(wl_output_t *output, int channel)
{
    for (int i = channel; i < 2 * output->count; i += 2) {
        if (output->streams[i].fd >= 0)
            close_output(&output->streams[i]);
    }
}

void wl_output_show_prompt(wl_output_t *output, int index, int channel)
{
    pass_on_lines(output, 2 * index + channel, true);
}

bool wl_output_is_closed(const wl_output_t *output)
{
    for (int i = 0; i < 2 * output->count; i++) {
        if (output->streams[i].fd >= 0)
            return false;
    }
    return true;
}

void wl_output_drain(wl_output_t *output)
{
    for (int i = 0; i < 2 * output->count; i++)
        end_stream(output, i);
}

void wl_output_release(wl_output_t *output)
{
    for (int i = 0; i < 2 * output->count; i++) {
        if (output->streams[i].fd >= 0)
            close_output(&output->streams[i]);
        weft_free(output->streams[i].line);
    }
    weft_free(output->streams);
    *output = (wl_output_t){0};
}
