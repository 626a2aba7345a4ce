/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* ppoll */
#include "runtime/fd_watch.h"

#include "runtime/world.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SLEEP_MOST_MS = 20, /* a lost wake-up delays a rank by no more than this */
    SPARES = 64,        /* eventfds that are kept for later sleeps */
    BLIND_MS = 1,       /* for a source without a descriptor */
};

static struct {
    int (*sources[WEFT_FD_WATCHES])(void);
    int source_count;
    int socket;    /* of this rank: it is woken through it, and wakes others; -1: none */
    bool has_file; /* in /dev/shm, to be removed */
} watch = {.socket = -1};

/* ---- the socket ---- */

typedef struct wake_address {
    struct sockaddr_un name;
    socklen_t bytes;
} wake_address_t;

/* "/dev/shm/<job>.<rank>", where that fits and the launcher removes what killed ranks leave. */
static bool file_address(int rank, wake_address_t *out)
{
    *out = (wake_address_t){.name.sun_family = AF_UNIX, .bytes = sizeof(out->name)};
    int bytes = snprintf(out->name.sun_path, sizeof(out->name.sun_path), "/dev/shm/%s.%d",
                         weft_world.job_id, rank);
    bool is_ours = strncmp(weft_world.job_id, "weft-", 5) == 0; /* started by Weft's mpirun */
    return is_ours && (size_t)bytes < sizeof(out->name.sun_path);
}

/* "\0weft.<job>.<rank>": any user of the host can send to it, or take the name first. */
static void abstract_address(int rank, wake_address_t *out)
{
    size_t room = sizeof(out->name.sun_path) - 1;
    *out = (wake_address_t){.name.sun_family = AF_UNIX};
    /* The end of a long job name tells jobs apart better than its start. */
    size_t length = strlen(weft_world.job_id), most = room - 24;
    const char *job = length > most ? weft_world.job_id + length - most : weft_world.job_id;
    int bytes = snprintf(out->name.sun_path + 1, room, "weft.%s.%d", job, rank);
    out->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
}

/* The name is a socket of this user, and so no stranger's. */
static bool is_own_socket(const wake_address_t *address)
{
    struct stat status;
    return lstat(address->name.sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
           status.st_uid == geteuid();
}

static bool bind_to(const wake_address_t *address)
{
    return bind(watch.socket, (const struct sockaddr *)&address->name, address->bytes) == 0;
}

static void open_wake_socket(void)
{
    wake_address_t own;
    watch.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* A file gets the mode that the socket has when it is bound. */
    if (watch.socket >= 0 && fchmod(watch.socket, 0600) == 0 &&
        file_address(weft_world.rank, &own) && bind_to(&own)) {
        watch.has_file = true;
        return;
    }
    abstract_address(weft_world.rank, &own);
    if (watch.socket < 0 || !bind_to(&own))
        WEFT_LOG(WEFT_INFO, "progress", "no socket to be woken at: %s", strerror(errno));
}

static void close_wake_socket(void)
{
    wake_address_t own;
    if (watch.has_file && file_address(weft_world.rank, &own))
        unlink(own.name.sun_path);
    if (watch.socket >= 0)
        close(watch.socket);
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

/* ---- threads of this process ---- */

/* Under a mutex of their own: a thread may be woken by one that does not hold the lock. */
static pthread_mutex_t sleepers_mutex = PTHREAD_MUTEX_INITIALIZER;
static weft_fd_watch_t *sleepers;
static int spares[SPARES], spare_count;
static _Thread_local weft_fd_watch_t *own_watch;

void weft_fd_watch_enter(weft_fd_watch_t *out)
{
    *out = (weft_fd_watch_t){0};
    pthread_mutex_lock(&sleepers_mutex);
    out->own_fd = spare_count > 0 ? spares[--spare_count] : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    out->next = sleepers;
    sleepers = out;
    pthread_mutex_unlock(&sleepers_mutex);
    own_watch = out;
}

static void take_watch_out(const weft_fd_watch_t *entered)
{
    weft_fd_watch_t **at = &sleepers;
    while (*at != entered)
        at = &(*at)->next;
    *at = entered->next;
}

void weft_fd_watch_leave(weft_fd_watch_t *entered)
{
    uint64_t count;
    own_watch = NULL;
    pthread_mutex_lock(&sleepers_mutex);
    take_watch_out(entered);
    if (entered->is_woken && read(entered->own_fd, &count, sizeof(count)) < 0)
        WEFT_LOG(WEFT_DEBUG, "progress", "an eventfd was empty: %s", strerror(errno));
    if (spare_count < SPARES && entered->own_fd >= 0)
        spares[spare_count++] = entered->own_fd;
    else if (entered->own_fd >= 0)
        close(entered->own_fd);
    pthread_mutex_unlock(&sleepers_mutex);
}

/* A thread that is not asleep yet looks once more at what it waits for. */
void weft_fd_watch_wake(void)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&sleepers_mutex);
    for (weft_fd_watch_t *at = sleepers; at != NULL; at = at->next) {
        if (at != own_watch && at->own_fd >= 0 && !at->is_woken)
            at->is_woken = write(at->own_fd, &one, sizeof(one)) == (ssize_t)sizeof(one);
    }
    pthread_mutex_unlock(&sleepers_mutex);
}

/* ---- sleeping ---- */

bool weft_fd_watch_prepare(weft_fd_watch_t *out)
{
    out->count = watch.source_count;
    out->timeout_ms = out->own_fd >= 0 ? SLEEP_MOST_MS : BLIND_MS;
    for (int i = 0; i < out->count; i++) {
        int fd = watch.sources[i]();
        if (fd == WEFT_FD_READY)
            return false;
        if (fd == WEFT_FD_NONE)
            out->timeout_ms = BLIND_MS;
        out->polls[i] = (struct pollfd){.fd = fd, .events = POLLIN}; /* negative: ignored */
    }
    out->polls[out->count] = (struct pollfd){.fd = watch.socket, .events = POLLIN};
    out->polls[out->count + 1] = (struct pollfd){.fd = out->own_fd, .events = POLLIN};
    return true;
}

void weft_fd_watch_sleep(weft_fd_watch_t *prepared, int64_t most_ns)
{
    char rings[64];
    int64_t limit_ns = most_ns > 0 ? most_ns : (int64_t)prepared->timeout_ms * 1000000;
    struct timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};
    if (ppoll(prepared->polls, (nfds_t)prepared->count + 2, &limit, NULL) > 0 &&
        prepared->polls[prepared->count].revents != 0) {
        while (recv(watch.socket, rings, sizeof(rings), MSG_DONTWAIT) >= 0)
            ;
    }
}

/* sendto may fail: a rank whose socket is full will wake anyway, one without a socket has ended. */
void weft_fd_watch_ring(int rank)
{
    wake_address_t peer;
    if (!file_address(rank, &peer) || !is_own_socket(&peer))
        abstract_address(rank, &peer);
    sendto(watch.socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&peer.name,
           peer.bytes);
}

void weft_fd_watch_close(void)
{
    close_wake_socket();
    while (spare_count > 0)
        close(spares[--spare_count]);
    memset(&watch, 0, sizeof(watch));
    watch.socket = -1;
}
