/* SPDX-License-Identifier: BSD-3-Clause */
/* What handles of virtual memory name: allocations, and objects of multicast memory. */
#ifndef SIMCUDA_SIM_VMM_H
#define SIMCUDA_SIM_VMM_H

#include "sim_team.h"

/* It lives as long as handles or mappings do. */
struct sim_memory {
    sim_object_t object;
    unsigned handles, mappings;
    size_t bytes;
    sim_backing_t *backing; /* of an allocation */
    CUmemAllocationProp properties;
    sim_device_t *device;
    bool is_imported; /* whose bytes another process counts */
    sim_team_t *team; /* an object of multicast memory, which has no backing and no device; NULL: it is an allocation */
};

/** What a live handle names, or NULL. */
sim_memory_t *sim_memory_of(CUmemGenericAllocationHandle handle);
/** A handle for a team that was made or imported: `types` by which it may be exported. */
sim_memory_t *sim_memory_of_team(sim_team_t *team, unsigned types);

#endif
