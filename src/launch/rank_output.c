/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/rank_output.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_BYTES = 65536,   /* longer lines are passed on in pieces */
    QUEUE_FULL = 1 << 20, /* bytes: then streams are not read */
    QUEUE_FIRST = 2 * LINE_BYTES,
    /* A pipe that poll() calls writable takes that much at once. */
    PIECE_BYTES = PIPE_BUF,
};

static void open_sink(weft_sink_t *sink, int fd)
{
    struct stat status;
    *sink = (weft_sink_t){.fd = fd, .is_terminal = isatty(fd) == 1};
    sink->is_file = fstat(fd, &status) == 0 &&
                    (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && !sink->is_terminal));
}

/* With 2>&1 both go into one queue, so that a line of one does not fall into one of the other. */
static bool are_one_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           x.st_rdev == y.st_rdev;
}

int weft_output_open(int size, bool tags_lines, weft_output_t *out)
{
    weft_stream_t *streams = weft_alloc_zeroed(2 * (size_t)size, sizeof(*streams));
    if (streams == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%d streams of output", 2 * size);
    *out = (weft_output_t){.streams = streams, .size = size, .tags_lines = tags_lines};
    open_sink(&out->sinks[0], STDOUT_FILENO);
    open_sink(&out->sinks[1], STDERR_FILENO);
    bool is_one = are_one_file(STDOUT_FILENO, STDERR_FILENO);
    for (int i = 0; i < 2 * size; i++)
        streams[i] =
            (weft_stream_t){.fd = -1, .rank = i / 2, .sink = &out->sinks[is_one ? 0 : i % 2]};
    return MPI_SUCCESS;
}

int weft_output_connect(weft_output_t *output, int rank, int write_ends[2])
{
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            int error = errno;
            if (i == 1)
                close(write_ends[0]);
            return weft_fail(MPI_ERR_SPAWN, "a pipe for the output of rank %d cannot be made: %s",
                             rank, strerror(error));
        }
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        output->streams[2 * rank + i].fd = ends[0];
        write_ends[i] = ends[1];
    }
    return MPI_SUCCESS;
}

static size_t queued(const weft_sink_t *sink)
{
    return sink->end - sink->begin;
}

static bool make_room(weft_sink_t *sink, size_t bytes)
{
    if (sink->begin > 0 && (sink->begin == sink->end || sink->end + bytes > sink->capacity)) {
        memmove(sink->queue, sink->queue + sink->begin, queued(sink));
        sink->end -= sink->begin;
        sink->begin = 0;
    }
    if (sink->end + bytes <= sink->capacity)
        return true;
    size_t capacity = sink->capacity == 0 ? QUEUE_FIRST : 2 * sink->capacity;
    char *queue = weft_realloc(sink->queue, capacity);
    if (queue == NULL)
        return false;
    sink->queue = queue;
    sink->capacity = capacity;
    return sink->end + bytes <= capacity || make_room(sink, bytes);
}

static void enqueue(weft_sink_t *sink, const char *data, size_t bytes)
{
    if (sink->is_broken || !make_room(sink, bytes))
        return;
    memcpy(sink->queue + sink->end, data, bytes);
    sink->end += bytes;
}

/* Give the first `bytes` bytes of a stream's buffer to its sink, each line with its rank. */
static void pass_on(const weft_output_t *output, weft_stream_t *stream, size_t bytes)
{
    const char *data = stream->line, *end = data + bytes;
    if (!output->tags_lines) {
        enqueue(stream->sink, data, bytes);
        return;
    }
    char tag[24];
    int tag_bytes = snprintf(tag, sizeof(tag), "[%d] ", stream->rank);
    while (data < end) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        const char *next = newline == NULL ? end : newline + 1;
        if (!stream->is_inside_line)
            enqueue(stream->sink, tag, (size_t)tag_bytes);
        enqueue(stream->sink, data, (size_t)(next - data));
        stream->is_inside_line = newline == NULL;
        data = next;
    }
}

/* Pass on whole lines; an unfinished one stays, unless it fills the buffer or `takes_all`. */
static void pass_on_lines(const weft_output_t *output, weft_stream_t *stream, bool takes_all)
{
    if (stream->used == 0)
        return;
    const char *newline = memrchr(stream->line, '\n', stream->used);
    size_t bytes = newline == NULL ? 0 : (size_t)(newline + 1 - stream->line);
    if (takes_all || (newline == NULL && stream->used == LINE_BYTES))
        bytes = stream->used;
    if (bytes == 0)
        return;
    pass_on(output, stream, bytes);
    stream->used -= bytes;
    memmove(stream->line, stream->line + bytes, stream->used);
}

static void close_stream(weft_stream_t *stream)
{
    close(stream->fd);
    stream->fd = -1;
}

/* Read once; false when there is nothing now. */
static bool read_stream(const weft_output_t *output, weft_stream_t *stream)
{
    if (stream->line == NULL)
        stream->line = weft_alloc(LINE_BYTES);
    if (stream->line == NULL)
        return false;
    ssize_t bytes = read(stream->fd, stream->line + stream->used, LINE_BYTES - stream->used);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (bytes <= 0) {
        close_stream(stream);
        return false;
    }
    stream->used += (size_t)bytes;
    /* A single rank's output cannot be torn, and it may be a prompt. */
    pass_on_lines(output, stream, output->size == 1);
    return true;
}

/* Nobody reads what we write: let the ranks know in the same way, by closing their pipes. */
static void break_sink(weft_output_t *output, weft_sink_t *sink)
{
    sink->is_broken = true;
    sink->begin = sink->end = 0;
    for (int i = 0; i < 2 * output->size; i++) {
        if (output->streams[i].sink == sink && output->streams[i].fd >= 0)
            close_stream(&output->streams[i]);
    }
}

static bool is_writable(const weft_sink_t *sink)
{
    struct pollfd writable = {.fd = sink->fd, .events = POLLOUT};
    return sink->is_file || poll(&writable, 1, 0) == 1;
}

static void flush_sink(weft_output_t *output, weft_sink_t *sink)
{
    while (queued(sink) > 0 && is_writable(sink)) {
        size_t bytes = queued(sink);
        if (!sink->is_file && bytes > PIECE_BYTES)
            bytes = PIECE_BYTES;
        ssize_t written = write(sink->fd, sink->queue + sink->begin, bytes);
        if (written > 0)
            sink->begin += (size_t)written;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            break_sink(output, sink);
    }
}

int weft_output_poll_room(const weft_output_t *output)
{
    return 2 * output->size + 2;
}

int weft_output_prepare_poll(const weft_output_t *output, struct pollfd *out)
{
    int count = 0;
    for (int i = 0; i < 2; i++) {
        if (queued(&output->sinks[i]) > 0)
            out[count++] = (struct pollfd){.fd = output->sinks[i].fd, .events = POLLOUT};
    }
    for (int i = 0; i < 2 * output->size; i++) {
        const weft_stream_t *stream = &output->streams[i];
        if (stream->fd >= 0 && queued(stream->sink) < QUEUE_FULL)
            out[count++] = (struct pollfd){.fd = stream->fd, .events = POLLIN};
    }
    return count;
}

void weft_output_advance(weft_output_t *output, const struct pollfd *polls, int count)
{
    /* polls[] has the streams in our order, some left out. */
    int next = 0;
    for (int i = 0; i < 2 * output->size && next < count; i++) {
        weft_stream_t *stream = &output->streams[i];
        while (next < count && (polls[next].events & POLLOUT) != 0)
            next++;
        if (next == count || stream->fd < 0 || polls[next].fd != stream->fd)
            continue;
        if (polls[next].revents != 0)
            read_stream(output, stream);
        next++;
    }
    flush_sink(output, &output->sinks[0]);
    flush_sink(output, &output->sinks[1]);
}

/* Read what is there; not for ever, as a writer may be quicker than we. */
static void read_all(const weft_output_t *output, weft_stream_t *stream)
{
    enum { PIPE_BYTES = 1 << 20 }; /* what a pipe holds at most, unless root asks for more */
    for (int n = 0; stream->fd >= 0 && n < PIPE_BYTES / PIPE_BUF; n++) {
        if (!read_stream(output, stream))
            return;
    }
}

void weft_output_add_message(weft_output_t *output, const char *line)
{
    for (int i = 0; i < 2 * output->size; i++) {
        if (queued(output->streams[i].sink) < QUEUE_FULL)
            read_all(output, &output->streams[i]);
    }
    enqueue(output->streams[1].sink, line, strlen(line));
    flush_sink(output, output->streams[1].sink);
}

bool weft_output_is_broken(const weft_output_t *output)
{
    return output->sinks[0].is_broken || output->sinks[1].is_broken;
}

void weft_output_show_prompt(weft_output_t *output)
{
    for (int i = 0; i < 2; i++) {
        weft_stream_t *stream = &output->streams[i];
        if (stream->sink->is_terminal && stream->used > 0)
            pass_on_lines(output, stream, true);
    }
}

bool weft_output_is_closed(const weft_output_t *output)
{
    for (int i = 0; i < 2 * output->size; i++) {
        if (output->streams[i].fd >= 0)
            return false;
    }
    return true;
}

bool weft_output_is_flushed(const weft_output_t *output)
{
    return queued(&output->sinks[0]) == 0 && queued(&output->sinks[1]) == 0;
}

void weft_output_drain(weft_output_t *output)
{
    for (int i = 0; i < 2 * output->size; i++) {
        weft_stream_t *stream = &output->streams[i];
        read_all(output, stream);
        if (stream->fd >= 0)
            close_stream(stream);
    }
    for (int i = 0; i < 2 * output->size; i++)
        pass_on_lines(output, &output->streams[i], true);
}

void weft_output_release(weft_output_t *output)
{
    for (int i = 0; i < 2 * output->size; i++) {
        if (output->streams[i].fd >= 0)
            close_stream(&output->streams[i]);
        weft_free(output->streams[i].line);
    }
    weft_free(output->streams);
    weft_free(output->sinks[0].queue);
    weft_free(output->sinks[1].queue);
    *output = (weft_output_t){0};
}
