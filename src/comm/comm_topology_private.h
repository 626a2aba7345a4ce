/* SPDX-License-Identifier: BSD-3-Clause */
/* What communicators with a topology share, of whatever kind it is. */
#ifndef WEFT_COMM_COMM_TOPOLOGY_PRIVATE_H
#define WEFT_COMM_COMM_TOPOLOGY_PRIVATE_H

#include "object/comm.h"
#include "object/topology.h"

/**
 * As weft_comm_attach_topology(), with a new order.
 *
 * ranks  [size] the rank in `comm` of each rank of the new communicator, at all ranks alike; NULL:
 *        the old order
 */
int wefti_comm_attach(weft_comm_t *comm, int size, const int *ranks, weft_topology_t *topology,
                      weft_comm_t **out);

/** The new rank of `rank`, `size` or more if it has none; `ranks` as of wefti_comm_attach(). */
int wefti_find_rank(const int *ranks, int size, int rank);

#endif
