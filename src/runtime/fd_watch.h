/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping when file descriptors may wake the process, and not only ranks of this host: a wait in
 * poll(2), on the descriptors of the network transports and on a datagram socket of this rank.
 * Ranks of the host wake it by a datagram to that socket; threads of the process wake each other by
 * an eventfd of each that sleeps, since a datagram wakes only one of them. The name of the socket
 * follows from the job and the rank, so nothing has to be exchanged: a file in /dev/shm that no
 * other user can write to, or, where the launcher does not remove what killed ranks leave, a name
 * in the abstract namespace of AF_UNIX.
 *
 * A foreign process that writes to an abstract socket only causes a needless wake-up. If a peer
 * cannot reach the socket (it has a network namespace of its own), the sleep ends by itself after
 * some milliseconds.
 */
#ifndef WEFT_RUNTIME_FD_WATCH_H
#define WEFT_RUNTIME_FD_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/** What a source returns instead of a descriptor. READY: there is something to do. NONE: there is
 * no descriptor, so the sleep must be short. */
enum { WEFT_FD_READY = -1, WEFT_FD_NONE = -2 };

enum { WEFT_FD_WATCHES = 4 };

/** What one thread is going to sleep on. */
typedef struct weft_fd_watch {
    struct pollfd polls[WEFT_FD_WATCHES + 2]; /* [count + 2]: the last are the socket and own_fd */
    int count, timeout_ms;
    int own_fd; /* an eventfd; -1: there is none, and the sleep is short */
    bool is_woken;
    struct weft_fd_watch *next;
} weft_fd_watch_t;

/** Have `wait_fd` asked before each sleep, with the lock, for a descriptor that becomes readable
 * when there is something to do, or a value as above. The first one makes the socket.
 * MPI_ERR_INTERN, with a text: there are WEFT_FD_WATCHES of them already. */
int weft_fd_watch_add(int (*wait_fd)(void)) __attribute__((warn_unused_result));

/** Is there anything to be watched? Then threads sleep here, and not on a futex. */
bool weft_fd_watch_is_used(void);

/** The calling thread is about to sleep: from now on weft_fd_watch_wake() wakes it. */
void weft_fd_watch_enter(weft_fd_watch_t *out);
/** It does not sleep any more. */
void weft_fd_watch_leave(weft_fd_watch_t *entered);

/** Wake all other threads of this process that sleep here, or are about to. */
void weft_fd_watch_wake(void);

/** Find out, with the lock, which descriptors are to be watched. False: there is something to do,
 * do not sleep. */
bool weft_fd_watch_prepare(weft_fd_watch_t *entered);

/** Sleep, without the lock, until a descriptor is readable or a peer calls weft_fd_watch_ring, at
 * most `most_ns` if that is not 0. */
void weft_fd_watch_sleep(weft_fd_watch_t *prepared, int64_t most_ns);

/** Wake a rank of this host that sleeps here. */
void weft_fd_watch_ring(int rank);

void weft_fd_watch_close(void);

#endif
