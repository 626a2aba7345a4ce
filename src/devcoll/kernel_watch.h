/* SPDX-License-Identifier: BSD-3-Clause */
/* The two words by which the host and a waiting kernel tell each other of the kernel's end
 * (runtime/device.h). */
#ifndef WEFT_DEVCOLL_KERNEL_WATCH_H
#define WEFT_DEVCOLL_KERNEL_WATCH_H

#include "base/config.h"
#include "base/fail.h"
#include "runtime/device.h"
#include "runtime/meeting.h"
#include "mpi.h"

#include <stdatomic.h>
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

/** Called when the kernel has ended, or (`err`) could not be launched. Returns MPI_SUCCESS if it
 * ended well, else MPI_ERR_OTHER with a text: it was called off, or has waited too long. */
static inline int wefti_watch_end(uint32_t *watch, uint32_t flag, int err)
{
    atomic_uint *words = (atomic_uint *)watch;
    bool is_off = atomic_load(&words[0]) == flag;
    if (err != MPI_SUCCESS || atomic_load(&words[1]) != flag)
        return err;
    return is_off
               ? weft_fail(MPI_ERR_OTHER, "the device work of another rank of this host has failed")
               : weft_fail(MPI_ERR_OTHER,
                           "a kernel has waited for those of other ranks for longer than "
                           "%d times WEFT_DEVICE_WAIT_MAX, %d s",
                           WEFT_KERNEL_WAITS, weft_config.DEVICE_WAIT_MAX);
}

#endif
