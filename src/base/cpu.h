/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine lets this process use: processors, and the pause between two polls. */
#ifndef WEFT_BASE_CPU_H
#define WEFT_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_CPU_WORDS = 64 };

/** A set of processors by number; those above 4095 count as number modulo 4096. The kernel takes it
 *  as a mask of sizeof(weft_cpus_t) bytes. */
typedef struct weft_cpus {
    uint64_t words[WEFT_CPU_WORDS];
} weft_cpus_t;

static inline bool weft_cpus_have(const weft_cpus_t *cpus, int cpu)
{
    return (cpus->words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

static inline void weft_cpus_put(weft_cpus_t *cpus, int cpu)
{
    cpus->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/** The processors of this process's affinity mask. */
weft_cpus_t weft_cpus_allowed(void);

/** Let the calling thread run on these processors alone; false: the kernel refuses. */
bool weft_cpus_run_on(const weft_cpus_t *cpus);

void weft_cpus_add(weft_cpus_t *to, const weft_cpus_t *more);

int weft_cpus_count(const weft_cpus_t *cpus);

/** Processors that the control group's quota pays for, rounded up; INT_MAX when there is none. */
int weft_cpu_quota(void);

/** Threads of the whole machine that run, or would run if there were a processor for them; -1: the
 *  system does not say. */
int weft_cpu_runnable(void);

static inline void weft_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void weft_cpu_pause(int times)
{
    for (int i = 0; i < times; i++)
        weft_cpu_relax();
}

/** Have a cache line fetched so that it can be written: other processors lose it. Those without the
 * instruction pass it by; the compiler's own prefetch is another one unless all have it. */
static inline void weft_cpu_fetch_to_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/** Does a core that stores into a line get it sooner from a core that has changed it than from one
 * that has only read it? So on AMD's processors: of a line that was read both cores have a copy,
 * and that of the reader has to go first, which takes 7 ns a line on a Zen 4 where the two share a
 * cache, and 30 ns where not. A changed line comes in 1 to 2 ns. */
bool weft_cpu_gets_dirty_sooner(void);

/** Change the bytes at `at`, 64 bytes further on, and so on, below at + bytes: one in each cache
 * line. */
static inline void weft_cpu_dirty(volatile char *at, size_t bytes)
{
    for (size_t line = 0; line < bytes; line += 64)
        at[line] = 0;
}

/** Have cache lines that were written, those of [from, from + bytes), moved to the cache that all
 * cores share, from where another one fetches them sooner. Processors without the instruction
 * (cldemote, here for assemblers that do not know it) pass it by. */
static inline void weft_cpu_hand_over(const void *from, size_t bytes)
{
#if defined(__x86_64__)
    for (size_t at = 0; at < bytes; at += 64)
        __asm__ volatile(".byte 0x0f, 0x1c, 0x00" : : "a"((const char *)from + at));
#else
    (void)from, (void)bytes;
#endif
}

#endif
