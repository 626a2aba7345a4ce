/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/futex.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void weft_futex_wait(atomic_uint *word, unsigned expected, int64_t most_ns)
{
    struct timespec most = {.tv_sec = most_ns / 1000000000, .tv_nsec = most_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, expected, most_ns > 0 ? &most : NULL, NULL, 0);
}

void weft_futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void weft_futex_move(atomic_uint *from, unsigned expected, atomic_uint *to)
{
    enum { WOKEN = 0, MOVED = 1 };
    if (syscall(SYS_futex, from, FUTEX_CMP_REQUEUE, WOKEN, (long)MOVED, to, expected) < 0)
        weft_futex_wake(from);
}

bool weft_asymmetric_fence_open(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool weft_asymmetric_fence(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}
