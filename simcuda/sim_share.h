/* SPDX-License-Identifier: BSD-3-Clause */
/* How memory and events are shared with other processes.
 *
 * A token (64 bytes, in the handles of legacy IPC, fabric handles, pointers of pools) names a
 * descriptor of the exporting process. Others open it by /proc/<pid>/fd, and compare the file's
 * inode number to see whether the descriptor is still that of the same file. Where the descriptor
 * itself is passed on (VMM, pools, multicast), a trailer after the memory says what the file is.
 * Each descriptor that is made so is of an open file of its own, with a shared lock on the file. */
#ifndef SIMCUDA_SIM_SHARE_H
#define SIMCUDA_SIM_SHARE_H

#include "sim.h"

typedef enum sim_share_kind {
    SIM_SHARED_MEMORY = 0x77656601,
    SIM_SHARED_EVENT,
    SIM_SHARED_HANDLE, /* VMM */
    SIM_SHARED_POOL,
    SIM_SHARED_POINTER, /* of a pool */
    SIM_SHARED_TEAM     /* multicast */
} sim_share_kind_t;

typedef struct sim_token {
    int32_t kind;
    int32_t pid, fd;
    int32_t index; /* of the device, as the host counts; -1: none */
    uint64_t inode;
    uint64_t bytes, offset; /* of the allocation in the file */
    CUuuid uuid;            /* of the device: also tells hosts apart */
    uint32_t types;         /* CUmemAllocationHandleType bits it was made for */
    uint32_t granule;       /* SIM_SHARED_MEMORY: where the owner has mapped the file */
} sim_token_t;

_Static_assert(sizeof(sim_token_t) == CU_IPC_HANDLE_SIZE, "a token is as large as a handle");

/** May memory be made for handles of these CUmemAllocationHandleType bits?
 * CUDA_ERROR_NOT_PERMITTED: devices have fabric handles, but this process no channel for them. */
CUresult sim_check_types(unsigned long long types);
/** Do devices say that they have fabric handles? */
bool sim_has_fabric(void);

/** A token for `fd` of this process; the caller fills in offset, bytes and types. */
sim_token_t sim_token_create(sim_share_kind_t kind, int fd, int index);
/** Opens what a token names; CUDA_ERROR_INVALID_VALUE: it is of another kind, or gone. */
CUresult sim_token_open(const sim_token_t *token, sim_share_kind_t kind, int *fd_out);
bool sim_token_is_own(const sim_token_t *token);
/** The visible device of a token, or NULL. */
sim_device_t *sim_token_device(const sim_token_t *token);

/** A new descriptor of a file of `bytes` bytes, with a trailer; -1: none is left. */
int sim_trailer_export(int file, size_t bytes, const sim_token_t *token);
/** Opens what a shareable handle names (as cuMemImportFromShareableHandle takes it): its token, and
 * a new descriptor, which the caller owns. */
CUresult sim_share_open(void *given, CUmemAllocationHandleType type, sim_share_kind_t kind,
                        sim_token_t *token_out, int *fd_out);

#endif
