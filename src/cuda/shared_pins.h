/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the ranks of a host share, registered with the driver so that a device copies
 * straight into it or out of it. Registering takes the driver about a millisecond for a few MiB,
 * and undoing it waits for all work on the device. So memory is registered when it is first needed,
 * in whole shelves (runtime/shelf.h), and until MPI ends.
 *
 * At most half of WEFT_DEVICE_PINNED_MAX is used so: slots need the rest. A shelf belongs to the
 * first device that asks for it, whose context registers it; when the program has ended that
 * context, the next device may have it.
 */
#ifndef WEFT_CUDA_SHARED_PINS_H
#define WEFT_CUDA_SHARED_PINS_H

#include "cuda/cuda_device.h"

/** Does what weft_device->pin_shared() promises. */
bool wefti_pin_shared(weft_device_t *device, void *memory, size_t bytes);

/** Was something asked for while a stream might wait for the library? Register it now. */
bool wefti_has_missed_pin(void);
void wefti_pins_catch_up(void);

/** Called at the end of MPI, before the memory is unmapped. */
void wefti_pins_close(void);

#endif
