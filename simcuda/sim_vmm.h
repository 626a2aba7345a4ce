/* SPDX-License-Identifier: BSD-3-Clause */
/* What handles of virtual memory name: allocations and multicast objects. */
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
    bool is_imported; /* then another process counts its bytes */
    sim_team_t *team; /* of a multicast object, without backing and device; NULL: an allocation */
};

/** What a live handle names, or NULL. */
sim_memory_t *sim_memory_of(CUmemGenericAllocationHandle handle);
/** A handle for a new or imported team; `types` are the handle types for its export. */
sim_memory_t *sim_memory_of_team(sim_team_t *team, unsigned types);

#endif
