/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping where not only ranks of this host may wake us, but file descriptors too: a wait in
 * poll(2), on the descriptors of the network transports and on a datagram socket of this rank.
 * Ranks of the host ring at that socket: its name in the abstract namespace of AF_UNIX follows from
 * the job and the rank, so nothing has to be exchanged, and nothing is left behind.
 *
 * A stranger who writes to the socket wakes us for nothing. Should a peer be unable to reach it (a
 * network namespace of its own), the sleep ends by itself after some milliseconds.
 */
#ifndef WEFT_RUNTIME_FD_WATCH_H
#define WEFT_RUNTIME_FD_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/** What a source returns instead of a descriptor: there is something to do; there is no descriptor,
 * so that the sleep must be short. */
enum { WEFT_FD_READY = -1, WEFT_FD_NONE = -2 };

enum { WEFT_FD_WATCHES = 4 };

/** What one thread is going to sleep on. */
typedef struct weft_fd_watch {
    struct pollfd polls[WEFT_FD_WATCHES + 1]; /* [count + 1], the last is the socket */
    int count, timeout_ms;
} weft_fd_watch_t;

/** Have `wait_fd` asked before each sleep, with the lock, for a descriptor that becomes readable
 * when there is something to do, or a value as above. The first one makes the socket.
 * MPI_ERR_INTERN, with a text: there are WEFT_FD_WATCHES of them already. */
int weft_fd_watch_add(int (*wait_fd)(void)) __attribute__((warn_unused_result));

/** Is there anything to be watched? Then sleeps are made here, and not on a futex. */
bool weft_fd_watch_is_used(void);

/** Before a sleep, with the lock: which descriptors are to be watched. False: something is there,
 * do not sleep. */
bool weft_fd_watch_prepare(weft_fd_watch_t *out);

/** Sleep until a descriptor is readable or somebody rings, at most `most_ns` if that is not 0;
 * without the lock. */
void weft_fd_watch_sleep(weft_fd_watch_t *prepared, int64_t most_ns);

/** Wake a rank of this host that sleeps here. */
void weft_fd_watch_ring(int rank);

void weft_fd_watch_close(void);

#endif
