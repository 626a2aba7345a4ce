/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How near the ranks of a communicator are to each other: which of them share a host, and within a
 * host a package, a NUMA node, a cache or a core. Each level divides the parts of the one before.
 *
 *   hosts      0 0 0 0 0 0 0 0  1 1 1 1 1 1 1 1
 *   packages   0 0 0 0 1 1 1 1  2 2 2 2 3 3 3 3
 *   L3 caches  0 0 1 1 2 2 3 3  4 4 5 5 6 6 7 7
 */
#ifndef WEFT_COMM_NEARNESS_H
#define WEFT_COMM_NEARNESS_H

#include "coll/team/shape.h"
#include "object/comm.h"
#include "runtime/hardware.h"

enum { WEFT_NEARNESS_LEVELS_MAX = 1 + WEFT_HARDWARE_KINDS };

typedef struct weft_nearness {
    int count; /* at least 1 */
    /* Hosts first. The "nodes" of a shape are the parts. */
    weft_shape_t levels[WEFT_NEARNESS_LEVELS_MAX];
} weft_nearness_t;

/**
 * Hosts alone. No communication.
 *
 * out      pass it to wefti_nearness_close()
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM; MPI_ERR_OTHER when the launcher does not tell the hosts
 */
int wefti_nearness_of_hosts(const weft_comm_t *comm, weft_nearness_t *out);

/** Also what is within hosts, by what each rank's calling thread is bound to; where none is bound,
 * hosts alone. Collective over comm; all ranks find the same. As wefti_nearness_of_hosts(), also
 * the errors of a collective. */
int wefti_nearness_within_hosts(weft_comm_t *comm, weft_nearness_t *out);

void wefti_nearness_close(weft_nearness_t *nearness);

/** Add a level to those there are: ranks share a part if they do on the level before and have the
 * same number[rank]. A level that divides nothing, or all, is left out. MPI_ERR_NO_MEM. */
int wefti_nearness_divide(weft_nearness_t *nearness, const int number[]);

/** All ranks are equally near, so that every order is as good. */
bool wefti_nearness_is_flat(const weft_nearness_t *nearness);

/** The part of the level before that has this part; 0: it is of the first level. */
int wefti_nearness_parent(const weft_nearness_t *nearness, int level, int part);

#endif
