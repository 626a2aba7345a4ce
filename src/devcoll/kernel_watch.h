/* SPDX-License-Identifier: BSD-3-Clause */
/* The two words by which the host and a waiting kernel tell each other of the kernel's end
 * (runtime/device.h). */
#ifndef WEFT_DEVCOLL_KERNEL_WATCH_H
#define WEFT_DEVCOLL_KERNEL_WATCH_H

#include "runtime/device.h"
#include "runtime/meeting.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** The number of meetings that have a flag of their own: no flag is used twice. */
enum { WEFT_WATCH_FLAGS = INT32_MAX };

/** The flag of a meeting's kernels. */
static inline uint32_t wefti_watch_flag(const weft_meeting_t *meeting)
{
    return meeting->number + 1;
}

/** Tell the kernel of this flag to end soon if it waits. */
static inline void wefti_watch_call_off(uint32_t *watch, uint32_t flag)
{
    atomic_store((atomic_uint *)watch, flag);
}

/** How a kernel has ended. */
typedef enum wefti_watch_end {
    WEFT_ENDED_WELL,
    WEFT_ENDED_OFF,  /* it was called off, or */
    WEFT_ENDED_LATE, /* has waited too long */
} wefti_watch_end_t;

/** Called when the kernel of this flag has ended. */
static inline wefti_watch_end_t wefti_watch_end(uint32_t *watch, uint32_t flag)
{
    atomic_uint *words = (atomic_uint *)watch;
    bool is_off = atomic_load(&words[0]) == flag;
    if (atomic_load(&words[1]) != flag)
        return WEFT_ENDED_WELL;
    return is_off ? WEFT_ENDED_OFF : WEFT_ENDED_LATE;
}

#endif
