/* SPDX-License-Identifier: BSD-3-Clause */
/* How often and how long this process waits within MPI, for tools; counted by runtime/progress.c
 * while a handle of one of these variables is started. */
#ifndef WEFT_RUNTIME_WAIT_PVARS_H
#define WEFT_RUNTIME_WAIT_PVARS_H

#include "tool/pvar.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_waits {
    int watched;
    uint64_t count, sleeps;
    int64_t ns;
} weft_waits_t;

extern weft_waits_t weft_waits;

extern const weft_pvar_table_t weft_wait_pvars;

/** When a wait begins; 0: nobody wants to know, or it is over already. */
static inline int64_t weft_waits_begin(const bool *flag)
{
    return __builtin_expect(weft_waits.watched != 0, 0) && !*flag ? weft_clock_ns() : 0;
}

static inline void weft_waits_end(int64_t began_ns)
{
    if (__builtin_expect(began_ns == 0, 1))
        return;
    weft_waits.count++;
    weft_waits.ns += weft_clock_ns() - began_ns;
}

#endif
