/* SPDX-License-Identifier: BSD-3-Clause */
/* With `turns`, processes take turns on a device that they share. */
#ifndef SIMCUDA_SIM_TURN_H
#define SIMCUDA_SIM_TURN_H

#include "sim.h"

/** Waits until no kernel of another process runs on the device, and keeps those of others waiting
 * until sim_turn_end. Kernels of this process may run meanwhile. Both are called without the
 * lock. */
void sim_turn_begin(const sim_device_t *device);
void sim_turn_end(const sim_device_t *device);

#endif
