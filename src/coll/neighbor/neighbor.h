/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of neighbourhood collectives (MPI 5.0, section 8.6). */
#ifndef WEFT_COLL_NEIGHBOR_NEIGHBOR_H
#define WEFT_COLL_NEIGHBOR_NEIGHBOR_H

#include "coll/plan.h"

/** "neighbor_allgather", ... */
const char *weft_neighbor_name(weft_coll_t coll);

/** Append the messages with all neighbours. The communicator has a topology. */
void weft_neighbor_build(weft_plan_t *plan, weft_coll_t coll, const weft_coll_args_t *args);

#endif
