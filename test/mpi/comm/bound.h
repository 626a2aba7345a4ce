/* SPDX-License-Identifier: BSD-3-Clause */
/* Is any rank bound to a part of its machine? Then ranks may be reordered within a host. Needs
 * _GNU_SOURCE. */
#ifndef TEST_MPI_COMM_BOUND_H
#define TEST_MPI_COMM_BOUND_H

#include "mpi.h"

#include <sched.h>
#include <unistd.h>

/* Collective over MPI_COMM_WORLD. */
static inline int is_any_rank_bound(void)
{
    cpu_set_t set;
    int is_bound = sched_getaffinity(0, sizeof(set), &set) != 0 ||
                   CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_ONLN);
    MPI_Allreduce(MPI_IN_PLACE, &is_bound, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return is_bound;
}

#endif
