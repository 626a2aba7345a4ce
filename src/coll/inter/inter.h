/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans of collectives on intercommunicators (MPI 5.0 section 6.2.3). */
#ifndef WEFT_COLL_INTER_INTER_H
#define WEFT_COLL_INTER_INTER_H

#include "coll/algorithm.h"

/** The only algorithm of a collective between two groups; args->inter is not NULL. NULL for scans
 * and neighbourhood collectives, which are not done between groups. */
const weft_algorithm_t *weft_inter_algorithm(weft_coll_t coll);

#endif
