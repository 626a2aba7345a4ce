/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping where not only peers of this host may wake us, but file descriptors too: a thread polls
 * them and rings the bell. It is started at the first such sleep, does nothing but poll(2), and is
 * used for long waits only: a waiter yields for some hundred microseconds before it sleeps.
 *
 * (A sleeper on a futex cannot wait for a descriptor, and a sleeper in poll(2) can be woken by peers
 * of the host through a descriptor only, which they would have to get from each other first.)
 */
#ifndef WEFT_CORE_FD_WATCH_H
#define WEFT_CORE_FD_WATCH_H

#include "core/progress.h"

#include <stdbool.h>

/** What weft_transport_ops_t.wait_fd returns instead of a descriptor. */
enum { WEFT_FD_READY = -1, WEFT_FD_NONE = -2 };

/** Have `wait_fd` asked before each sleep. At most 4. */
void weft_fd_watch_add(int (*wait_fd)(void));

/** Is there anything to be watched? */
bool weft_fd_watch_is_used(void);

/** Before a sleep on `bell`, which is set already: see to it that the bell rings when a descriptor
 * is readable. False: something is there already, do not sleep. */
bool weft_fd_watch_begin(weft_bell_t *bell);

/** End the thread; forget what was added. */
void weft_fd_watch_close(void);

#endif
