/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binding: while there is a core for each rank, every rank is bound to its share of the cores, side
 * by side and of nearly the same size. So no two ranks find themselves on one core, and a rank's
 * threads keep all the cores that are its due. Where ranks outnumber cores nothing is bound.
 *
 *   8 cores, 3 ranks:   0 1 2 | 3 4 5 | 6 7
 */
#ifndef WEFT_LAUNCH_NODE_CORE_SHARE_H
#define WEFT_LAUNCH_NODE_CORE_SHARE_H

#include "base/cpu.h"

#include <stdbool.h>

/** The share of `rank`, one of `ranks`, in the processors `allowed`; false: there are fewer
 *  processors than ranks. */
bool wl_core_share(const weft_cpus_t *allowed, int rank, int ranks, weft_cpus_t *out);

#endif
