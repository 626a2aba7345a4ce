/* SPDX-License-Identifier: BSD-3-Clause */
/* Time for people and benchmarks; never on a path that polls. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <time.h>

/** Seconds since a fixed moment in the past, the same for all processes of the host. */
static inline double weft_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
