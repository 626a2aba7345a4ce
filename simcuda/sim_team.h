/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of multicast memory: the devices that belong to one, and the memory that is bound to it, in a table that
 * all processes share.
 *
 *     table    members: devices of the host, in the order in which they came
 *              bindings: [offset, offset + bytes) of a device is this part of that backing
 *
 * What lies behind an address of it is found by the bindings, and mapped in each process at its first use there. */
#ifndef SIMCUDA_SIM_TEAM_H
#define SIMCUDA_SIM_TEAM_H

#include "sim_share.h"

typedef struct sim_team sim_team_t;

typedef struct sim_binding {
    int index; /* of the device, as the host counts */
    uint64_t offset, bytes;
    uint64_t memory_offset;
    sim_token_t memory;
} sim_binding_t;

/** For so many devices, of `bytes` each; NULL: no memory. */
sim_team_t *sim_team_create(unsigned devices, size_t bytes);
/** That of another process, by a descriptor that it owns from now on; NULL: it is none. */
sim_team_t *sim_team_adopt(int fd);
void sim_team_release(sim_team_t *team);
/** The descriptor of the table: others adopt it. */
int sim_team_fd(const sim_team_t *team);
size_t sim_team_bytes(const sim_team_t *team);
/** Of the table itself. */
size_t sim_team_table_bytes(void);

/** CUDA_ERROR_INVALID_VALUE: it is a member already, or there are as many as there should be. */
CUresult sim_team_add(sim_team_t *team, int index);
bool sim_team_has(const sim_team_t *team, int index);
/** Until all devices have been added, without the lock. */
void sim_team_wait(const sim_team_t *team);

/** CUDA_ERROR_INVALID_VALUE: something of the device is bound there already. */
CUresult sim_team_bind(sim_team_t *team, const sim_binding_t *binding);
/** CUDA_ERROR_INVALID_VALUE: that was not bound. */
CUresult sim_team_unbind(sim_team_t *team, const sim_binding_t *binding);

/** Where this process finds `bytes` bytes at `offset` in the memory of each member; how many there are. 0: there is
 * none of some, or it is not to be had any more. */
unsigned sim_team_places(sim_team_t *team, uint64_t offset, uint64_t bytes, char *places_out[SIM_DEVICES_MAX]);

#endif
