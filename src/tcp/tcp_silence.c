/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that have vanished while data are on their way to them. The kernel would try for a quarter
 * of an hour. TCP_USER_TIMEOUT does not help: it also ends connections to a rank that computes, and
 * does not read, for longer than the timeout. So before a sleep, once a second at most, this
 * transport checks for how long a host has acknowledged nothing: the kernel of a host whose rank
 * computes does acknowledge.
 */
#include "tcp/tcp_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/keep_alive.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { LOOK_EVERY_MS = 1000 };

/* All kernels have the members used here; netinet/tcp.h lacks some of the newer ones. */
static bool is_silent(int fd, int64_t limit_ms)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return false;
    return info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 &&
           info.tcpi_last_ack_recv >= limit_ms;
}

bool wefti_tcp_look_for_silence(void)
{
    static int64_t next_ms;
    int64_t now = weft_clock_ms();
    int64_t limit_s = weft_config.LOST_AFTER;
    bool any = false;
    if (now < next_ms)
        return false;
    if (limit_s < WEFT_LOST_AFTER_LEAST_S)
        limit_s = WEFT_LOST_AFTER_LEAST_S;
    next_ms = now + LOOK_EVERY_MS;
    for (int i = 0; i < wefti_tcp.net.count; i++) {
        tcp_peer_t *peer = (tcp_peer_t *)wefti_tcp.net.at[i];
        if (peer == NULL || peer->state != TCP_OPEN || !is_silent(peer->source.fd, 1000 * limit_s))
            continue;
        wefti_tcp_peer_lost(peer, "waiting for its host to acknowledge data", ETIMEDOUT);
        any = true;
    }
    return any;
}
