/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools: each one file in memory, of which allocations are pieces. */
#ifndef SIMCUDA_SIM_POOL_H
#define SIMCUDA_SIM_POOL_H

#include "sim_stream.h"

struct sim_pool {
    sim_object_t object;
    unsigned references; /* of the handle, of devices that use it, of allocations */
    sim_device_t *device;
    sim_backing_t *backing;
    sim_extents_t unused;      /* offsets */
    unsigned types;            /* CUmemAllocationHandleType bits */
    uint64_t readers, writers; /* bits: ordinals */
    uint64_t used, used_high;  /* bytes */
    uint64_t release_threshold;
    int reuse[3]; /* the CU_MEMPOOL_ATTR_REUSE_ flags */
    bool is_default, is_imported;
};

sim_pool_t *sim_pool_of(CUmemoryPool handle);
/** A pool of a device; NULL: no memory. */
sim_pool_t *sim_pool_create(sim_device_t *device, sim_backing_t *backing, unsigned types);
void sim_pool_release(sim_pool_t *pool);
/** The pool that a device allocates from if none is named. */
CUresult sim_pool_current(sim_device_t *device, sim_pool_t **out);

/** Enters [offset, offset + bytes) of a pool at new addresses, where nothing is mapped yet; NULL:
 * no room. */
sim_range_t *sim_pooled_add(sim_pool_t *pool, uint64_t offset, size_t bytes);
/** Puts the pool's memory behind the addresses. */
void sim_pooled_map(sim_range_t *range);
/** Takes it away again; what it held is lost if `forget`. */
void sim_pooled_unmap(sim_range_t *range, bool forget);

#endif
