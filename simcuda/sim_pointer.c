/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of pointers. */
#include "sim.h"
#include "sim_stream.h"

#include <string.h>

/* The value of an attribute, and how many bytes of it are written. */
typedef struct answer {
    uint64_t value;
    size_t bytes; /* 0: this memory has no such attribute */
} answer_t;

static answer_t number(int value)
{
    return (answer_t){(uint64_t)(unsigned)value, sizeof(int)};
}

static answer_t word(uint64_t value)
{
    return (answer_t){value, sizeof(uint64_t)};
}

static int access_flags(const sim_range_t *range)
{
    sim_context_t *context;
    if (sim_current(&context) != CUDA_SUCCESS)
        return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
    if (sim_may_touch(context, (sim_area_t){range->start, 1, true}))
        return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
    bool reads = sim_may_touch(context, (sim_area_t){range->start, 1, false});
    return reads ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

/* Where the allocation behind a range begins, and its size: for a small one those of its block. */
static void mapping_of(const sim_range_t *range, uintptr_t *start, size_t *bytes)
{
    *start = range->block == NULL ? range->start : range->start - range->offset;
    *bytes = range->block == NULL ? range->bytes : range->backing->bytes;
}

/* The addresses that were set aside, of which a mapping may be a part. */
static sim_extent_t reservation_of(const sim_range_t *range)
{
    if (range->memory != NULL)
        return sim_memory_reservation(range);
    return (sim_extent_t){range->start, range->bytes};
}

/* CUmemAllocationHandleType bits. */
static uint64_t handle_types(const sim_range_t *range)
{
    if (range->memory != NULL)
        return sim_memory_types(range->memory);
    return range->pool == NULL ? 0 : sim_pool_types(range->pool);
}

static answer_t answer_range(const sim_range_t *range, CUpointer_attribute attribute)
{
    uintptr_t start;
    size_t bytes;
    mapping_of(range, &start, &bytes);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return word(reservation_of(range).start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return word(reservation_of(range).bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return word(start);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return word(bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return number(1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return word(handle_types(range));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return number(access_flags(range));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return word((uintptr_t)range->pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return word(range->id);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return number(range->what == SIM_DEVICE_MEMORY);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return number(0);
    }
    return (answer_t){0, 0};
}

static answer_t answer(const sim_range_t *range, CUpointer_attribute attribute, uintptr_t address)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return word((uintptr_t)range->context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return number(sim_is_host(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return word(address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return sim_is_host(range) || range->what == SIM_MANAGED ? word(address) : (answer_t){0, 0};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return number(range->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return word(range->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return number(range->what == SIM_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return number(range->device);
    }
    return answer_range(range, attribute);
}

static CUresult get_one(void *data, CUpointer_attribute attribute, uintptr_t address)
{
    const sim_range_t *range = sim_range_find(address);
    if (data == NULL || range == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    answer_t found = answer(range, attribute, address);
    if (found.bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &found.value, found.bytes);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : get_one(data, attribute, address));
}

/* cuPointerGetAttributes does not fail for memory that CUDA does not know. What the manual lists
 * becomes zero, and the device none; all else is not written. */
static answer_t answer_unknown(CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return word(0);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return number(0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return number(CU_DEVICE_INVALID);
    }
    return (answer_t){0, 0};
}

static void fill_in(void *data, CUpointer_attribute attribute, uintptr_t address)
{
    const sim_range_t *range = sim_range_find(address);
    if (range == NULL) {
        answer_t none = answer_unknown(attribute);
        memcpy(data, &none.value, none.bytes);
        return;
    }
    answer_t found = answer(range, attribute, address);
    memcpy(data, &found.value, found.bytes == 0 ? sizeof(uint64_t) : found.bytes);
}

static CUresult get_many(unsigned count, const CUpointer_attribute *attributes, void **data,
                         uintptr_t address)
{
    if (count == 0 || attributes == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (data[i] == NULL || (int)attributes[i] < 1 ||
            attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++)
        fill_in(data[i], attributes[i], address);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : get_many(count, attributes, data, address));
}

static CUresult set_one(const void *value, CUpointer_attribute attribute, uintptr_t address)
{
    sim_range_t *range = sim_range_find(address);
    if (value == NULL || range == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    if (range->what == SIM_MAPPED || range->what == SIM_MULTICAST)
        return CUDA_ERROR_NOT_SUPPORTED;
    range->sync_memops = *(const unsigned *)value != 0;
    if (sim_is_synchronous(range) && range->context != NULL)
        sim_await_early(range->context); /* "all pending synchronous memory operations" */
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : set_one(value, attribute, address));
}
