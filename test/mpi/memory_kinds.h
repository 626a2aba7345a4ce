/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of several kinds of memory for programs that otherwise know nothing of devices. The
 * variable TEST_MEMORY has a letter for each kind, which the buffers of a rank take in turn: H host
 * memory, D cuMemAlloc, E cuMemAlloc on the next device, F cuMemAlloc on a device half of all
 * devices further on, M managed, P pinned, A from the device's pool, V virtual memory in a larger
 * arena, S the same over several mappings. If it is not set, all buffers are host memory, and no
 * driver is needed. The device memory of rank r is on device r modulo the number of devices, and is
 * filled and read through host memory. So with E a rank's second device is the first one of the
 * next rank, and with F it is its own if there are two devices a rank.
 */
#ifndef TEST_MPI_MEMORY_KINDS_H
#define TEST_MPI_MEMORY_KINDS_H

#include "vmm_arena.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long memory_address_t; /* CUdeviceptr */

static struct {
    const char *kinds;
    int rank, next, devices;
    void *context, *other_context; /* other_context: for E or F; NULL: not needed yet */
    int (*init)(unsigned flags), (*device_count)(int *out), (*device)(int *out, int ordinal);
    int (*retain)(void **context_out, int device), (*set_current)(void *context);
    int (*alloc)(memory_address_t *out, size_t bytes), (*free)(memory_address_t address);
    int (*alloc_managed)(memory_address_t *out, size_t bytes, unsigned flags);
    int (*alloc_host)(void **out, size_t bytes, unsigned flags), (*free_host)(void *memory);
    int (*alloc_async)(memory_address_t *out, size_t bytes, void *stream);
    int (*put)(memory_address_t to, const void *from, size_t bytes);
    int (*get)(void *to, memory_address_t from, size_t bytes);
    int (*synchronize)(void);
} memory;

static inline void memory_must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "rank %d: %s: error %d\n", memory.rank, what, result);
    exit(1);
}

static inline void *memory_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memory_must(symbol == NULL, name);
    return symbol;
}

static inline void memory_load(void *library)
{
    *(void **)&memory.init = memory_symbol(library, "cuInit");
    *(void **)&memory.device_count = memory_symbol(library, "cuDeviceGetCount");
    *(void **)&memory.device = memory_symbol(library, "cuDeviceGet");
    *(void **)&memory.retain = memory_symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&memory.set_current = memory_symbol(library, "cuCtxSetCurrent");
    *(void **)&memory.alloc = memory_symbol(library, "cuMemAlloc_v2");
    *(void **)&memory.free = memory_symbol(library, "cuMemFree_v2");
    *(void **)&memory.alloc_managed = memory_symbol(library, "cuMemAllocManaged");
    *(void **)&memory.alloc_host = memory_symbol(library, "cuMemHostAlloc");
    *(void **)&memory.free_host = memory_symbol(library, "cuMemFreeHost");
    *(void **)&memory.alloc_async = memory_symbol(library, "cuMemAllocAsync");
    *(void **)&memory.put = memory_symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&memory.get = memory_symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&memory.synchronize = memory_symbol(library, "cuCtxSynchronize");
}

/* To be called once, after MPI_Init. */
static inline void memory_begin(int rank)
{
    int device;
    memory.kinds = getenv("TEST_MEMORY");
    memory.rank = rank;
    if (memory.kinds == NULL)
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        printf("there is no libcuda.so.1\n");
        exit(77);
    }
    memory_load(library);
    memory_must(memory.init(0), "cuInit");
    memory_must(memory.device_count(&memory.devices), "cuDeviceGetCount");
    memory_must(memory.device(&device, rank % memory.devices), "cuDeviceGet");
    memory_must(memory.retain(&memory.context, device), "cuDevicePrimaryCtxRetain");
    memory_must(memory.set_current(memory.context), "cuCtxSetCurrent");
    vmm_arenas_begin(library, device);
}

/* To be called in each further thread that takes memory. */
static inline void memory_enter(void)
{
    if (memory.kinds != NULL)
        memory_must(memory.set_current(memory.context), "cuCtxSetCurrent");
}

/* Until memory_enter(): work on buffers of this kind. */
static inline void memory_visit(char kind)
{
    if (kind == 'E' || kind == 'F')
        memory_must(memory.set_current(memory.other_context), "cuCtxSetCurrent");
}

/* The kind of the next buffer. */
static inline char memory_next_kind(void)
{
    return memory.kinds == NULL
               ? 'H'
               : memory.kinds[(memory.next++ + memory.rank) % (int)strlen(memory.kinds)];
}

static inline memory_address_t memory_take_on_other(size_t bytes, int distance)
{
    memory_address_t address;
    int device;
    memory_must(memory.device(&device, (memory.rank + distance) % memory.devices), "cuDeviceGet");
    if (memory.other_context == NULL)
        memory_must(memory.retain(&memory.other_context, device), "cuDevicePrimaryCtxRetain");
    memory_must(memory.set_current(memory.other_context), "cuCtxSetCurrent");
    memory_must(memory.alloc(&address, bytes), "cuMemAlloc");
    memory_must(memory.set_current(memory.context), "cuCtxSetCurrent");
    return address;
}

static inline void *memory_take(char kind, size_t bytes)
{
    memory_address_t address = 0;
    void *pinned = NULL;
    switch (kind) {
    case 'D':
        memory_must(memory.alloc(&address, bytes), "cuMemAlloc");
        break;
    case 'E':
    case 'F':
        address = memory_take_on_other(bytes, kind == 'E' ? 1 : memory.devices / 2);
        break;
    case 'M':
        memory_must(memory.alloc_managed(&address, bytes, 1), "cuMemAllocManaged");
        break;
    case 'A':
        memory_must(memory.alloc_async(&address, bytes, NULL), "cuMemAllocAsync");
        memory_must(memory.synchronize(), "cuCtxSynchronize");
        break;
    case 'V':
    case 'S':
        address = vmm_arena_take(bytes, kind == 'S');
        break;
    case 'P':
        memory_must(memory.alloc_host(&pinned, bytes, 0), "cuMemHostAlloc");
        return pinned;
    default:
        return malloc(bytes);
    }
    return (void *)(uintptr_t)address;
}

static inline void memory_give(char kind, void *buffer)
{
    if (kind == 'H')
        free(buffer);
    else if (kind == 'P')
        memory_must(memory.free_host(buffer), "cuMemFreeHost");
    else if (kind == 'V' || kind == 'S')
        vmm_arena_give((memory_address_t)(uintptr_t)buffer);
    else
        memory_must(memory.free((memory_address_t)(uintptr_t)buffer), "cuMemFree");
}

static inline int memory_is_device(char kind)
{
    return kind != 'H' && kind != 'P';
}

/* Copy host memory to a buffer, and back; complete when they return. Work on a buffer is done on
 * its own device. */
static inline void memory_put(char kind, void *to, const void *from, size_t bytes)
{
    if (!memory_is_device(kind)) {
        memcpy(to, from, bytes);
        return;
    }
    memory_visit(kind);
    memory_must(memory.put((memory_address_t)(uintptr_t)to, from, bytes), "cuMemcpyHtoD");
    memory_must(memory.synchronize(), "cuCtxSynchronize");
    memory_enter();
}

static inline void memory_get(char kind, void *to, const void *from, size_t bytes)
{
    if (!memory_is_device(kind)) {
        memcpy(to, from, bytes);
        return;
    }
    memory_visit(kind);
    memory_must(memory.get(to, (memory_address_t)(uintptr_t)from, bytes), "cuMemcpyDtoH");
    memory_enter();
}

#endif
