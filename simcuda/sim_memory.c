/* SPDX-License-Identifier: BSD-3-Clause */
/* cuMemAlloc and the calls that belong to it. Small allocations share blocks, as on real devices,
 * and another process that maps one maps the whole block. */
#include "sim.h"
#include "sim_bar.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE = 512, /* allocations begin at a multiple of this */
    SMALL_MAX = SIM_GRANULE / 2,
    FRESH = 0xa5 /* first content of small allocations: not zero, as programs may wrongly expect */
};

/* A block of the context's device, cut into allocations. */
struct sim_block {
    sim_block_t *next;
    sim_context_t *context;
    uintptr_t start;
    sim_backing_t *backing;
    sim_extents_t unused; /* offsets */
};

static sim_block_t *blocks;

/* Memory that was freed, but is mapped elsewhere. */
typedef struct remnant {
    struct remnant *next;
    sim_device_t *device;
    size_t bytes;
    int fd;
} remnant_t;

static remnant_t *remnants;

static void look_at_remnants(void)
{
    for (remnant_t **link = &remnants; *link != NULL;) {
        remnant_t *remnant = *link;
        if (sim_file_is_held(remnant->fd)) {
            link = &remnant->next;
            continue;
        }
        *link = remnant->next;
        remnant->device->used -= remnant->bytes;
        close(remnant->fd);
        free(remnant);
    }
}

void sim_memory_give_back(sim_device_t *device, size_t bytes, sim_backing_t *backing)
{
    if (sim_file_is_held(backing->fd)) {
        remnant_t *remnant = sim_alloc(sizeof(*remnant));
        *remnant = (remnant_t){remnants, device, bytes, fcntl(backing->fd, F_DUPFD_CLOEXEC, 0)};
        remnants = remnant;
    } else {
        device->used -= bytes;
    }
    sim_backing_release(backing);
}

CUresult sim_memory_charge(sim_device_t *device, size_t bytes)
{
    look_at_remnants();
    if (bytes > sim_options()->memory - device->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    device->used += bytes;
    return CUDA_SUCCESS;
}

/* Allocates addresses with memory behind them. */
static CUresult map_new(sim_device_t *device, size_t bytes, uintptr_t *start,
                        sim_backing_t **backing)
{
    CUresult result = sim_memory_charge(device, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    *backing = sim_backing_create(bytes);
    *start = *backing == NULL ? 0 : sim_space_take(bytes, SIM_GRANULE, 0);
    if (*start != 0 && sim_space_map(*start, *backing, 0, bytes))
        return CUDA_SUCCESS;
    if (*start != 0)
        sim_space_give(*start, bytes);
    sim_backing_release(*backing);
    device->used -= bytes;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void unmap_old(sim_device_t *device, uintptr_t start, size_t bytes, sim_backing_t *backing)
{
    sim_bar_revoke(start, bytes);
    sim_space_unmap(start, bytes);
    sim_space_give(start, bytes);
    sim_memory_give_back(device, bytes, backing);
}

/* ---- blocks ---- */

static size_t whole(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static CUresult create_block(sim_context_t *context, sim_block_t **out)
{
    sim_block_t *block = sim_alloc(sizeof(*block));
    CUresult result = map_new(context->device, SIM_GRANULE, &block->start, &block->backing);
    if (result != CUDA_SUCCESS) {
        free(block);
        return result;
    }
    block->context = context;
    block->next = blocks;
    blocks = block;
    sim_extents_give(&block->unused, 0, SIM_GRANULE);
    *out = block;
    return CUDA_SUCCESS;
}

static CUresult take_piece(sim_context_t *context, size_t bytes, sim_block_t **out,
                           uint64_t *offset)
{
    for (sim_block_t *block = blocks; block != NULL; block = block->next) {
        *out = block;
        if (block->context == context && sim_extents_take(&block->unused, bytes, PIECE, offset))
            return CUDA_SUCCESS;
    }
    CUresult result = create_block(context, out);
    if (result == CUDA_SUCCESS)
        sim_extents_take(&(*out)->unused, bytes, PIECE, offset);
    return result;
}

static void release_block(sim_block_t *block)
{
    sim_block_t **link = &blocks;
    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    unmap_old(block->context->device, block->start, SIM_GRANULE, block->backing);
    sim_extents_end(&block->unused);
    free(block);
}

/* ---- allocations ---- */

static CUresult place_small(sim_range_t *range)
{
    uint64_t offset;
    CUresult result =
        take_piece(range->context, whole(range->bytes, PIECE), &range->block, &offset);
    if (result != CUDA_SUCCESS)
        return result;
    range->offset = offset;
    range->start = range->block->start + offset;
    range->backing = range->block->backing;
    memset(sim_alias(range->start), FRESH, range->bytes);
    return CUDA_SUCCESS;
}

static CUresult alloc_device(size_t bytes, CUdeviceptr *out)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > sim_options()->memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_quiesce_device(context->device);
    sim_range_t range = {.bytes = bytes,
                         .what = SIM_DEVICE_MEMORY,
                         .context = context,
                         .device = context->device->ordinal,
                         .device_index = context->device->index};
    if (bytes <= SMALL_MAX)
        result = place_small(&range);
    else
        result = map_new(context->device, whole(bytes, SIM_GRANULE), &range.start, &range.backing);
    if (result == CUDA_SUCCESS)
        *out = sim_range_add(&range)->start;
    return result;
}

static void free_device(sim_range_t *range)
{
    sim_block_t *block = range->block;
    if (block == NULL)
        unmap_old(range->context->device, range->start, whole(range->bytes, SIM_GRANULE),
                  range->backing);
    else
        sim_extents_give(&block->unused, range->offset, whole(range->bytes, PIECE));
    sim_range_remove(range);
    if (block != NULL && block->unused.count == 1 && block->unused.list[0].bytes == SIM_GRANULE)
        release_block(block);
}

/* Waits for the work that is queued in the context, as real drivers do in practice; but not for
 * memory of pools (Programming Guide, "Stream Ordered Memory Allocator", about cudaFree). */
static CUresult free_at(CUdeviceptr address)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS || address == 0)
        return result;
    const sim_range_t *range = sim_range_at(address);
    if (range == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (range->what != SIM_POOLED)
        sim_quiesce(range->context == NULL ? context : range->context);
    return sim_memory_free(address);
}

CUresult sim_memory_free(uintptr_t address)
{
    sim_range_t *range = sim_range_at(address);
    if (range == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (range->what) {
    case SIM_DEVICE_MEMORY:
        free_device(range);
        return CUDA_SUCCESS;
    case SIM_MANAGED:
        sim_managed_free(range);
        return CUDA_SUCCESS;
    case SIM_POOLED:
        return sim_pooled_free(range);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static void end_if_of(sim_range_t *range, void *context)
{
    if (range->context != context)
        return;
    if (sim_is_host(range))
        sim_host_free(range);
    else if (range->what == SIM_IMPORTED)
        sim_import_close(range);
    else if (range->what != SIM_MAPPED)
        sim_memory_free(range->start);
}

void sim_memory_end(const sim_context_t *context)
{
    sim_range_each(end_if_of, (void *)context);
}

/* ---- entry points ---- */

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : alloc_device(bytes, out));
}

static CUresult alloc_pitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height)
{
    size_t row = whole(width, PIECE);
    if (pitch == NULL || height == 0 || row > sim_options()->memory / height)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = alloc_device(row * height, out);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

CUresult cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                         unsigned element)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && element != 4 && element != 8 && element != 16)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : alloc_pitch(out, pitch, width, height));
}

CUresult cuMemFree(CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : free_at(address));
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    sim_context_t *context;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && (free_bytes == NULL || total == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_current(&context);
    if (result == CUDA_SUCCESS) {
        look_at_remnants();
        *total = sim_options()->memory;
        *free_bytes = *total - context->device->used;
    }
    return sim_end(result);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    sim_context_t *context;
    CUresult result = sim_begin(__func__);
    const sim_range_t *range = sim_range_find(address);
    if (result == CUDA_SUCCESS)
        result = sim_current(&context);
    if (result == CUDA_SUCCESS && range == NULL)
        result = CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS && base != NULL)
        *base = range->start;
    if (result == CUDA_SUCCESS && bytes != NULL)
        *bytes = range->bytes;
    return sim_end(result);
}
