/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void weft_keep_alive(int fd, int limit_s)
{
    enum { QUESTIONS = 4 };
    int is_on = 1, questions = QUESTIONS, limit = limit_s;
    if (limit < WEFT_LOST_AFTER_LEAST_S)
        limit = WEFT_LOST_AFTER_LEAST_S;
    int interval = limit / (2 * QUESTIONS) > 0 ? limit / (2 * QUESTIONS) : 1;
    int silence = limit - QUESTIONS * interval > 0 ? limit - QUESTIONS * interval : 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &is_on, sizeof(is_on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence, sizeof(silence));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &questions, sizeof(questions));
}
