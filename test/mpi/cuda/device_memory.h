/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for the tests of device memory: a device for each rank, memory of all kinds, and copies
 * between it and the host. They call CUDA's driver, simulated or real.
 */
#ifndef TEST_MPI_CUDA_DEVICE_MEMORY_H
#define TEST_MPI_CUDA_DEVICE_MEMORY_H

#include <cuda.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum memory_kind {
    HOST,
    PINNED,
    DEVICE,
    MANAGED,
    POOL,        /* from the device's default pool, without handles */
    SHARED_POOL, /* from a pool with handles */
    VMM,         /* cuMemCreate without a handle */
    SHARED_VMM,  /* cuMemCreate with one */
    MEMORY_KINDS
} memory_kind_t;

static const char *const memory_names[MEMORY_KINDS] = {
    "host", "pinned", "device", "managed", "pool", "shared-pool", "vmm", "shared-vmm"};

/* Ends the program if no kind has this name. */
static inline memory_kind_t memory_kind_named(const char *name)
{
    for (int i = 0; i < MEMORY_KINDS; i++) {
        if (strcmp(name, memory_names[i]) == 0)
            return (memory_kind_t)i;
    }
    fprintf(stderr, "no kind of memory is called %s\n", name);
    exit(2);
}

typedef struct memory {
    memory_kind_t kind;
    void *at;
    size_t bytes; /* the allocated size: rounded up for VMM */
    CUmemGenericAllocationHandle handle;
} memory_t;

static CUdevice memory_device;
static CUcontext memory_context;
static CUmemoryPool memory_pool;

#define CU(call) cu_check(call, #call, __FILE__, __LINE__)

static inline void cu_check(CUresult result, const char *call, const char *file, int line)
{
    const char *name = "";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, name);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Choose the device of this rank, and make its primary context current; after MPI_Init or
 * before. */
static inline void memory_begin(int rank)
{
    int count;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
    CU(cuDeviceGet(&memory_device, rank % count));
    CU(cuDevicePrimaryCtxRetain(&memory_context, memory_device));
    CU(cuCtxSetCurrent(memory_context));
}

static inline void memory_end(void)
{
    if (memory_pool != NULL)
        CU(cuMemPoolDestroy(memory_pool));
    CU(cuDevicePrimaryCtxRelease(memory_device));
}

static inline CUmemoryPool shared_pool(void)
{
    if (memory_pool == NULL) {
        CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, memory_device}};
        CU(cuMemPoolCreate(&memory_pool, &props));
    }
    return memory_pool;
}

static inline CUdeviceptr take_vmm(memory_t *memory)
{
    CUdeviceptr at;
    size_t unit;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, memory_device}};
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (memory->kind == SHARED_VMM)
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    memory->bytes = (memory->bytes + unit - 1) / unit * unit;
    CU(cuMemCreate(&memory->handle, memory->bytes, &prop, 0));
    CU(cuMemAddressReserve(&at, memory->bytes, 0, 0, 0));
    CU(cuMemMap(at, memory->bytes, 0, memory->handle, 0));
    CU(cuMemSetAccess(at, memory->bytes, &access, 1));
    return at;
}

static inline memory_t memory_take(memory_kind_t kind, size_t bytes)
{
    memory_t memory = {kind, NULL, bytes == 0 ? 1 : bytes, 0};
    CUdeviceptr at = 0;
    switch (kind) {
    case HOST:
        memory.at = malloc(memory.bytes);
        return memory;
    case PINNED:
        CU(cuMemHostAlloc(&memory.at, memory.bytes, CU_MEMHOSTALLOC_PORTABLE));
        return memory;
    case DEVICE:
        CU(cuMemAlloc(&at, memory.bytes));
        break;
    case MANAGED:
        CU(cuMemAllocManaged(&at, memory.bytes, CU_MEM_ATTACH_GLOBAL));
        break;
    case POOL:
        CU(cuMemAllocAsync(&at, memory.bytes, NULL));
        break;
    case SHARED_POOL:
        CU(cuMemAllocFromPoolAsync(&at, memory.bytes, shared_pool(), NULL));
        break;
    default:
        at = take_vmm(&memory);
    }
    CU(cuCtxSynchronize());
    memory.at = (void *)at;
    return memory;
}

static inline void memory_give(memory_t *memory)
{
    CUdeviceptr at = (CUdeviceptr)memory->at;
    switch (memory->kind) {
    case HOST:
        free(memory->at);
        return;
    case PINNED:
        CU(cuMemFreeHost(memory->at));
        return;
    case POOL:
    case SHARED_POOL:
        CU(cuMemFreeAsync(at, NULL));
        CU(cuCtxSynchronize());
        return;
    case VMM:
    case SHARED_VMM:
        CU(cuMemUnmap(at, memory->bytes));
        CU(cuMemAddressFree(at, memory->bytes));
        CU(cuMemRelease(memory->handle));
        return;
    default:
        CU(cuMemFree(at));
    }
}

/* Copies between any memory and host memory; complete when they return. */
static inline void memory_put(void *to, const void *host, size_t bytes)
{
    if (bytes > 0)
        CU(cuMemcpy((CUdeviceptr)to, (CUdeviceptr)host, bytes));
    CU(cuCtxSynchronize());
}

static inline void memory_get(void *host, const void *from, size_t bytes)
{
    if (bytes > 0)
        CU(cuMemcpy((CUdeviceptr)host, (CUdeviceptr)from, bytes));
    CU(cuCtxSynchronize());
}

#endif
