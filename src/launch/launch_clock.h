/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of time limits. */
#ifndef WEFT_LAUNCH_LAUNCH_CLOCK_H
#define WEFT_LAUNCH_LAUNCH_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Milliseconds since some moment of the past. */
static inline int64_t weft_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
