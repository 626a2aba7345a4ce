/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rest of the simulator has to tell the simulated GDRCopy. */
#ifndef SIMCUDA_SIM_BAR_H
#define SIMCUDA_SIM_BAR_H

#include <stddef.h>
#include <stdint.h>

/** Addresses of cuMemAlloc lose their memory: pins there are void, and who touches their mappings
 * gets a signal. With the lock held. */
void sim_bar_revoke(uintptr_t start, size_t bytes);

#endif
