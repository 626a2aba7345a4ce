/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective with device memory in it. Which way it goes depends on what the others bring, too:
 *
 *   multicast as flags, an allreduce that the switch between the devices does (multicast.h)
 *   flags     as together, with a device for each rank: kernels of all exchange the data (flags.h)
 *   together  all ranks are on this host and lend device memory: one of them does it all
 *   levels    several hosts: what the plan has the ranks of one host do among themselves is done together,
 *             if all of them come; its messages between hosts as in `stepped`
 *   stepped   the plan runs on device memory: messages by src/pt2pt, reductions by kernels
 *   staged    the plan runs on host memory that stands for the buffers: few bytes, or an operation that
 *             the device does not have
 *
 * All but the first three send other hosts the same messages as a rank whose buffers are host memory, so each
 * rank chooses for itself between them.
 */
#ifndef WEFT_DEVCOLL_DEVICE_JOB_H
#define WEFT_DEVCOLL_DEVICE_JOB_H

#include "coll/coll.h"
#include "coll/plan.h"
#include "runtime/device.h"

#include <stdbool.h>

/** Collectives with device memory come here from now on: registers with coll/device_calls.h. */
void weft_devcoll_open(void);

/** At the end of MPI. */
void weft_devcoll_close(void);

#endif
