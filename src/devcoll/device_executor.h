/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor of plans on device memory (coll/executor.h): reductions are kernels in a queue of
 * the device, copies are messages from the rank to itself, and scratch memory lies on the device.
 * The sections of a plan may be done by the ranks of the host together (section_task.h).
 */
#ifndef WEFT_DEVCOLL_DEVICE_EXECUTOR_H
#define WEFT_DEVCOLL_DEVICE_EXECUTOR_H

#include "coll/engine.h"
#include "runtime/device.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Make a run take place on a device.
 * does_sections  whether the ranks of the host do sections together if all of them come
 * number         the number of the meeting of the plan's first section
 * place          gets executor and state, which wefti_device_executor_drop() releases if the run
 *                does not begin
 * returns        MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int wefti_device_executor_open(weft_device_t *device, bool does_sections, uint32_t number,
                               weft_run_place_t *place);
void wefti_device_executor_drop(weft_run_place_t *place);

/** Called at the end of MPI. */
void wefti_device_executor_close(void);

#endif
