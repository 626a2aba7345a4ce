/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/mapping_handles.h"

#include "cuda/cuda_segments.h"
#include "runtime/fd_mail.h"
#include "mpi.h"

#include <string.h>
#include <unistd.h>

enum { POOLS_MAX = 64 };

typedef struct pool {
    uint32_t owner;
    uint64_t ticket; /* of the descriptor */
    weft_device_t *device;
    weft_cu_pool_t pool;
} pool_t;

static pool_t pools[POOLS_MAX];
static int pool_count;

static weft_cu_result_t mapping_open_legacy(const weft_share_t *share, const weft_device_t *device,
                                            weft_cu_address_t *out)
{
    weft_cu_ipc_handle_t handle;
    (void)device;
    memcpy(handle.bytes, share->handle, sizeof(handle.bytes));
    return wefti_cu.cuIpcOpenMemHandle(out, handle, WEFT_CU_IPC_LAZY_PEER_ACCESS);
}

static void mapping_close_legacy(weft_cu_address_t address, size_t bytes)
{
    (void)bytes;
    wefti_cu.cuIpcCloseMemHandle(address);
}

weft_cu_result_t wefti_fetch_fd(int owner, uint64_t ticket, int *out)
{
    weft_fd_answer_t answer = weft_fd_fetch(owner, ticket, out);
    return answer == WEFT_FD_HERE      ? WEFT_CU_SUCCESS
           : answer == WEFT_FD_AWAITED ? WEFT_CU_NOT_READY
                                       : WEFT_NO_DESCRIPTOR;
}

weft_cu_access_t wefti_access_by(const weft_device_t *device)
{
    return (weft_cu_access_t){{WEFT_CU_LOCATION_DEVICE, device->number}, WEFT_CU_ACCESS_READWRITE};
}

weft_cu_result_t wefti_map_allocation(weft_cu_allocation_t allocation, size_t bytes,
                                      size_t alignment, const weft_device_t *device,
                                      weft_cu_address_t *out)
{
    weft_cu_access_t access = wefti_access_by(device);
    weft_cu_address_t address;
    weft_cu_result_t result = wefti_cu.cuMemAddressReserve(&address, bytes, alignment, 0, 0);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemMap(address, bytes, 0, allocation, 0);
    if (result == WEFT_CU_SUCCESS) {
        result = wefti_cu.cuMemSetAccess(address, bytes, &access, 1);
        if (result == WEFT_CU_SUCCESS) {
            *out = address;
            return result;
        }
        wefti_cu.cuMemUnmap(address, bytes);
    }
    wefti_cu.cuMemAddressFree(address, bytes);
    return result;
}

/* `handle` is what cuMemImportFromShareableHandle takes. The mapping keeps the allocation alive. */
static weft_cu_result_t import_allocation(const weft_share_t *share, void *handle, int type,
                                          const weft_device_t *device, weft_cu_address_t *out)
{
    weft_cu_allocation_t allocation;
    weft_cu_result_t result = wefti_cu.cuMemImportFromShareableHandle(&allocation, handle, type);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_map_allocation(allocation, share->bytes, 0, device, out);
    wefti_cu.cuMemRelease(allocation);
    return result;
}

static weft_cu_result_t mapping_open_fd(const weft_share_t *share, const weft_device_t *device,
                                        weft_cu_address_t *out)
{
    int fd;
    weft_cu_result_t result = wefti_fetch_fd((int)share->owner, share->ticket, &fd);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = import_allocation(share, (void *)(intptr_t)fd, WEFT_CU_HANDLE_POSIX_FD, device, out);
    close(fd);
    return result;
}

static weft_cu_result_t mapping_open_fabric(const weft_share_t *share, const weft_device_t *device,
                                            weft_cu_address_t *out)
{
    uint8_t handle[sizeof(share->handle)];
    memcpy(handle, share->handle, sizeof(handle));
    return import_allocation(share, handle, WEFT_CU_HANDLE_FABRIC, device, out);
}

void wefti_unmap_allocation(weft_cu_address_t address, size_t bytes)
{
    wefti_cu.cuMemUnmap(address, bytes);
    wefti_cu.cuMemAddressFree(address, bytes);
}

static weft_cu_result_t import_pool(const weft_share_t *share, weft_cu_pool_t *out)
{
    int fd;
    weft_cu_result_t result = wefti_fetch_fd((int)share->owner, share->ticket, &fd);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemPoolImportFromShareableHandle(out, (void *)(intptr_t)fd,
                                                         WEFT_CU_HANDLE_POSIX_FD, 0);
    close(fd);
    return result;
}

static weft_cu_result_t find_pool(const weft_share_t *share, weft_device_t *device,
                                  weft_cu_pool_t *out)
{
    weft_cu_access_t access = wefti_access_by(device);
    for (int i = 0; i < pool_count; i++) {
        if (pools[i].owner == share->owner && pools[i].ticket == share->ticket &&
            pools[i].device == device) {
            *out = pools[i].pool;
            return WEFT_CU_SUCCESS;
        }
    }
    if (pool_count == POOLS_MAX)
        return WEFT_CU_OUT_OF_MEMORY;
    weft_cu_result_t result = import_pool(share, out);
    if (result != WEFT_CU_SUCCESS)
        return result;
    wefti_cu.cuMemPoolSetAccess(*out, &access, 1);
    pools[pool_count++] = (pool_t){share->owner, share->ticket, device, *out};
    return result;
}

static weft_cu_result_t mapping_open_in_pool(const weft_share_t *share, const weft_device_t *device,
                                             weft_cu_address_t *out)
{
    weft_cu_pool_t pool;
    weft_cu_ipc_handle_t place;
    memcpy(place.bytes, share->handle, sizeof(place.bytes));
    weft_cu_result_t result = find_pool(share, (weft_device_t *)device, &pool);
    return result == WEFT_CU_SUCCESS ? wefti_cu.cuMemPoolImportPointer(out, pool, &place) : result;
}

/* For memory of pools cuMemFree does not wait for anything. */
static void mapping_close_in_pool(weft_cu_address_t address, size_t bytes)
{
    (void)bytes;
    wefti_cu.cuMemFree(address);
}

static const weft_handle_ops_t handles[] = {
    [WEFT_HANDLE_LEGACY] = {"cuIpcOpenMemHandle", mapping_open_legacy, mapping_close_legacy, true},
    [WEFT_HANDLE_FD] = {"cuMemImportFromShareableHandle", mapping_open_fd, wefti_unmap_allocation,
                        true},
    [WEFT_HANDLE_FABRIC] = {"cuMemImportFromShareableHandle", mapping_open_fabric,
                            wefti_unmap_allocation, true},
    [WEFT_HANDLE_POOL] = {"cuMemPoolImportPointer", mapping_open_in_pool, mapping_close_in_pool,
                          false},
    [WEFT_HANDLE_SEGMENTS] = {"cuMemImportFromShareableHandle", wefti_segments_map,
                              wefti_segments_unmap, true},
};

const weft_handle_ops_t *wefti_handle_of(const weft_share_t *share)
{
    return share->kind < sizeof(handles) / sizeof(handles[0]) && handles[share->kind].open != NULL
               ? &handles[share->kind]
               : NULL;
}

void wefti_mapped_pools_close(void)
{
    for (weft_visit_t visit; pool_count > 0;) {
        const pool_t *pool = &pools[--pool_count];
        if (pool->device->is_dead || wefti_device_enter(pool->device, &visit) != MPI_SUCCESS)
            continue;
        wefti_cu.cuMemPoolDestroy(pool->pool);
        wefti_device_leave(&visit);
    }
}
