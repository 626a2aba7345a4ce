/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools themselves: create, destroy, attributes, rights, other processes. */
#include "sim_pool.h"
#include "sim_share.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* cuMemPoolExportPointer writes a token: which piece of which pool the pointer names. */
_Static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(sim_token_t),
               "a token is as large as a pointer's data");

sim_pool_t *sim_pool_of(CUmemoryPool handle)
{
    return sim_object_find(SIM_POOL, handle);
}

sim_pool_t *sim_pool_create(sim_device_t *device, sim_backing_t *backing, unsigned types)
{
    if (backing == NULL)
        return NULL;
    sim_pool_t *pool = sim_object_create(SIM_POOL, sizeof(*pool));
    pool->references = 1;
    pool->device = device;
    pool->backing = backing;
    pool->types = types;
    pool->readers = pool->writers = (uint64_t)1 << device->ordinal;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    sim_extents_give(&pool->unused, 0, backing->bytes);
    return pool;
}

void sim_pool_release(sim_pool_t *pool)
{
    if (--pool->references > 0)
        return;
    sim_backing_release(pool->backing);
    sim_extents_end(&pool->unused);
    sim_object_release(pool);
}

uint64_t sim_pool_types(const sim_pool_t *pool)
{
    return pool->types;
}

/* A file in memory takes no room before it is written to, so a pool may be as large as
 * its device. */
static size_t pool_bytes(size_t asked)
{
    size_t bytes = asked == 0 || asked > sim_options()->memory ? sim_options()->memory : asked;
    return (bytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE;
}

static CUresult default_pool(sim_device_t *device, sim_pool_t **out)
{
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (device->default_pool == NULL) {
        device->default_pool = sim_pool_create(device, sim_backing_create(pool_bytes(0)), 0);
        if (device->default_pool == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        device->default_pool->is_default = true;
    }
    *out = device->default_pool;
    return CUDA_SUCCESS;
}

CUresult sim_pool_current(sim_device_t *device, sim_pool_t **out)
{
    if (device != NULL && device->pool != NULL) {
        *out = device->pool;
        return CUDA_SUCCESS;
    }
    return default_pool(device, out);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : default_pool(sim_device(ordinal), (sim_pool_t **)out));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : sim_pool_current(sim_device(ordinal), (sim_pool_t **)out));
}

static CUresult choose_pool(sim_device_t *device, sim_pool_t *pool)
{
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool == NULL || pool->device != device || pool->is_imported)
        return CUDA_ERROR_INVALID_VALUE;
    device->pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : choose_pool(sim_device(ordinal), sim_pool_of(pool)));
}

/* ---- create and destroy ---- */

static CUresult create_pool(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    if (out == NULL || properties == NULL || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    sim_device_t *device = sim_device(properties->location.id);
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = sim_check_types(properties->handleTypes);
    if (result != CUDA_SUCCESS)
        return result;
    sim_pool_t *pool = sim_pool_create(device, sim_backing_create(pool_bytes(properties->maxSize)),
                                       properties->handleTypes);
    if (pool == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : create_pool(out, properties));
}

/* Allocations keep the pool in memory until they are freed; a device that uses the pool goes back
 * to its default pool. */
CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    CUresult result = sim_begin(__func__);
    sim_pool_t *pool = sim_pool_of(handle);
    if (result == CUDA_SUCCESS && (pool == NULL || pool->is_default))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        if (pool->device->pool == pool)
            pool->device->pool = NULL;
        sim_pool_release(pool);
    }
    return sim_end(result);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    (void)bytes;
    if (result == CUDA_SUCCESS && sim_pool_of(handle) == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result);
}

/* ---- attributes ---- */

/* The 64-bit attribute of a pool; NULL: there is none of that number. Freed memory is given back at
 * once, so used and reserved bytes are the same. */
static uint64_t *wide_attribute(sim_pool_t *pool, CUmemPool_attribute attribute)
{
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high;
    }
    return NULL;
}

static int *reuse_attribute(sim_pool_t *pool, CUmemPool_attribute attribute)
{
    int index = (int)attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
    return index >= 0 && index < 3 ? &pool->reuse[index] : NULL;
}

static CUresult get_attribute(sim_pool_t *pool, CUmemPool_attribute attribute, void *out)
{
    if (pool == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const uint64_t *wide = wide_attribute(pool, attribute);
    const int *reuse = reuse_attribute(pool, attribute);
    if (wide == NULL && reuse == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (wide != NULL)
        *(cuuint64_t *)out = *wide;
    else
        *(int *)out = *reuse;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *out)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : get_attribute(sim_pool_of(pool), attribute, out));
}

/* The two high-water marks may only be set to zero, the current sizes not at all. */
static CUresult set_attribute(sim_pool_t *pool, CUmemPool_attribute attribute, const void *value)
{
    if (pool == NULL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t *wide = wide_attribute(pool, attribute);
    int *reuse = reuse_attribute(pool, attribute);
    if (reuse != NULL) {
        *reuse = *(const int *)value;
        return CUDA_SUCCESS;
    }
    if (wide == NULL || wide == &pool->used ||
        (wide == &pool->used_high && *(const cuuint64_t *)value != 0))
        return CUDA_ERROR_INVALID_VALUE;
    *wide = *(const cuuint64_t *)value;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : set_attribute(sim_pool_of(pool), attribute, value));
}

/* ---- rights ---- */

static void follow_pool(sim_range_t *range, void *data)
{
    const sim_pool_t *pool = data;
    if (range->pool != pool)
        return;
    range->readers = pool->readers;
    range->writers = pool->writers;
}

static CUresult set_access(sim_pool_t *pool, const CUmemAccessDesc *list, size_t count)
{
    if (pool == NULL || list == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = sim_check_access(&list[i], pool->device->index);
        if (result == CUDA_SUCCESS && list[i].location.id == pool->device->ordinal &&
            list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            result = CUDA_ERROR_INVALID_DEVICE; /* its own device always has all rights */
        if (result != CUDA_SUCCESS)
            return result;
    }
    for (size_t i = 0; i < count; i++)
        sim_set_access(&pool->readers, &pool->writers, &list[i]);
    sim_range_each(follow_pool, pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t count)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : set_access(sim_pool_of(pool), list, count));
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *out, CUmemoryPool handle, CUmemLocation *location)
{
    CUresult result = sim_begin(__func__);
    const sim_pool_t *pool = sim_pool_of(handle);
    if (result == CUDA_SUCCESS && (out == NULL || pool == NULL || location == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS &&
        (location->type != CU_MEM_LOCATION_TYPE_DEVICE || sim_device(location->id) == NULL))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *out = sim_get_access(pool->readers, pool->writers, location->id);
    return sim_end(result);
}

/* ---- other processes ---- */

static CUresult export_pool(void *out, const sim_pool_t *pool, CUmemAllocationHandleType type)
{
    if (out == NULL || pool == NULL || pool->is_imported || (pool->types & (unsigned)type) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_token_t token = sim_token_create(SIM_SHARED_POOL, pool->backing->fd, pool->device->index);
    token.bytes = pool->backing->bytes;
    token.types = pool->types;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        memcpy(out, &token, sizeof(token));
        return CUDA_SUCCESS;
    }
    int fd = sim_trailer_export(pool->backing->fd, pool->backing->bytes, &token);
    if (fd == -1)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : export_pool(out, sim_pool_of(pool), type));
}

static CUresult import_pool(CUmemoryPool *out, void *given, CUmemAllocationHandleType type)
{
    sim_token_t token;
    int fd;
    CUresult result = out == NULL ? CUDA_ERROR_INVALID_VALUE
                                  : sim_share_open(given, type, SIM_SHARED_POOL, &token, &fd);
    if (result != CUDA_SUCCESS)
        return result;
    sim_device_t *device = sim_token_device(&token);
    if (device == NULL) {
        close(fd);
        return CUDA_ERROR_INVALID_DEVICE;
    }
    sim_pool_t *pool = sim_pool_create(device, sim_backing_adopt(fd, token.bytes), token.types);
    pool->is_imported = true;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *given,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : import_pool(out, given, type));
}

static CUresult export_pointer(CUmemPoolPtrExportData *out, CUdeviceptr address)
{
    const sim_range_t *range = sim_range_at(address);
    if (out == NULL || range == NULL || range->what != SIM_POOLED || range->pool->types == 0 ||
        range->pool->is_imported)
        return CUDA_ERROR_INVALID_VALUE;
    sim_token_t token =
        sim_token_create(SIM_SHARED_POINTER, range->pool->backing->fd, range->device_index);
    token.bytes = range->bytes;
    token.offset = range->offset;
    memcpy(out, &token, sizeof(token));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : export_pointer(out, address));
}

static CUresult import_pointer(CUdeviceptr *out, sim_pool_t *pool,
                               const CUmemPoolPtrExportData *data)
{
    sim_token_t token;
    if (out == NULL || pool == NULL || data == NULL || !pool->is_imported)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&token, data, sizeof(token));
    sim_token_t own = sim_token_create(SIM_SHARED_POINTER, pool->backing->fd, pool->device->index);
    if (token.kind != SIM_SHARED_POINTER || token.inode != own.inode)
        return CUDA_ERROR_INVALID_VALUE;
    sim_range_t *range = sim_pooled_add(pool, token.offset, token.bytes);
    if (range == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_pooled_map(range);
    *out = range->start;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : import_pointer(out, sim_pool_of(pool), data));
}
