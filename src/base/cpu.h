/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine lets this process use: processors, and the pause between two polls. */
#ifndef WEFT_BASE_CPU_H
#define WEFT_BASE_CPU_H

#include <stdint.h>

enum { WEFT_CPU_WORDS = 16 };

/** A set of processors by number; those above 1023 count as number modulo 1024. */
typedef struct weft_cpus {
    uint64_t words[WEFT_CPU_WORDS];
} weft_cpus_t;

/** The processors of this process's affinity mask. */
weft_cpus_t weft_cpus_allowed(void);

void weft_cpus_add(weft_cpus_t *to, const weft_cpus_t *more);

int weft_cpus_count(const weft_cpus_t *cpus);

/** Processors that the control group's quota pays for, rounded up; INT_MAX when there is none. */
int weft_cpu_quota(void);

static inline void weft_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
