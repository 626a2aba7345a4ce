/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's lock: one for everything, taken by each MPI call, and only when the program asked
 * for MPI_THREAD_MULTIPLE or the library has a thread of its own (src/stream). Functions of the
 * user's are called without it: they may call MPI, and wait for locks of their own whose holders
 * wait for this one.
 */
#ifndef WEFT_RUNTIME_LOCK_H
#define WEFT_RUNTIME_LOCK_H

#include "runtime/world.h"

/** Take the lock, whatever the thread level. */
void weft_lock_take(void);
void weft_lock_give(void);
/** Let other threads in, if any waits, and take the lock again. */
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
