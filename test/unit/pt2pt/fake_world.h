/* SPDX-License-Identifier: BSD-3-Clause */
/* A world of a few ranks of one host, this one being rank 0, that are reached as a test says. */
#ifndef TEST_UNIT_PT2PT_FAKE_WORLD_H
#define TEST_UNIT_PT2PT_FAKE_WORLD_H

#include "object/comm.h"
#include "runtime/shelf.h"
#include "base/config.h"

#include <stdlib.h>

/** `endpoints`: [ranks], the test's, at most four. False: there is no memory. */
static inline bool open_fake_world(weft_endpoint_t *endpoints, int ranks)
{
    static const int local_ranks[] = {0, 1, 2, 3};
    weft_config_read();
    weft_world.rank = 0;
    weft_world.size = weft_world.local_size = ranks;
    weft_world.local_ranks = local_ranks;
    weft_shelves_open(calloc((size_t)ranks, WEFT_SHELF_BYTES), ranks, 0);
    if (weft_processes_open(ranks, 0) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < ranks; i++)
        weft_processes.at[i].endpoint = &endpoints[i];
    weft_pt2pt_open();
    return weft_comm_open() == MPI_SUCCESS;
}

#endif
