/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/fd_watch.h"

#include "base/log.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    SOURCES_MAX = 4,
    /* For a source without a descriptor: how long it may go unnoticed. */
    BLIND_MS = 1,
};

typedef enum state { IDLE, ARMED, STOPPED } state_t;

static struct {
    int (*sources[SOURCES_MAX])(void);
    int source_count;
    pthread_t thread;
    bool is_running;
    atomic_uint state; /* state_t; the thread sleeps on it while it is IDLE */
    int stop_fd;       /* readable: the thread has to end */
    weft_bell_t *bell;
    struct pollfd polls[SOURCES_MAX + 1]; /* the last is stop_fd */
    int timeout_ms;
} watch;

void weft_fd_watch_add(int (*wait_fd)(void))
{
    if (watch.source_count < SOURCES_MAX)
        watch.sources[watch.source_count++] = wait_fd;
}

bool weft_fd_watch_is_used(void)
{
    return watch.source_count > 0;
}

static void *run(void *unused)
{
    (void)unused;
    for (;;) {
        while (atomic_load(&watch.state) == IDLE)
            weft_futex_wait(&watch.state, IDLE);
        if (atomic_load(&watch.state) == STOPPED)
            return NULL;
        poll(watch.polls, (nfds_t)watch.source_count + 1, watch.timeout_ms);
        unsigned armed = ARMED;
        atomic_compare_exchange_strong(&watch.state, &armed, IDLE);
        weft_bell_wake(watch.bell);
    }
}

/* Signals are the program's: none of them is to be handled on our thread. */
static bool start_thread(void)
{
    sigset_t all, old;
    watch.stop_fd = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = watch.stop_fd < 0 ? -1 : pthread_create(&watch.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0 && watch.stop_fd >= 0)
        close(watch.stop_fd);
    if (rc != 0)
        WEFT_LOG(WEFT_WARN, "progress", "no thread to wait for the network: ranks wait awake");
    watch.is_running = rc == 0;
    return watch.is_running;
}

/* Ask the sources; only while the thread looks at nothing. */
static bool collect(void)
{
    watch.timeout_ms = -1;
    for (int i = 0; i < watch.source_count; i++) {
        int fd = watch.sources[i]();
        if (fd == WEFT_FD_READY)
            return false;
        if (fd == WEFT_FD_NONE)
            watch.timeout_ms = BLIND_MS;
        watch.polls[i] = (struct pollfd){.fd = fd, .events = POLLIN}; /* negative: ignored */
    }
    watch.polls[watch.source_count] = (struct pollfd){.fd = watch.stop_fd, .events = POLLIN};
    return true;
}

/* While the thread is still armed from a sleep that something else ended, it looks at the same
 * descriptors, but each source must be asked anew (fi_trywait) before anybody relies on its own. */
static bool ask_again(void)
{
    for (int i = 0; i < watch.source_count; i++) {
        if (watch.sources[i]() == WEFT_FD_READY)
            return false;
    }
    return true;
}

bool weft_fd_watch_begin(weft_bell_t *bell)
{
    if (!watch.is_running && !start_thread())
        return false;
    if (atomic_load(&watch.state) == ARMED)
        return ask_again();
    watch.bell = bell;
    if (!collect())
        return false;
    atomic_store(&watch.state, ARMED);
    weft_futex_wake(&watch.state);
    return true;
}

void weft_fd_watch_close(void)
{
    if (watch.is_running) {
        uint64_t one = 1;
        atomic_store(&watch.state, STOPPED);
        weft_futex_wake(&watch.state);
        if (write(watch.stop_fd, &one, sizeof(one)) < 0)
            WEFT_LOG(WEFT_ERROR, "progress", "the thread that waits for the network cannot end");
        pthread_join(watch.thread, NULL);
        close(watch.stop_fd);
    }
    memset(&watch, 0, sizeof(watch));
}
