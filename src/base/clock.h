/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotonic clock: it counts from a moment in the past that all processes of the host share. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t weft_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t weft_clock_ms(void)
{
    return weft_clock_ns() / 1000000;
}

static inline double weft_clock_seconds(void)
{
    return 1e-9 * (double)weft_clock_ns();
}

#endif
