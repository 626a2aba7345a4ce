/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual memory management: reserved addresses, allocations, and mappings. */
#include "sim_vmm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct reservation {
    struct reservation *next;
    uintptr_t start;
    size_t bytes;
} reservation_t;

static reservation_t *reservations;

static bool is_whole(uint64_t number)
{
    return number != 0 && number % SIM_GRANULE == 0;
}

/* ---- addresses ---- */

static CUresult reserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wish)
{
    if (out == NULL || !is_whole(bytes) || (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t start = sim_space_take(bytes, alignment, wish);
    if (start == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    reservation_t *reservation = sim_alloc(sizeof(*reservation));
    *reservation = (reservation_t){reservations, start, bytes};
    reservations = reservation;
    *out = start;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : reserve(out, bytes, alignment, wish));
}

static CUresult free_addresses(CUdeviceptr start, size_t bytes)
{
    reservation_t **link = &reservations;
    while (*link != NULL && ((*link)->start != start || (*link)->bytes != bytes))
        link = &(*link)->next;
    reservation_t *reservation = *link;
    if (reservation == NULL || sim_range_overlaps(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *link = reservation->next;
    free(reservation);
    sim_space_give(start, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr start, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : free_addresses(start, bytes));
}

static const reservation_t *reservation_of(uintptr_t start, size_t bytes)
{
    const reservation_t *at = reservations;
    while (at != NULL && (start < at->start || start + bytes > at->start + at->bytes))
        at = at->next;
    return at;
}

static bool is_reserved(uintptr_t start, size_t bytes)
{
    return reservation_of(start, bytes) != NULL;
}

sim_extent_t sim_memory_reservation(const sim_range_t *range)
{
    const reservation_t *found = reservation_of(range->start, range->bytes);
    return (sim_extent_t){found->start, found->bytes};
}

/* ---- allocations ---- */

sim_memory_t *sim_memory_of(CUmemGenericAllocationHandle handle)
{
    sim_memory_t *memory = sim_object_find(SIM_MEMORY, (void *)(uintptr_t)handle);
    return memory == NULL || memory->handles == 0 ? NULL : memory;
}

static void release_if_unused(sim_memory_t *memory)
{
    if (memory->handles + memory->mappings > 0)
        return;
    if (memory->team != NULL)
        sim_team_release(memory->team);
    else if (memory->is_imported)
        sim_backing_release(memory->backing);
    else
        sim_memory_give_back(memory->device, memory->bytes, memory->backing);
    sim_object_release(memory);
}

static CUresult check_properties(const CUmemAllocationProp *properties, sim_device_t **device_out)
{
    if (properties == NULL || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    *device_out = sim_device(properties->location.id);
    if (*device_out == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    return sim_check_types(properties->requestedHandleTypes);
}

static sim_memory_t *create_handle(sim_backing_t *backing, sim_device_t *device,
                                   CUmemAllocationProp properties)
{
    sim_memory_t *memory = sim_object_create(SIM_MEMORY, sizeof(*memory));
    memory->handles = 1;
    memory->bytes = backing->bytes;
    memory->backing = backing;
    memory->device = device;
    memory->properties = properties;
    return memory;
}

sim_memory_t *sim_memory_of_team(sim_team_t *team, unsigned types)
{
    sim_memory_t *memory = sim_object_create(SIM_MEMORY, sizeof(*memory));
    memory->handles = 1;
    memory->bytes = sim_team_bytes(team);
    memory->team = team;
    memory->properties.requestedHandleTypes = types;
    return memory;
}

static CUresult create_allocation(CUmemGenericAllocationHandle *out, size_t bytes,
                                  const CUmemAllocationProp *properties)
{
    sim_device_t *device;
    CUresult result = check_properties(properties, &device);
    if (result == CUDA_SUCCESS && (out == NULL || !is_whole(bytes)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result == CUDA_SUCCESS)
        result = sim_memory_charge(device, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    sim_backing_t *backing = sim_backing_create(bytes);
    if (backing == NULL) {
        device->used -= bytes;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (uintptr_t)create_handle(backing, device, *properties);
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : create_allocation(out, bytes, properties));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = sim_begin(__func__);
    sim_memory_t *memory = sim_memory_of(handle);
    if (result == CUDA_SUCCESS && memory == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        memory->handles--;
        release_if_unused(memory);
    }
    return sim_end(result);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    CUresult result = sim_begin(__func__);
    const sim_range_t *range = sim_range_find((uintptr_t)address);
    if (result == CUDA_SUCCESS && (out == NULL || range == NULL || range->what != SIM_MAPPED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        range->memory->handles++;
        *out = (uintptr_t)range->memory;
    }
    return sim_end(result);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                CUmemGenericAllocationHandle handle)
{
    CUresult result = sim_begin(__func__);
    const sim_memory_t *memory = sim_memory_of(handle);
    if (result == CUDA_SUCCESS && (out == NULL || memory == NULL || memory->team != NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = memory->properties;
    if (result == CUDA_SUCCESS && memory->is_imported)
        out->requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE; /* as driver 580 has it */
    return sim_end(result);
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags flags)
{
    sim_device_t *device;
    CUresult result = sim_begin(__func__);
    (void)flags;
    if (result == CUDA_SUCCESS)
        result = check_properties(properties, &device);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = SIM_GRANULE;
    return sim_end(result);
}

/* ---- mappings ---- */

/* Only multimem accesses of kernels find memory there: that of the members. */
static sim_range_t range_of_team(uintptr_t start, size_t bytes)
{
    return (sim_range_t){.start = start,
                         .bytes = bytes,
                         .what = SIM_MULTICAST,
                         .device = CU_DEVICE_INVALID,
                         .device_index = -1};
}

static sim_range_t range_of_memory(uintptr_t start, size_t bytes, const sim_memory_t *memory)
{
    return (sim_range_t){.start = start,
                         .bytes = bytes,
                         .what = SIM_MAPPED,
                         .device = memory->device->ordinal,
                         .device_index = memory->device->index,
                         .backing = memory->backing};
}

static CUresult map_range(uintptr_t start, size_t bytes, size_t offset, sim_memory_t *memory)
{
    if (memory == NULL || offset != 0 || !is_whole(bytes) || bytes > memory->bytes ||
        start % SIM_GRANULE != 0 || !is_reserved(start, bytes) || sim_range_overlaps(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce_device(memory->device);
    memory->mappings++;
    if (memory->team != NULL)
        sim_team_wait(memory->team);
    else if (!sim_space_map(start, memory->backing, 0, bytes)) {
        memory->mappings--;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_range_t range =
        memory->team != NULL ? range_of_team(start, bytes) : range_of_memory(start, bytes, memory);
    range.memory = memory;
    sim_range_add(&range);
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr start, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : map_range(start, bytes, offset, sim_memory_of(handle)));
}

static bool is_mapping(const sim_range_t *range)
{
    return range != NULL && (range->what == SIM_MAPPED || range->what == SIM_MULTICAST);
}

/* Whether [start, start + bytes) is made of whole mappings. */
static bool is_made_of_mappings(uintptr_t start, size_t bytes)
{
    uintptr_t end = start + bytes;
    while (start < end) {
        const sim_range_t *range = sim_range_at(start);
        if (!is_mapping(range))
            return false;
        start += range->bytes;
    }
    return start == end;
}

/* Waits for the devices that may access the mappings. */
static void await_users(uintptr_t start, size_t bytes)
{
    uint64_t users = 0;
    for (uintptr_t end = start + bytes; start < end;) {
        const sim_range_t *range = sim_range_at(start);
        users |= range->readers | range->writers;
        start += range->bytes;
    }
    for (int ordinal = 0; ordinal < sim_device_count(); ordinal++) {
        if ((users >> ordinal & 1) != 0)
            sim_quiesce_device(sim_device(ordinal));
    }
}

static CUresult unmap_range(uintptr_t start, size_t bytes)
{
    if (bytes == 0 || !is_made_of_mappings(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    await_users(start, bytes);
    for (uintptr_t end = start + bytes; start < end;) {
        sim_range_t *range = sim_range_at(start);
        sim_memory_t *memory = range->memory;
        start += range->bytes;
        sim_space_unmap(range->start, range->bytes);
        sim_range_remove(range);
        memory->mappings--;
        release_if_unused(memory);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr start, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : unmap_range(start, bytes));
}

/* ---- rights ---- */

CUresult sim_check_access(const CUmemAccessDesc *access, int index)
{
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    const sim_device_t *device = sim_device(access->location.id);
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && !sim_are_peers(device->index, index))
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

void sim_set_access(uint64_t *readers, uint64_t *writers, const CUmemAccessDesc *access)
{
    uint64_t bit = (uint64_t)1 << access->location.id;
    *readers = access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? *readers & ~bit : *readers | bit;
    *writers =
        access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? *writers | bit : *writers & ~bit;
    sim_range_changed();
}

static CUresult check_range_access(const sim_range_t *range, const CUmemAccessDesc *access)
{
    if (range->memory->team == NULL)
        return sim_check_access(access, range->device_index);
    const sim_device_t *device = sim_device(access->location.id);
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return device != NULL && sim_team_has(range->memory->team, device->index)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult set_range(sim_range_t *range, const CUmemAccessDesc *list, size_t count)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = check_range_access(range, &list[i]);
        if (result == CUDA_SUCCESS)
            sim_set_access(&range->readers, &range->writers, &list[i]);
    }
    return result;
}

static CUresult set_access(uintptr_t start, size_t bytes, const CUmemAccessDesc *list, size_t count)
{
    if (list == NULL || count == 0 || bytes == 0 || !is_made_of_mappings(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count; i++)
        sim_quiesce_device(sim_device(list[i].location.id));
    for (uintptr_t end = start + bytes; start < end && result == CUDA_SUCCESS;) {
        sim_range_t *range = sim_range_at(start);
        result = set_range(range, list, count);
        start += range->bytes;
    }
    return result;
}

CUresult cuMemSetAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc *list, size_t count)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : set_access(start, bytes, list, count));
}

CUmemAccess_flags sim_get_access(uint64_t readers, uint64_t writers, int ordinal)
{
    uint64_t bit = (uint64_t)1 << ordinal;
    if ((writers & bit) != 0)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return (readers & bit) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

CUresult cuMemGetAccess(unsigned long long *out, const CUmemLocation *location, CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    const sim_range_t *range = sim_range_find(address);
    if (result == CUDA_SUCCESS && (out == NULL || location == NULL || !is_mapping(range)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS &&
        (location->type != CU_MEM_LOCATION_TYPE_DEVICE || sim_device(location->id) == NULL))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *out = sim_get_access(range->readers, range->writers, location->id);
    return sim_end(result);
}

/* ---- other processes ---- */

static sim_token_t token_of(const sim_memory_t *memory)
{
    sim_token_t token =
        memory->team != NULL
            ? sim_token_create(SIM_SHARED_TEAM, sim_team_fd(memory->team), -1)
            : sim_token_create(SIM_SHARED_HANDLE, memory->backing->fd, memory->device->index);
    token.bytes = memory->bytes;
    token.types = memory->properties.requestedHandleTypes;
    return token;
}

static CUresult export_handle(void *out, const sim_memory_t *memory, CUmemAllocationHandleType type)
{
    if (out == NULL || memory == NULL ||
        ((int)memory->properties.requestedHandleTypes & (int)type) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_token_t token = token_of(memory);
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        memcpy(out, &token, sizeof(token));
        return CUDA_SUCCESS;
    }
    int fd = memory->team != NULL
                 ? sim_trailer_export(sim_team_fd(memory->team), sim_team_table_bytes(), &token)
                 : sim_trailer_export(memory->backing->fd, memory->bytes, &token);
    if (fd == -1)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : export_handle(out, sim_memory_of(handle), type));
}

static CUresult import_team(CUmemGenericAllocationHandle *out, const sim_token_t *token, int fd)
{
    sim_team_t *team = sim_team_adopt(fd);
    if (team == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_memory_t *memory = sim_memory_of_team(team, token->types);
    memory->is_imported = true;
    *out = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

static CUresult import_memory(CUmemGenericAllocationHandle *out, const sim_token_t *token, int fd)
{
    sim_device_t *device = sim_token_device(token);
    if (device == NULL) {
        close(fd);
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = token->types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal}};
    sim_memory_t *memory = create_handle(sim_backing_adopt(fd, token->bytes), device, properties);
    memory->is_imported = true;
    *out = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

static CUresult import_handle(CUmemGenericAllocationHandle *out, void *given,
                              CUmemAllocationHandleType type)
{
    sim_token_t token;
    int fd;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_share_open(given, type, SIM_SHARED_TEAM, &token, &fd) == CUDA_SUCCESS)
        return import_team(out, &token, fd);
    CUresult result = sim_share_open(given, type, SIM_SHARED_HANDLE, &token, &fd);
    if (result == CUDA_SUCCESS)
        return import_memory(out, &token, fd);
    bool is_other_file =
        result == CUDA_ERROR_INVALID_VALUE && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return is_other_file ? CUDA_ERROR_UNKNOWN : result; /* as drivers 580 do */
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *given,
                                        CUmemAllocationHandleType type)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : import_handle(out, given, type));
}

uint64_t sim_memory_types(const sim_memory_t *memory)
{
    return memory->properties.requestedHandleTypes;
}

/* ---- not supported ---- */

CUresult cuMemGetHandleForAddressRange(void *out, CUdeviceptr start, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    (void)out, (void)start, (void)bytes, (void)type, (void)flags;
    return sim_end(result ? result : CUDA_ERROR_NOT_SUPPORTED);
}
