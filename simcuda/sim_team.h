/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast objects: the devices that belong to an object, and the memory that is bound to it, in a
 * table that all processes share.
 *
 *     table    members:  devices of the host, in the order in which they were added
 *              bindings: [offset, offset + bytes) of a device is this part of that backing
 *
 * A process finds the memory behind an address of the object by the bindings, and maps it at its
 * first use. */
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

/** A new object for so many devices, of `bytes` on each; NULL: no memory. */
sim_team_t *sim_team_create(unsigned devices, size_t bytes);
/** The object of another process, by a descriptor that the team then owns; NULL: it cannot be
 * mapped, the descriptor is closed. */
sim_team_t *sim_team_adopt(int fd);
void sim_team_release(sim_team_t *team);
/** The descriptor of the table, which other processes adopt. */
int sim_team_fd(const sim_team_t *team);
size_t sim_team_bytes(const sim_team_t *team);
/** Bytes of the table itself. */
size_t sim_team_table_bytes(void);

/** CUDA_ERROR_INVALID_VALUE: the device is a member already, or all members have been added. */
CUresult sim_team_add(sim_team_t *team, int index);
bool sim_team_has(const sim_team_t *team, int index);
/** Waits until all devices have been added; releases the lock while it waits. */
void sim_team_wait(const sim_team_t *team);

/** Binds a part of `file`, and fills in binding->memory. Until the part is unbound, or this process
 * releases the team, the file is held (sim_file_hold()). CUDA_ERROR_INVALID_VALUE: memory of the
 * device is bound there already. */
CUresult sim_team_bind(sim_team_t *team, sim_binding_t *binding, int file);
/** CUDA_ERROR_INVALID_VALUE: there is no such binding. */
CUresult sim_team_unbind(sim_team_t *team, const sim_binding_t *binding);

/** Where this process finds `bytes` bytes at `offset` in the memory of each member; returns the
 * number of members. 0: a member has nothing bound there, or its memory cannot be mapped. */
unsigned sim_team_places(sim_team_t *team, uint64_t offset, uint64_t bytes,
                         char *places_out[SIM_DEVICES_MAX]);

#endif
