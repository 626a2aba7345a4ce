/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* ppoll */
#include "runtime/fd_watch.h"

#include "runtime/world.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SLEEP_MOST_MS = 20, /* should a ring go astray */
    BLIND_MS = 1,       /* for a source without a descriptor */
};

static struct {
    int (*sources[WEFT_FD_WATCHES])(void);
    int source_count;
    int socket; /* of this rank: to be rung at, and to ring from; -1: none */
} watch = {.socket = -1};

/* "\0weft.<job>.<rank>"; the length of the address. */
static socklen_t address_of(int rank, struct sockaddr_un *out)
{
    size_t room = sizeof(out->sun_path) - 1;
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The end of a long job name tells jobs apart better than its start. */
    size_t length = strlen(weft_world.job_id), most = room - 24;
    const char *job = length > most ? weft_world.job_id + length - most : weft_world.job_id;
    int bytes = snprintf(out->sun_path + 1, room, "weft.%s.%d", job, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
}

static void open_wake_socket(void)
{
    struct sockaddr_un own;
    socklen_t length = address_of(weft_world.rank, &own);
    watch.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (watch.socket >= 0 && bind(watch.socket, (struct sockaddr *)&own, length) == 0)
        return;
    WEFT_LOG(WEFT_INFO, "progress", "no socket to be woken at: %s", strerror(errno));
}

int weft_fd_watch_add(int (*wait_fd)(void))
{
    if (watch.source_count == WEFT_FD_WATCHES)
        return weft_fail(MPI_ERR_INTERN, "no more than %d sources of descriptors can be slept on",
                         WEFT_FD_WATCHES);
    if (watch.source_count == 0)
        open_wake_socket();
    watch.sources[watch.source_count++] = wait_fd;
    return MPI_SUCCESS;
}

bool weft_fd_watch_is_used(void)
{
    return watch.source_count > 0;
}

bool weft_fd_watch_prepare(weft_fd_watch_t *out)
{
    *out = (weft_fd_watch_t){.count = watch.source_count, .timeout_ms = SLEEP_MOST_MS};
    for (int i = 0; i < out->count; i++) {
        int fd = watch.sources[i]();
        if (fd == WEFT_FD_READY)
            return false;
        if (fd == WEFT_FD_NONE)
            out->timeout_ms = BLIND_MS;
        out->polls[i] = (struct pollfd){.fd = fd, .events = POLLIN}; /* negative: ignored */
    }
    out->polls[out->count] = (struct pollfd){.fd = watch.socket, .events = POLLIN};
    return true;
}

void weft_fd_watch_sleep(weft_fd_watch_t *prepared, int64_t most_ns)
{
    char rings[64];
    int64_t limit_ns = most_ns > 0 ? most_ns : (int64_t)prepared->timeout_ms * 1000000;
    struct timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};
    if (ppoll(prepared->polls, (nfds_t)prepared->count + 1, &limit, NULL) > 0 &&
        prepared->polls[prepared->count].revents != 0) {
        while (recv(watch.socket, rings, sizeof(rings), MSG_DONTWAIT) >= 0)
            ;
    }
}

/* A full or missing socket is no loss: who is rung for already wakes, who is gone need not. */
void weft_fd_watch_ring(int rank)
{
    struct sockaddr_un peer;
    socklen_t length = address_of(rank, &peer);
    sendto(watch.socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&peer, length);
}

void weft_fd_watch_close(void)
{
    if (watch.socket >= 0)
        close(watch.socket);
    memset(&watch, 0, sizeof(watch));
    watch.socket = -1;
}
