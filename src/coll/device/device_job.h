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
#ifndef WEFT_COLL_DEVICE_DEVICE_JOB_H
#define WEFT_COLL_DEVICE_DEVICE_JOB_H

#include "coll/coll.h"
#include "coll/plan.h"
#include "runtime/device.h"

#include <stdbool.h>

/** Does device memory take part, on this rank? */
bool weft_device_job_is_needed(weft_coll_t coll, const weft_coll_args_t *args);

/** Begin it. `plan` is what a rank with host memory would run; `number` counts the collectives of the
 *  communicator. MPI_ERR_NO_MEM. */
int weft_device_job_begin(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan,
                          uint32_t number, weft_request_t **out);

void weft_device_jobs_close(void);

#endif
