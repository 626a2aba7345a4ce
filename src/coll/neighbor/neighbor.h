/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans of neighbourhood collectives (MPI 5.0, section 8.6). */
#ifndef WEFT_COLL_NEIGHBOR_NEIGHBOR_H
#define WEFT_COLL_NEIGHBOR_NEIGHBOR_H

#include "coll/algorithm.h"

/** The algorithm of a neighbourhood collective, by messages, with the name of the collective, or
 * with posts on a wall. Its communicators have a topology. */
const weft_algorithm_t *weft_neighbor_algorithm(weft_coll_t coll, bool has_wall);

/** Of plan->coll, the messages with blocks of more than `most` bytes. */
void weft_neighbor_build_long(weft_plan_t *plan, const weft_coll_args_t *args, size_t most);

#endif
