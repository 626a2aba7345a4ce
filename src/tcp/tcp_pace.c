/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_SIMULATE_LINK: between simulated hosts bytes take the time that a network of that bandwidth
 * and latency would need. All ranks are on one machine and have one clock, so that the sender
 * writes into the stream when the following bytes have arrived, and the receiver reads them not
 * before:
 *
 *   | bytes | arrival | bytes of frames ... | bytes | arrival | ...
 *
 * Each host has one link, whose two directions its ranks share: bytes wait until those are out, or
 * in, that came before. Nothing is reordered, as each connection is still read in its order.
 */
#include "tcp/tcp_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/simulated_link.h"
#include "mpi.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    PIECES = 64,
    PORTION_BYTES = 64 * 1024, /* so much of a long stretch is read at once, as it arrives */
};

/* In front of a stretch of bytes. */
typedef struct mark {
    uint64_t bytes;
    int64_t arrival_ns; /* of weft_clock_ns(): when the last of them is there */
} pace_mark_t;

/* What a connection is at. */
struct tcp_pace {
    pace_mark_t out_mark, in_mark;
    size_t out_mark_left, out_left; /* bytes that are still to be written, of the mark and behind */
    size_t in_mark_got, in_left;
    int64_t wakes_ns; /* when to read on; 0: now */
};

static weft_simulated_link_t simulated;
static weft_host_link_t own_link; /* of a rank that is alone on its host */
static tcp_source_t timer = {.fd = -1};
static int64_t timer_ns; /* when it fires; 0: it does not */
static int64_t moved_ns; /* when anything was last written or read */

/* ---- time ---- */

static int64_t time_of(uint64_t bytes)
{
    return (int64_t)((double)bytes / simulated.bytes_per_ns);
}

/* Take the link for `duration_ns` from `now_ns` on, or from when it is free; returns the end. */
static int64_t occupy(atomic_llong *free_ns, int64_t now_ns, int64_t duration_ns)
{
    long long free = atomic_load_explicit(free_ns, memory_order_relaxed), end;
    do
        end = (free > now_ns ? free : now_ns) + duration_ns;
    while (!atomic_compare_exchange_weak_explicit(free_ns, &free, end, memory_order_relaxed,
                                                  memory_order_relaxed));
    return end;
}

static weft_host_link_t *host_link(void)
{
    return weft_world.host_link == NULL ? &own_link : weft_world.host_link;
}

/* ---- sleeping until bytes have arrived ---- */

static void set_timer(int64_t at_ns)
{
    struct itimerspec time = {
        .it_value = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000}};
    timerfd_settime(timer.fd, TFD_TIMER_ABSTIME, &time, NULL);
    timer_ns = at_ns;
}

/* Leave the socket alone until then, in a sleep, too. */
static void pause_peer(tcp_peer_t *peer, int64_t until_ns)
{
    peer->pace->wakes_ns = until_ns;
    wefti_tcp_want_data(&peer->source, false);
    if (timer_ns == 0 || until_ns < timer_ns)
        set_timer(until_ns);
}

static void wake_peer(tcp_peer_t *peer)
{
    peer->pace->wakes_ns = 0;
    wefti_tcp_want_data(&peer->source, true);
}

static void pace_timer_ready(tcp_source_t *source, bool is_readable, bool is_writable)
{
    uint64_t fired;
    (void)is_readable, (void)is_writable;
    ssize_t got = read(source->fd, &fired, sizeof(fired));
    (void)got;
    int64_t now_ns = weft_clock_ns(), next_ns = 0;
    timer_ns = 0;
    for (int i = 0; i < wefti_tcp.net.count; i++) {
        tcp_peer_t *peer = (tcp_peer_t *)wefti_tcp.net.at[i];
        if (peer == NULL || peer->pace == NULL || peer->pace->wakes_ns == 0)
            continue;
        if (peer->pace->wakes_ns > now_ns)
            next_ns =
                next_ns == 0 || peer->pace->wakes_ns < next_ns ? peer->pace->wakes_ns : next_ns;
        else if (peer->state == TCP_OPEN)
            wake_peer(peer); /* epoll tells of it in the next round */
    }
    if (next_ns > 0)
        set_timer(next_ns);
}

/* To fall asleep and to wake up takes longer than many a simulated latency; the machine would then
 * be measured, and not the link. */
bool wefti_tcp_pace_is_near(void)
{
    enum { NEAR_NS = 200000, FAR_NS = 1000000 };
    if (!wefti_tcp.is_paced || weft_world.is_oversubscribed || simulated.latency_ns > FAR_NS)
        return false;
    int64_t now_ns = weft_clock_ns();
    return (timer_ns > 0 && timer_ns - now_ns < NEAR_NS) ||
           now_ns - moved_ns < 2 * simulated.latency_ns + NEAR_NS;
}

/* ---- writing ---- */

static size_t sum_of(const struct iovec *pieces, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

static void begin_stretch(struct tcp_pace *pace, size_t bytes)
{
    moved_ns = weft_clock_ns();
    int64_t sent_ns = occupy(&host_link()->out_free_ns, moved_ns, time_of(bytes));
    pace->out_mark = (pace_mark_t){.bytes = bytes, .arrival_ns = sent_ns + simulated.latency_ns};
    pace->out_mark_left = sizeof(pace->out_mark);
    pace->out_left = bytes;
}

/* As many of the pieces as belong to the stretch. */
static int cut_pieces(const struct iovec *pieces, int count, size_t bytes, struct iovec out[])
{
    int kept = 0;
    for (; kept < count && kept < PIECES && bytes > 0; kept++) {
        out[kept] = pieces[kept];
        if (out[kept].iov_len > bytes)
            out[kept].iov_len = bytes;
        bytes -= out[kept].iov_len;
    }
    return kept;
}

size_t wefti_tcp_pace_write(tcp_peer_t *peer, const struct iovec *pieces, int count)
{
    struct iovec cut[PIECES];
    struct tcp_pace *pace = peer->pace;
    if (pace->out_left == 0)
        begin_stretch(pace, sum_of(pieces, count));
    if (pace->out_mark_left > 0) {
        struct iovec mark = {(char *)(&pace->out_mark + 1) - pace->out_mark_left,
                             pace->out_mark_left};
        pace->out_mark_left -= wefti_tcp_write_socket(peer, &mark, 1);
        if (pace->out_mark_left > 0)
            return 0;
    }
    int kept = cut_pieces(pieces, count, pace->out_left, cut);
    size_t taken = wefti_tcp_write_socket(peer, cut, kept);
    pace->out_left -= taken;
    return taken;
}

/* ---- reading ---- */

/* The mark of the next stretch; false: it has not come, and errno says why. */
static bool read_mark(tcp_peer_t *peer)
{
    struct tcp_pace *pace = peer->pace;
    ssize_t got = recv(peer->source.fd, (char *)&pace->in_mark + pace->in_mark_got,
                       sizeof(pace->in_mark) - pace->in_mark_got, MSG_DONTWAIT);
    if (got == 0)
        errno = ECONNRESET;
    if (got <= 0)
        return false;
    pace->in_mark_got += (size_t)got;
    if (pace->in_mark_got < sizeof(pace->in_mark)) {
        errno = EAGAIN;
        return false;
    }
    pace->in_mark_got = 0;
    pace->in_left = pace->in_mark.bytes;
    int64_t takes_ns = time_of(pace->in_mark.bytes);
    pace->in_mark.arrival_ns =
        occupy(&host_link()->in_free_ns, pace->in_mark.arrival_ns - takes_ns, takes_ns);
    return true;
}

/* How much of the stretch has arrived; 0: *next_ns_out says when more has. */
static size_t count_arrived(const struct tcp_pace *pace, int64_t *next_ns_out)
{
    int64_t left_ns = pace->in_mark.arrival_ns - weft_clock_ns();
    if (left_ns <= 0)
        return pace->in_left;
    size_t coming = (size_t)((double)left_ns * simulated.bytes_per_ns);
    size_t arrived = coming < pace->in_left ? pace->in_left - coming : 0;
    if (arrived >= PORTION_BYTES)
        return arrived;
    size_t wanted = pace->in_left < PORTION_BYTES ? pace->in_left : PORTION_BYTES;
    *next_ns_out = pace->in_mark.arrival_ns - time_of(pace->in_left - wanted);
    return 0;
}

size_t wefti_tcp_pace_read(tcp_peer_t *peer)
{
    struct tcp_pace *pace = peer->pace;
    int64_t next_ns = 0;
    if (pace->wakes_ns > weft_clock_ns()) {
        errno = EAGAIN;
        return 0;
    }
    if (pace->wakes_ns > 0)
        wake_peer(peer);
    if (pace->in_left == 0 && !read_mark(peer))
        return 0;
    size_t arrived = count_arrived(pace, &next_ns);
    if (arrived > 0)
        return arrived;
    pause_peer(peer, next_ns);
    errno = EAGAIN;
    return 0;
}

void wefti_tcp_pace_note_read(tcp_peer_t *peer, size_t bytes)
{
    peer->pace->in_left -= bytes;
    moved_ns = weft_clock_ns();
}

/* ---- beginning and end ---- */

void wefti_tcp_pace_peer(tcp_peer_t *peer)
{
    if (!wefti_tcp.is_paced || peer->pace != NULL)
        return;
    peer->pace = weft_alloc_zeroed(1, sizeof(*peer->pace));
    if (peer->pace == NULL)
        weft_out_of_memory("a connection over the simulated link", sizeof(*peer->pace));
}

void wefti_tcp_pace_forget(tcp_peer_t *peer)
{
    weft_free(peer->pace);
    peer->pace = NULL;
}

int wefti_tcp_pace_open(void)
{
    const char *text = weft_config.SIMULATE_LINK;
    if (text[0] == '\0' || weft_world.machine[0] == '\0')
        return MPI_SUCCESS;
    if (!weft_simulated_link_read(text, &simulated))
        return weft_fail(MPI_ERR_OTHER,
                         "WEFT_SIMULATE_LINK is %s; expected is a bandwidth and perhaps a latency, "
                         "as in 10Gbit,20us",
                         text);
    timer = (tcp_source_t){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
                           .ready = pace_timer_ready};
    if (timer.fd < 0)
        return weft_fail(MPI_ERR_OTHER, "timerfd_create: %s", strerror(errno));
    timer_ns = 0;
    wefti_tcp_watch(&timer);
    wefti_tcp.is_paced = true;
    return MPI_SUCCESS;
}

void wefti_tcp_pace_close(void)
{
    wefti_tcp_close_source(&timer);
}
