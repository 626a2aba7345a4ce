/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast memory: objects, the devices that belong to them, and memory bound to them. Objects are
 * mapped and shared like allocations of virtual memory. */
#include "sim_stream.h"
#include "sim_vmm.h"

static bool is_whole(uint64_t number)
{
    return number % SIM_GRANULE == 0;
}

static CUresult check_properties(const CUmulticastObjectProp *properties)
{
    if (properties == NULL || properties->flags != 0 || properties->numDevices == 0 ||
        properties->numDevices > SIM_DEVICES_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_options()->multicast == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_check_types(properties->handleTypes);
}

static CUresult create_object(CUmemGenericAllocationHandle *out,
                              const CUmulticastObjectProp *properties)
{
    CUresult result = check_properties(properties);
    if (result == CUDA_SUCCESS &&
        (out == NULL || properties->size == 0 || !is_whole(properties->size)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    sim_team_t *team = sim_team_create(properties->numDevices, properties->size);
    if (team == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (uintptr_t)sim_memory_of_team(team, (unsigned)properties->handleTypes);
    return CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *out,
                           const CUmulticastObjectProp *properties)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : create_object(out, properties));
}

CUresult cuMulticastGetGranularity(size_t *out, const CUmulticastObjectProp *properties,
                                   CUmulticastGranularity_flags flags)
{
    CUresult result = sim_begin(__func__);
    (void)flags;
    if (result == CUDA_SUCCESS)
        result = check_properties(properties);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = SIM_GRANULE;
    return sim_end(result);
}

/* The object that a handle names, or NULL. */
static sim_memory_t *object_of(CUmemGenericAllocationHandle handle)
{
    sim_memory_t *object = sim_memory_of(handle);
    return object == NULL || object->team == NULL ? NULL : object;
}

static CUresult add_device(const sim_memory_t *object, int ordinal)
{
    const sim_device_t *device = sim_device(ordinal);
    if (object == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    return sim_options()->multicast == 0 ? CUDA_ERROR_NOT_SUPPORTED
                                         : sim_team_add(object->team, device->index);
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : add_device(object_of(handle), ordinal));
}

/* ---- bindings ---- */

typedef struct wish {
    const sim_memory_t *object, *memory;
    uint64_t offset, memory_offset, bytes;
} wish_t;

/* An object that can be shared accepts only memory that can be shared. */
static CUresult bind_part(const wish_t *wish)
{
    const sim_memory_t *object = wish->object, *memory = wish->memory;
    if (object == NULL || memory == NULL || memory->team != NULL || wish->bytes == 0 ||
        !is_whole(wish->bytes) || !is_whole(wish->offset) || !is_whole(wish->memory_offset) ||
        wish->offset + wish->bytes > object->bytes ||
        wish->memory_offset + wish->bytes > memory->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    bool is_shareable = object->is_imported || object->properties.requestedHandleTypes != 0;
    if (is_shareable && memory->properties.requestedHandleTypes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_team_wait(object->team);
    if (!sim_team_has(object->team, memory->device->index))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_quiesce_device(memory->device);
    sim_binding_t binding = {.index = memory->device->index,
                             .offset = wish->offset,
                             .bytes = wish->bytes,
                             .memory_offset = wish->memory_offset};
    return sim_team_bind(object->team, &binding, memory->backing->fd);
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                            unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    wish_t wish = {object_of(handle), sim_memory_of(memory), offset, memory_offset, bytes};
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : bind_part(&wish));
}

/* The address must be a whole one of virtual memory: allocations of pools are not supported. */
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset,
                             CUdeviceptr address, size_t bytes, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    const sim_range_t *range = sim_range_find(address);
    if (result == CUDA_SUCCESS &&
        (flags != 0 || range == NULL || range->what != SIM_MAPPED || !is_whole(address)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    wish_t wish = {object_of(handle), range->memory, offset, address - range->start, bytes};
    return sim_end(bind_part(&wish));
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice ordinal, size_t offset,
                           size_t bytes)
{
    CUresult result = sim_begin(__func__);
    const sim_memory_t *object = object_of(handle);
    const sim_device_t *device = sim_device(ordinal);
    if (result == CUDA_SUCCESS && object == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && device == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    sim_quiesce_device(device);
    return sim_end(sim_team_unbind(
        object->team, &(sim_binding_t){.index = device->index, .offset = offset, .bytes = bytes}));
}
