/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/mapping_place.h"

#include "cuda/cuda_share.h"
#include "mpi.h"

#include <string.h>

bool wefti_is_reachable(const weft_share_t *share, const weft_device_t *device)
{
    int is_possible = 0;
    if (memcmp(device->uuid.bytes, share->uuid, sizeof(share->uuid)) == 0)
        return true;
    weft_cu_device_t owners = wefti_device_number(share->uuid);
    if (owners < 0)
        return true; /* the device may only be hidden from this process (CUDA_VISIBLE_DEVICES) */
    if (wefti_cu.cuDeviceCanAccessPeer(&is_possible, device->number, owners) != WEFT_CU_SUCCESS ||
        !is_possible)
        wefti_warn_of_detour(WEFT_WARNING_NO_PEERS,
                             "two devices of this host cannot reach each other's memory");
    return is_possible;
}

weft_device_t *wefti_place_of_mapping(const weft_share_t *share)
{
    weft_device_t *device;
    weft_cu_context_t context = NULL;
    if (wefti_device_of_uuid(share->uuid, &device))
        return device;
    if (wefti_cu.cuCtxGetCurrent(&context) == WEFT_CU_SUCCESS && context != NULL)
        return wefti_device_of_context(context, &device) == MPI_SUCCESS ? device : NULL;
    for (device = wefti_devices; device != NULL && device->is_dead; device = device->next)
        continue;
    return device;
}
