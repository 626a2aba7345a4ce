/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the host may touch: pinned, registered, managed. */
#include "sim.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Maps new memory for `range`, sets its start, and enters a copy of it. */
static CUresult map_host(sim_range_t *range)
{
    void *memory = mmap(NULL, whole_pages(range->bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->start = (uintptr_t)memory;
    sim_range_add(range);
    return CUDA_SUCCESS;
}

static void unmap_host(sim_range_t *range)
{
    munmap((void *)range->start, whole_pages(range->bytes));
    sim_range_remove(range);
}

void sim_managed_free(sim_range_t *range)
{
    unmap_host(range);
}

void sim_host_free(sim_range_t *range)
{
    if (range->what == SIM_PINNED)
        unmap_host(range);
    else
        sim_range_remove(range);
}

/* ---- pinned ---- */

static CUresult alloc_host(void **out, size_t bytes, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || bytes == 0 || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce_device(context->device);
    sim_range_t range = {.bytes = bytes,
                         .what = SIM_PINNED,
                         .context = context,
                         .device_index = -1,
                         .device = context->device->ordinal,
                         .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP};
    result = map_host(&range);
    if (result == CUDA_SUCCESS)
        *out = (void *)range.start;
    return result;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : alloc_host(out, bytes, flags));
}

CUresult cuMemAllocHost(void **out, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : alloc_host(out, bytes, 0));
}

static CUresult free_host(void *memory)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS || memory == NULL)
        return result;
    sim_range_t *range = sim_range_at((uintptr_t)memory);
    if (range == NULL || range->what != SIM_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce(range->context);
    range = sim_range_at((uintptr_t)memory);
    if (range != NULL)
        sim_host_free(range);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : free_host(memory));
}

/* ---- registered ---- */

/* Whether all pages of [start, start + bytes) are mapped. */
static bool is_mapped(uintptr_t start, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = start + bytes;
    unsigned char seen[1024];
    for (uintptr_t at = start / page * page; at < end; at += sizeof(seen) * page) {
        size_t length = end - at < sizeof(seen) * page ? end - at : sizeof(seen) * page;
        if (mincore((void *)at, length, seen) != 0)
            return false;
    }
    return true;
}

static CUresult register_host(void *memory, size_t bytes, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    uintptr_t start = (uintptr_t)memory;
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (memory == NULL || bytes == 0 || (flags & ~known) != 0 || sim_space_holds(start) ||
        !is_mapped(start, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_range_overlaps(start, bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    sim_quiesce_device(context->device);
    sim_range_add(&(sim_range_t){.start = start,
                                 .bytes = bytes,
                                 .what = SIM_REGISTERED,
                                 .context = context,
                                 .device = context->device->ordinal,
                                 .device_index = -1,
                                 .flags = flags});
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *memory, size_t bytes, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : register_host(memory, bytes, flags));
}

static CUresult unregister_host(void *memory)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    sim_range_t *range = sim_range_at((uintptr_t)memory);
    if (range == NULL || range->what != SIM_REGISTERED)
        return memory == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    sim_quiesce(range->context);
    range = sim_range_at((uintptr_t)memory);
    if (range != NULL)
        sim_host_free(range);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *memory)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : unregister_host(memory));
}

static const sim_range_t *find_host(const void *memory)
{
    const sim_range_t *range = sim_range_find((uintptr_t)memory);
    return range != NULL && sim_is_host(range) ? range : NULL;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *memory, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && (out == NULL || flags != 0 || find_host(memory) == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = (CUdeviceptr)memory;
    return sim_end(result);
}

CUresult cuMemHostGetFlags(unsigned *out, void *memory)
{
    CUresult result = sim_begin(__func__);
    const sim_range_t *range = find_host(memory);
    if (result == CUDA_SUCCESS && (out == NULL || range == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = range->flags;
    return sim_end(result);
}

/* ---- managed ---- */

static CUresult alloc_managed(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce_device(context->device);
    sim_range_t range = {.bytes = bytes,
                         .what = SIM_MANAGED,
                         .context = context,
                         .flags = flags,
                         .device = context->device->ordinal,
                         .device_index = context->device->index};
    result = map_host(&range);
    if (result == CUDA_SUCCESS)
        *out = range.start;
    return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : alloc_managed(out, bytes, flags));
}

static CUresult check_managed(CUdeviceptr address, size_t bytes)
{
    const sim_range_t *range = sim_range_find(address);
    if (range == NULL || range->what != SIM_MANAGED ||
        address + bytes > range->start + range->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The location of managed memory makes no difference here. */
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                               unsigned flags, CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_begin(__func__);
    (void)location;
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_stream_of(handle, &stream);
    return sim_end(result ? result : check_managed(address, bytes));
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                        CUmemLocation location)
{
    CUresult result = sim_begin(__func__);
    (void)advice, (void)location;
    return sim_end(result ? result : check_managed(address, bytes));
}
