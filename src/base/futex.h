/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on a word of memory that processes share (futex(2)). */
#ifndef WEFT_BASE_FUTEX_H
#define WEFT_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Sleep until woken, unless *word is not `expected`; at most `most_ns` (0: without limit). May
 * return early for no reason. */
void weft_futex_wait(atomic_uint *word, unsigned expected, int64_t most_ns);

/** Wake all threads that sleep on `word`. */
void weft_futex_wake(atomic_uint *word);

/** A thread that sleeps on `from`, which is `expected`, sleeps on `to` from now on, whatever its
 * value; where the kernel cannot do that, the thread is woken. */
void weft_futex_move(atomic_uint *from, unsigned expected, atomic_uint *to);

/** Register for asymmetric fences between processes (membarrier(2)); false: the kernel has none.
 * Where the process has more than one thread, the kernel waits for every processor, which takes
 * milliseconds; a second call costs nothing. */
bool weft_asymmetric_fence_open(void);

/** A full fence on every processor that runs a registered process of the host. It costs the caller
 * some microseconds and the other processes nothing. False: the kernel has refused it, as it may
 * for want of memory, or in a sandbox that was entered after the start. */
bool weft_asymmetric_fence(void);

#endif
