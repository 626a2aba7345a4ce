/* SPDX-License-Identifier: BSD-3-Clause */
/* What a driver says of multicast objects for the devices of one process: their granularities, how
 * long the steps of binding a buffer take, and what it refuses. */
#include "gpu_gate.h"

#include <stdint.h>

#define DEVICES 2
#define BYTES   ((size_t)64 << 20)

static size_t granule;
static CUcontext contexts[DEVICES];
static CUdeviceptr buffers[DEVICES];
static CUmemGenericAllocationHandle handles[DEVICES];

static CUmulticastObjectProp properties(void)
{
    return (CUmulticastObjectProp){.numDevices = DEVICES,
                                   .size = BYTES,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
}

/* Are there devices with multicast? */
static bool has_multicast(void)
{
    int count = 0, can = 0;

    OK(cuDeviceGetCount(&count));
    for (int i = 0; i < DEVICES && count >= DEVICES; i++) {
        OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, i));
        if (can == 0)
            return false;
    }
    return count >= DEVICES;
}

static CUmemAccessDesc access_of(int device)
{
    return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, int device)
{
    CUdeviceptr at;
    CUmemAccessDesc access = access_of(device);

    OK(cuMemAddressReserve(&at, BYTES, granule, 0, 0));
    OK(cuMemMap(at, BYTES, 0, handle, 0));
    OK(cuMemSetAccess(at, BYTES, &access, 1));
    return at;
}

static void make_buffers(void)
{
    for (int i = 0; i < DEVICES; i++) {
        const CUmemAllocationProp kind = {
            .type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = i}};

        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuMemCreate(&handles[i], BYTES, &kind, 0));
        buffers[i] = map(handles[i], i);
    }
}

static void say_granularities(void)
{
    size_t recommended = 0;
    CUmulticastObjectProp object = properties();

    OK(cuMulticastGetGranularity(&granule, &object, CU_MULTICAST_GRANULARITY_MINIMUM));
    OK(cuMulticastGetGranularity(&recommended, &object, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    gpu_answer("granularity %zu, recommended %zu", granule, recommended);
}

static CUmemGenericAllocationHandle make_object(void)
{
    CUmemGenericAllocationHandle object;
    CUmulticastObjectProp its = properties();

    OK(cuMulticastCreate(&object, &its));
    for (int i = 0; i < DEVICES; i++)
        OK(cuMulticastAddDevice(object, i));
    return object;
}

/* An object for the buffers, and its address for each device. */
static CUmemGenericAllocationHandle bind_buffers(void)
{
    double times[4];
    CUmemGenericAllocationHandle object;

    times[0] = gpu_now_us();
    object = make_object();
    times[1] = gpu_now_us();
    for (int i = 0; i < DEVICES; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuMulticastBindAddr(object, 0, buffers[i], BYTES, 0));
    }
    times[2] = gpu_now_us();
    for (int i = 0; i < DEVICES; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        map(object, i);
    }
    times[3] = gpu_now_us();
    gpu_answer("%d devices, %zu bytes: making %.0f us, binding %.0f us, mapping %.0f us", DEVICES,
               BYTES, times[1] - times[0], times[2] - times[1], times[3] - times[2]);
    return object;
}

static void try_second_object(void)
{
    CUmemGenericAllocationHandle second = make_object();

    gpu_answer("the same memory in a second object: %s",
               gpu_code_name(cuMulticastBindAddr(second, 0, buffers[1], BYTES, 0)));
}

static void try_small_part(void)
{
    CUmemGenericAllocationHandle object = make_object();

    gpu_answer("a part that begins in a granule: %s",
               gpu_code_name(cuMulticastBindAddr(object, 0, buffers[1] + 65536, granule, 0)));
}

/* Weft unbinds such memory when it finds that it was freed. */
static void free_bound(CUmemGenericAllocationHandle object)
{
    size_t before, freed, unbound, total;

    OK(cuMemGetInfo(&before, &total));
    OK(cuMemUnmap(buffers[1], BYTES));
    OK(cuMemRelease(handles[1]));
    OK(cuMemGetInfo(&freed, &total));
    OK(cuMulticastUnbind(object, 1, 0, BYTES));
    OK(cuMemGetInfo(&unbound, &total));
    gpu_answer("memory that is freed while bound: %zu bytes come back, %zu when it is unbound",
               freed - before, unbound - freed);
}

void gpu_ask_multicast(int unused)
{
    CUmemGenericAllocationHandle object;

    (void)unused;
    gpu_open();
    if (!has_multicast()) {
        gpu_answer("there are no %d devices that have it", DEVICES);
        return;
    }
    say_granularities();
    make_buffers();
    object = bind_buffers();
    try_small_part();
    free_bound(object);
    make_buffers();
    bind_buffers();
    try_second_object();
}
