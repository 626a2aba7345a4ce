/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's lock: there is one, and each MPI call takes it, but only when the program asked for
 * MPI_THREAD_MULTIPLE or has used sessions, or the library has a thread of its own (src/stream,
 * progress_thread.h). User functions are called without it: they may call MPI, and may wait for a
 * lock of the program whose holder waits for this one.
 */
#ifndef WEFT_RUNTIME_LOCK_H
#define WEFT_RUNTIME_LOCK_H

#include "runtime/world.h"

/** The world is known: from now on threads wait for the lock awake, if there are cores enough.
 * Other threads may use the lock at the same time. */
void weft_lock_open(void);

/** Take the lock, whatever the thread level. For a thread that has taken it many times, and no
 * other between, this becomes as cheap as a few loads and stores. */
void weft_lock_take(void);
void weft_lock_give(void);
/** If other threads wait for the lock, give it to them, and take it again. */
void weft_lock_offer(void);

static inline void weft_lock(void)
{
    if (__builtin_expect(weft_world.is_threaded, 0))
        weft_lock_take();
}

static inline void weft_unlock(void)
{
    if (__builtin_expect(weft_world.is_threaded, 0))
        weft_lock_give();
}

#endif
