/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/output_sinks.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    QUEUE_FULL = 1 << 20, /* bytes */
    /* A pipe that poll() calls writable takes that much at once. */
    PIECE_BYTES = PIPE_BUF,
};

static weft_sink_t open_sink(int fd)
{
    struct stat status;
    weft_sink_t sink = {.fd = fd, .is_terminal = isatty(fd) == 1};
    sink.is_file = fstat(fd, &status) == 0 &&
                   (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && !sink.is_terminal));
    return sink;
}

static bool are_one_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           x.st_rdev == y.st_rdev;
}

void weft_sinks_open(weft_sinks_t *out)
{
    out->sinks[WEFT_STDOUT] = open_sink(STDOUT_FILENO);
    out->sinks[WEFT_STDERR] = open_sink(STDERR_FILENO);
    out->is_one = are_one_file(STDOUT_FILENO, STDERR_FILENO);
}

static const weft_sink_t *sink_of(const weft_sinks_t *sinks, int channel)
{
    return &sinks->sinks[sinks->is_one ? 0 : channel];
}

void weft_sinks_put(weft_sinks_t *sinks, int channel, const char *data, size_t bytes)
{
    weft_sink_t *sink = &sinks->sinks[sinks->is_one ? 0 : channel];
    if (!sink->is_broken)
        weft_queue_append(&sink->queue, data, bytes);
}

bool weft_sinks_have_room(const weft_sinks_t *sinks, int channel)
{
    return weft_queue_bytes(&sink_of(sinks, channel)->queue) < QUEUE_FULL;
}

int weft_sinks_prepare_poll(const weft_sinks_t *sinks, struct pollfd *out)
{
    int count = 0;
    for (int i = 0; i < 2; i++) {
        const weft_sink_t *sink = &sinks->sinks[i];
        if (weft_queue_bytes(&sink->queue) > 0)
            out[count++] = (struct pollfd){.fd = sink->fd, .events = POLLOUT};
    }
    return count;
}

static bool is_writable(const weft_sink_t *sink)
{
    struct pollfd writable = {.fd = sink->fd, .events = POLLOUT};
    return sink->is_file || poll(&writable, 1, 0) == 1;
}

static void flush_sink(weft_sink_t *sink)
{
    while (weft_queue_bytes(&sink->queue) > 0 && is_writable(sink)) {
        size_t bytes = weft_queue_bytes(&sink->queue);
        if (!sink->is_file && bytes > PIECE_BYTES)
            bytes = PIECE_BYTES;
        ssize_t written = write(sink->fd, weft_queue_front(&sink->queue), bytes);
        if (written < 0 && errno == EAGAIN)
            return;
        if (written > 0) {
            weft_queue_drop(&sink->queue, (size_t)written);
        } else if (errno != EINTR) {
            sink->is_broken = true;
            weft_queue_drop(&sink->queue, weft_queue_bytes(&sink->queue));
        }
    }
}

void weft_sinks_flush(weft_sinks_t *sinks)
{
    flush_sink(&sinks->sinks[WEFT_STDOUT]);
    flush_sink(&sinks->sinks[WEFT_STDERR]);
}

bool weft_sinks_are_broken(const weft_sinks_t *sinks, int channel)
{
    return sink_of(sinks, channel)->is_broken;
}

bool weft_sinks_are_terminal(const weft_sinks_t *sinks, int channel)
{
    return sink_of(sinks, channel)->is_terminal;
}

bool weft_sinks_are_flushed(const weft_sinks_t *sinks)
{
    return weft_queue_bytes(&sinks->sinks[0].queue) == 0 &&
           weft_queue_bytes(&sinks->sinks[1].queue) == 0;
}

void weft_sinks_release(weft_sinks_t *sinks)
{
    weft_queue_release(&sinks->sinks[0].queue);
    weft_queue_release(&sinks->sinks[1].queue);
}
