/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools. Each is one file in memory, and its allocations are pieces of that file. */
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

/** Enters [offset, offset + bytes) of a pool at new addresses, without memory there; NULL:
 * no room. */
sim_range_t *sim_pooled_add(sim_pool_t *pool, uint64_t offset, size_t bytes);
/** Maps the pool's memory at the addresses of a range. */
void sim_pooled_map(sim_range_t *range);
/** Unmaps it; `forget`: its content is lost. */
void sim_pooled_unmap(sim_range_t *range, bool forget);

#endif
