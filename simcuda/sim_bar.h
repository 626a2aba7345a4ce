/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls from the rest of the simulator to the simulated GDRCopy. */
#ifndef SIMCUDA_SIM_BAR_H
#define SIMCUDA_SIM_BAR_H

#include <stddef.h>
#include <stdint.h>

/** Memory of cuMemAlloc is freed: pins there become invalid, and an access to their mappings raises
 * a signal. With the lock held. */
void sim_bar_revoke(uintptr_t start, size_t bytes);

#endif
