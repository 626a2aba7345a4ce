/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random delays around every atomic access of the library: `-include` this file in CFLAGS (GCC).
 * Ranks hand memory to each other, and threads too, by atomic words alone; with delays in front of
 * and behind these, tests see orders of events that are rare otherwise: data that are overwritten
 * while they are still read, a word that is published before what it announces, a wake that comes
 * between a look and a sleep. Accesses by operators (x++ of an _Atomic) are not delayed.
 *
 * One access in 64 is delayed, half of these by up to some microseconds, the others by a yield of
 * the processor, after which other ranks run where they share cores.
 */
#if !defined(WEFT_TEST_PERTURB_H) && !defined(__ASSEMBLER__)
#define WEFT_TEST_PERTURB_H

#define _GNU_SOURCE /* as the files say that need it; this one comes before them */

#include <sys/syscall.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

static inline void weft_perturb(void)
{
    static _Thread_local uint32_t random;
    if (random == 0)
        random = (uint32_t)(uintptr_t)&random ^ (uint32_t)getpid() * 2654435761u;
    random = random * 1664525 + 1013904223;
    uint32_t bits = random >> 8;
    if (bits % 64 != 0)
        return;
    if (bits & 64)
        syscall(SYS_sched_yield); /* a test may have a sched_yield of its own */
    else
        for (volatile uint32_t turns = bits >> 12; turns > 0; turns--)
            continue;
}

/* The value of `access`, with a delay on both sides. */
#define WEFT_PERTURBED(access)                                                                     \
    __extension__({                                                                                \
        weft_perturb();                                                                            \
        __auto_type perturbed = (access);                                                          \
        weft_perturb();                                                                            \
        perturbed;                                                                                 \
    })

#undef atomic_load_explicit
#undef atomic_load
#undef atomic_store_explicit
#undef atomic_store
#undef atomic_exchange_explicit
#undef atomic_exchange
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong
#undef atomic_fetch_add_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_or_explicit
#undef atomic_fetch_or
#undef atomic_fetch_and_explicit
#undef atomic_fetch_and

#define atomic_load_explicit(at, order) WEFT_PERTURBED(__atomic_load_n(at, order))
#define atomic_load(at)                 atomic_load_explicit(at, __ATOMIC_SEQ_CST)
#define atomic_store_explicit(at, value, order)                                                    \
    __extension__({                                                                                \
        __typeof__((void)0, *(at)) perturbed_value = (value);                                      \
        weft_perturb();                                                                            \
        __atomic_store_n(at, perturbed_value, order);                                              \
        weft_perturb();                                                                            \
    })
#define atomic_store(at, value) atomic_store_explicit(at, value, __ATOMIC_SEQ_CST)

#define atomic_exchange_explicit(at, value, order)                                                 \
    WEFT_PERTURBED(__atomic_exchange_n(at, value, order))
#define atomic_exchange(at, value) atomic_exchange_explicit(at, value, __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_weak(at, expected, value)                                          \
    WEFT_PERTURBED(                                                                                \
        __atomic_compare_exchange_n(at, expected, value, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define atomic_compare_exchange_weak_explicit(at, expected, value, order, otherwise)               \
    WEFT_PERTURBED(__atomic_compare_exchange_n(at, expected, value, 1, order, otherwise))
#define atomic_compare_exchange_strong(at, expected, value)                                        \
    WEFT_PERTURBED(                                                                                \
        __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))

#define atomic_fetch_add_explicit(at, value, order)                                                \
    WEFT_PERTURBED(__atomic_fetch_add(at, value, order))
#define atomic_fetch_add(at, value) atomic_fetch_add_explicit(at, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_sub_explicit(at, value, order)                                                \
    WEFT_PERTURBED(__atomic_fetch_sub(at, value, order))
#define atomic_fetch_sub(at, value) atomic_fetch_sub_explicit(at, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_or_explicit(at, value, order)                                                 \
    WEFT_PERTURBED(__atomic_fetch_or(at, value, order))
#define atomic_fetch_or(at, value) atomic_fetch_or_explicit(at, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_and_explicit(at, value, order)                                                \
    WEFT_PERTURBED(__atomic_fetch_and(at, value, order))
#define atomic_fetch_and(at, value) atomic_fetch_and_explicit(at, value, __ATOMIC_SEQ_CST)

#endif
