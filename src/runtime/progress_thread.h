/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress thread, which a program gets with WEFT_PROGRESS_THREAD: while the program computes,
 * it goes on with the operations that were begun and are not complete. Without it they go on in the
 * program's own calls only, as most MPI libraries do it.
 *
 *   rests    for a tick at a time; in a deep sleep when nothing has been under way for some ticks
 *   engaged  asleep on the doorbell, like every thread that waits: so what arrives wakes it
 *
 * It engages at the end of a tick if something is under way and no thread of the program waits in
 * MPI, and rests again when one begins to wait. So a program that communicates all the time is
 * hardly disturbed, and what is begun goes on by itself from the first tick after the last call.
 */
#ifndef WEFT_RUNTIME_PROGRESS_THREAD_H
#define WEFT_RUNTIME_PROGRESS_THREAD_H

#include "base/own_symbol.h"

#include <stdbool.h>

/** Is there a progress thread? Then all calls take the lock, and it must hear of what is begun. */
extern WEFT_OWN_SYMBOL bool weft_has_progress_thread;

/** Start the thread, after weft_progress_open() and without the lock. Without a thread, the program
 * goes on alone, after a warning. */
void weft_progress_thread_open(void);

/** End the thread, if there is one: without the lock, before any layer closes. */
void weft_progress_thread_close(void);

/** So many more operations of the program are under way (or, below 0, fewer); with the lock. */
void weft_progress_thread_follow(int more);

#endif
