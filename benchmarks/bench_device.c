/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ATTACH_GLOBAL 1 /* CU_MEM_ATTACH_GLOBAL */
#define NON_BLOCKING  1 /* CU_STREAM_NON_BLOCKING */
#define VIRTUAL_UNIT  ((size_t)2 << 20)

typedef unsigned long long address_t; /* CUdeviceptr */
typedef int result_t;                 /* CUresult; 0: success */

static struct {
    void *library, *stream;
    result_t (*init)(unsigned flags);
    result_t (*get_error_name)(result_t result, const char **out);
    result_t (*get_device_count)(int *out);
    result_t (*get_device)(int *out, int ordinal);
    result_t (*retain_context)(void **out, int device);
    result_t (*set_context)(void *context);
    result_t (*alloc)(address_t *out, size_t bytes);
    result_t (*alloc_managed)(address_t *out, size_t bytes, unsigned flags);
    result_t (*free)(address_t address);
    result_t (*alloc_pinned)(void **out, size_t bytes, unsigned flags);
    result_t (*free_pinned)(void *memory);
    result_t (*set)(address_t to, unsigned char byte, size_t bytes);
    result_t (*put)(address_t to, const void *from, size_t bytes);
    result_t (*get)(void *to, address_t from, size_t bytes);
    result_t (*put_async)(address_t to, const void *from, size_t bytes, void *stream);
    result_t (*get_async)(void *to, address_t from, size_t bytes, void *stream);
    result_t (*create_stream)(void **out, unsigned flags);
    result_t (*wait_stream)(void *stream);
    result_t (*wait_context)(void);
} cuda;

static const struct {
    const char *name;
    void *to;
} functions[] = {
    {"cuInit", &cuda.init},
    {"cuGetErrorName", &cuda.get_error_name},
    {"cuDeviceGetCount", &cuda.get_device_count},
    {"cuDeviceGet", &cuda.get_device},
    {"cuDevicePrimaryCtxRetain", &cuda.retain_context},
    {"cuCtxSetCurrent", &cuda.set_context},
    {"cuMemAlloc_v2", &cuda.alloc},
    {"cuMemAllocManaged", &cuda.alloc_managed},
    {"cuMemFree_v2", &cuda.free},
    {"cuMemHostAlloc", &cuda.alloc_pinned},
    {"cuMemFreeHost", &cuda.free_pinned},
    {"cuMemsetD8_v2", &cuda.set},
    {"cuMemcpyHtoD_v2", &cuda.put},
    {"cuMemcpyDtoH_v2", &cuda.get},
    {"cuMemcpyHtoDAsync_v2", &cuda.put_async},
    {"cuMemcpyDtoHAsync_v2", &cuda.get_async},
    {"cuStreamCreate", &cuda.create_stream},
    {"cuStreamSynchronize", &cuda.wait_stream},
    {"cuCtxSynchronize", &cuda.wait_context},
};

static void must(result_t result, const char *what)
{
    const char *name = "unknown";

    if (result == 0)
        return;
    cuda.get_error_name(result, &name);
    fprintf(stderr, "%s: error %d, %s\n", what, result, name);
    exit(1);
}

void *bench_device_function(const char *name)
{
    void *function = dlsym(cuda.library, name);

    if (function == NULL) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return function;
}

bool bench_device_open(int local_rank)
{
    int count = 0, device;
    void *context;

    cuda.library = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda.library == NULL) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        *(void **)functions[i].to = bench_device_function(functions[i].name);
    if (cuda.init(0) != 0 || cuda.get_device_count(&count) != 0 || count == 0) {
        fprintf(stderr, "the CUDA driver finds no device\n");
        return false;
    }
    must(cuda.get_device(&device, local_rank % count), "cuDeviceGet");
    must(cuda.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuda.set_context(context), "cuCtxSetCurrent");
    must(cuda.create_stream(&cuda.stream, NON_BLOCKING), "cuStreamCreate");
    return true;
}

static address_t address_of(const void *memory)
{
    return (address_t)(uintptr_t)memory;
}

void *bench_device_alloc(size_t bytes, bool is_managed)
{
    address_t address = 0;

    if (is_managed)
        must(cuda.alloc_managed(&address, bytes, ATTACH_GLOBAL), "cuMemAllocManaged");
    else
        must(cuda.alloc(&address, bytes), "cuMemAlloc");
    return (void *)(uintptr_t)address;
}

void bench_device_free(void *memory)
{
    must(cuda.free(address_of(memory)), "cuMemFree");
}

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h; by file descriptor. */
typedef struct location {
    int type, device;
} location_t;

typedef struct virtual_kind {
    int type, handle_types;
    location_t location;
    void *unused[2];
} virtual_kind_t;

typedef struct access {
    location_t location;
    int flags;
} access_t;

static location_t own_device(void)
{
    result_t (*get_device)(int *out);
    location_t location = {.type = 1};

    *(void **)&get_device = bench_device_function("cuCtxGetDevice");
    must(get_device(&location.device), "cuCtxGetDevice");
    return location;
}

static size_t in_units(size_t bytes)
{
    return (bytes + VIRTUAL_UNIT - 1) / VIRTUAL_UNIT * VIRTUAL_UNIT;
}

void *bench_device_alloc_virtual(size_t bytes)
{
    result_t (*create)(address_t * out, size_t length, const virtual_kind_t *kind,
                       unsigned long long flags);
    result_t (*reserve)(address_t * out, size_t length, size_t alignment, address_t hint,
                        unsigned long long flags);
    result_t (*map)(address_t at, size_t length, size_t offset, address_t handle,
                    unsigned long long flags);
    result_t (*set_access)(address_t at, size_t length, const access_t *access, size_t count);
    result_t (*release)(address_t handle);
    const virtual_kind_t kind = {.type = 1, .handle_types = 1, .location = own_device()};
    const access_t access = {.location = kind.location, .flags = 3};
    size_t length = in_units(bytes);
    address_t handle, at;

    *(void **)&create = bench_device_function("cuMemCreate");
    *(void **)&reserve = bench_device_function("cuMemAddressReserve");
    *(void **)&map = bench_device_function("cuMemMap");
    *(void **)&set_access = bench_device_function("cuMemSetAccess");
    *(void **)&release = bench_device_function("cuMemRelease");
    must(create(&handle, length, &kind, 0), "cuMemCreate");
    must(reserve(&at, length, 0, 0, 0), "cuMemAddressReserve");
    must(map(at, length, 0, handle, 0), "cuMemMap");
    must(set_access(at, length, &access, 1), "cuMemSetAccess");
    must(release(handle), "cuMemRelease"); /* the mapping keeps it */
    return (void *)(uintptr_t)at;
}

void bench_device_free_virtual(void *memory, size_t bytes)
{
    result_t (*unmap)(address_t at, size_t length), (*give_back)(address_t at, size_t length);

    *(void **)&unmap = bench_device_function("cuMemUnmap");
    *(void **)&give_back = bench_device_function("cuMemAddressFree");
    must(unmap(address_of(memory), in_units(bytes)), "cuMemUnmap");
    must(give_back(address_of(memory), in_units(bytes)), "cuMemAddressFree");
}

void bench_device_wait(void)
{
    must(cuda.wait_context(), "cuCtxSynchronize");
}

void bench_device_set(void *memory, unsigned char byte, size_t bytes)
{
    must(cuda.set(address_of(memory), byte, bytes), "cuMemsetD8");
    bench_device_wait();
}

void *bench_device_alloc_pinned(size_t bytes)
{
    void *memory = NULL;

    must(cuda.alloc_pinned(&memory, bytes, 0), "cuMemHostAlloc");
    return memory;
}

void bench_device_free_pinned(void *memory)
{
    must(cuda.free_pinned(memory), "cuMemFreeHost");
}

void bench_device_get(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        must(cuda.get(to, address_of(from), bytes), "cuMemcpyDtoH");
}

void bench_device_put(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        must(cuda.put(address_of(to), from, bytes), "cuMemcpyHtoD");
}

void bench_device_get_blocks(void *to, const void *from, const bench_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        must(cuda.get_async((char *)to + i * blocks->bytes, address_of(from) + i * blocks->stride,
                            blocks->bytes, cuda.stream),
             "cuMemcpyDtoHAsync");
    must(cuda.wait_stream(cuda.stream), "cuStreamSynchronize");
}

void bench_device_put_blocks(void *to, const void *from, const bench_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        must(cuda.put_async(address_of(to) + i * blocks->stride,
                            (const char *)from + i * blocks->bytes, blocks->bytes, cuda.stream),
             "cuMemcpyHtoDAsync");
    must(cuda.wait_stream(cuda.stream), "cuStreamSynchronize");
}
