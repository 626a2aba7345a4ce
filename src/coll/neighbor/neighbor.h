/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of neighbourhood collectives (MPI 5.0, section 8.6). */
#ifndef WEFT_COLL_NEIGHBOR_NEIGHBOR_H
#define WEFT_COLL_NEIGHBOR_NEIGHBOR_H

#include "coll/algorithm.h"

/** The only algorithm of a neighbourhood collective, with the name of the collective. Its
 * communicators have a topology. */
const weft_algorithm_t *weft_neighbor_algorithm(weft_coll_t coll);

#endif
