/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/mpirun/output_sinks.h"

#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    QUEUE_FULL = 1 << 20, /* bytes */
    /* A pipe that poll() calls writable takes at least so much at once. */
    PIECE_BYTES = PIPE_BUF,
};

static wl_sink_t open_sink(int fd)
{
    struct stat status;
    wl_sink_t sink = {.fd = fd, .is_terminal = isatty(fd) == 1};
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

static const wl_sink_t *sink_of(const wl_sinks_t *sinks, int channel)
{
    return &sinks->sinks[sinks->is_one ? 0 : channel];
}

void wl_sinks_put(wl_sinks_t *sinks, int channel, const char *data, size_t bytes)
{
    wl_sink_t *sink = &sinks->sinks[sinks->is_one ? 0 : channel];
    if (!sink->is_broken)
        wl_queue_append(&sink->queue, data, bytes);
}

bool wl_sinks_have_room(const wl_sinks_t *sinks, int channel)
{
    return wl_queue_bytes(&sink_of(sinks, channel)->queue) < QUEUE_FULL;
}

static bool is_writable(const wl_sink_t *sink)
{
    struct pollfd writable = {.fd = sink->fd, .events = POLLOUT};
    return sink->is_file || poll(&writable, 1, 0) == 1;
}

static void write_queued(wl_sink_t *sink)
{
    while (wl_queue_bytes(&sink->queue) > 0 && is_writable(sink)) {
        size_t bytes = wl_queue_bytes(&sink->queue);
        if (!sink->is_file && bytes > PIECE_BYTES)
            bytes = PIECE_BYTES;
        ssize_t written = write(sink->fd, wl_queue_front(&sink->queue), bytes);
        if (written < 0 && errno == EAGAIN)
            return;
        if (written > 0) {
            wl_queue_drop(&sink->queue, (size_t)written);
        } else if (errno != EINTR) {
            sink->is_broken = true;
            sink->error = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
            wl_queue_drop(&sink->queue, wl_queue_bytes(&sink->queue));
        }
    }
}

/* Write what can be written without waiting; the loop goes on when there is room for the rest. */
static void flush_sink(wl_sink_t *sink)
{
    write_queued(sink);
    wl_loop_set(sink->loop, sink->fd, wl_queue_bytes(&sink->queue) > 0 ? POLLOUT : 0);
}

static void sink_ready(void *owner, short ready)
{
    (void)ready;
    flush_sink(owner);
}

int wl_sinks_open(wl_loop_t *loop, wl_sinks_t *out)
{
    int err = MPI_SUCCESS;
    *out = (wl_sinks_t){.is_one = are_one_file(STDOUT_FILENO, STDERR_FILENO)};
    for (int channel = 0; channel < 2 && err == MPI_SUCCESS; channel++) {
        wl_sink_t *sink = &out->sinks[channel];
        *sink = open_sink(channel == WL_STDOUT ? STDOUT_FILENO : STDERR_FILENO);
        sink->loop = loop;
        err = wl_loop_add(loop, sink->fd, 0, sink_ready, sink);
    }
    return err;
}

void wl_sinks_flush(wl_sinks_t *sinks)
{
    flush_sink(&sinks->sinks[WL_STDOUT]);
    flush_sink(&sinks->sinks[WL_STDERR]);
}

bool wl_sinks_are_broken(const wl_sinks_t *sinks, int channel)
{
    return sink_of(sinks, channel)->is_broken;
}

int wl_sinks_error(const wl_sinks_t *sinks, int channel)
{
    return sink_of(sinks, channel)->error;
}

bool wl_sinks_are_terminal(const wl_sinks_t *sinks, int channel)
{
    return sink_of(sinks, channel)->is_terminal;
}

bool wl_sinks_are_flushed(const wl_sinks_t *sinks)
{
    return wl_queue_bytes(&sinks->sinks[0].queue) == 0 &&
           wl_queue_bytes(&sinks->sinks[1].queue) == 0;
}

void wl_sinks_release(wl_sinks_t *sinks)
{
    for (int channel = 0; channel < 2; channel++) {
        wl_sink_t *sink = &sinks->sinks[channel];
        if (sink->loop != NULL)
            wl_loop_remove(sink->loop, sink->fd);
        wl_queue_release(&sink->queue);
    }
}
