/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations, attributes of pointers, and that the host cannot touch memory of a device. */
#include "case.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t attribute(CUdeviceptr address, CUpointer_attribute name)
{
    uint64_t value = 0;
    OK(cuPointerGetAttribute(&value, name, address));
    return value;
}

static uint64_t id_of(CUdeviceptr address)
{
    return attribute(address, CU_POINTER_ATTRIBUTE_BUFFER_ID);
}

static void addresses_come_back(void)
{
    CUdeviceptr first, other, base;
    size_t bytes;
    open_device(0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&first, 0));
    OK(cuMemAlloc(&first, 5 << 20));
    uint64_t id = id_of(first);
    OK(cuMemGetAddressRange(&base, &bytes, first + (4 << 20)));
    SAME(base, first);
    SAME(bytes, 5 << 20);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(first + 1));
    OK(cuMemFree(first));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(first));
    GIVES(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, first));
    OK(cuCtxSetCurrent(NULL));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemGetAddressRange(&base, &bytes, first));
    open_device(0);
    OK(cuMemAlloc(&other, 5 << 20));
    SAME(other, first);
    CHECK(id_of(other) != id);
}

static void small_ones_share_a_block(void)
{
    enum { MANY = 300 };
    CUdeviceptr all[MANY];
    size_t before, after, total;
    open_device(0);
    OK(cuMemGetInfo(&before, &total));
    for (int i = 0; i < MANY; i++) {
        OK(cuMemAlloc(&all[i], 1000));
        SAME(all[i] % 512, 0);
        OK(cuMemsetD8(all[i], (unsigned char)i, 1000));
    }
    SAME(attribute(all[0], CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR),
         attribute(all[MANY - 1], CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR));
    for (int i = 0; i < MANY; i++) {
        SAME(int_at(all[i] + 996) & 0xff, i & 0xff);
        OK(cuMemFree(all[i]));
    }
    OK(cuMemGetInfo(&after, &total));
    if (!is_driver_real())
        SAME(after, before);
}

static void memory_ends(void)
{
    CUdeviceptr memory, other;
    open_device(0);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, (size_t)65 << 20));
    OK(cuMemAlloc(&memory, 40 << 20));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&other, 40 << 20));
    OK(cuMemFree(memory));
    OK(cuMemAlloc(&other, 40 << 20));
}

static void device_pointers(void)
{
    CUcontext context = open_device(1);
    CUdeviceptr memory;
    uint64_t value;
    OK(cuMemAlloc(&memory, 100));
    SAME(attribute(memory + 99, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_IS_MANAGED), 0);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 1);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_CONTEXT), (uintptr_t)context);
    SAME(attribute(memory + 7, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), memory + 7);
    SAME(attribute(memory + 7, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), memory);
    SAME(attribute(memory + 7, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 100);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE), 1);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES), 0);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), 0);
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory + 100));
}

static void pinned_pointers(void)
{
    void *memory;
    unsigned flags;
    CUdeviceptr seen;
    open_device(0);
    OK(cuMemHostAlloc(&memory, 5000, CU_MEMHOSTALLOC_PORTABLE));
    CUdeviceptr address = (CUdeviceptr)memory;
    ((char *)memory)[4999] = 1;
    SAME(attribute(address + 10, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_HOST);
    SAME(attribute(address + 10, CU_POINTER_ATTRIBUTE_HOST_POINTER), address + 10);
    SAME(attribute(address, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE), 0);
    OK(cuMemHostGetDevicePointer(&seen, memory, 0));
    SAME(seen, address);
    OK(cuMemHostGetFlags(&flags, memory));
    SAME(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
    OK(cuMemFreeHost(memory));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(memory));
}

static void registered_pointers(void)
{
    open_device(0);
    char *memory = malloc(10000);
    uint64_t type;
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory));
    OK(cuMemHostRegister(memory, 10000, 0));
    SAME(attribute((CUdeviceptr)memory + 9999, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
         CU_MEMORYTYPE_HOST);
    GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(memory + 5000, 100, 0));
    OK(cuMemHostUnregister(memory));
    GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister((void *)16, 100, 0));
    free(memory);
}

static void managed_pointers(void)
{
    CUdeviceptr memory;
    open_device(0);
    OK(cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
    *(int *)memory = 5;
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_IS_MANAGED), 1);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_HOST_POINTER), memory);
    SAME(attribute(memory, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE), 0);
    OK(launch_add(memory, memory, 1, NULL));
    OK(cuCtxSynchronize());
    SAME(*(int *)memory, 10);
    OK(cuMemFree(memory));
}

/* For memory that CUDA does not know, the newer attributes are not written. */
static void many_attributes(void)
{
    int on_stack = 0, ordinal = 7;
    unsigned type = 7, is_managed = 7;
    uint64_t id = 7, start = 7;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &is_managed, &id, &start, &ordinal};
    open_device(0);
    OK(cuPointerGetAttributes(5, names, values, (CUdeviceptr)&on_stack));
    SAME(type, 0);
    SAME(is_managed, 0);
    SAME(id, 0);
    SAME(start, 7);
    SAME(ordinal, CU_DEVICE_INVALID);
    CUdeviceptr memory = ints_on_device(4, 1);
    OK(cuPointerGetAttributes(5, names, values, memory + 4));
    SAME(type, CU_MEMORYTYPE_DEVICE);
    SAME(id, id_of(memory));
    SAME(start, memory);
    SAME(ordinal, 0);
}

/* Whether operations on it can be made synchronous. */
static CUresult set_synchronous(CUdeviceptr memory)
{
    unsigned on = 1;
    return cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
}

static void synchronous_operations(void)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr memory, mapped, pooled, managed;
    void *pinned, *plain = malloc(1000);
    open_device(0);
    OK(cuMemAlloc(&memory, 4096));
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 4096));
    OK(cuMemAllocAsync(&pooled, 4096, NULL));
    OK(cuMemAddressReserve(&mapped, 2 << 20, 0, 0, 0));
    OK(cuMemCreate(&handle, 2 << 20, &properties, 0));
    OK(cuMemMap(mapped, 2 << 20, 0, handle, 0));
    OK(cuMemSetAccess(mapped, 2 << 20, &access, 1));
    OK(set_synchronous(memory));
    OK(set_synchronous(managed));
    OK(set_synchronous((CUdeviceptr)pinned));
    OK(set_synchronous(pooled));
    GIVES(CUDA_ERROR_NOT_SUPPORTED, set_synchronous(mapped));
    GIVES(CUDA_ERROR_INVALID_VALUE, set_synchronous((CUdeviceptr)plain));
    free(plain);
}

/* ---- accesses by the host ---- */

static void host_reads(void)
{
    open_device(0);
    volatile int *memory = (int *)ints_on_device(4, 1);
    SAME(memory[2], 1);
}

static void host_writes(void)
{
    open_device(0);
    volatile int *memory = (int *)ints_on_device(4, 1);
    memory[2] = 1;
}

static void system_calls_refuse(void)
{
    int ends[2];
    char byte[4];
    open_device(0);
    void *memory = (void *)ints_on_device(4, 1);
    SAME(pipe(ends), 0);
    SAME(write(ends[1], memory, 4), -1);
    SAME(errno, EFAULT);
    struct iovec mine = {byte, 4}, its = {memory, 4};
    SAME(process_vm_readv(getpid(), &mine, 1, &its, 1, 0), -1);
}

static void all_goes_with_its_context(void)
{
    CUcontext context;
    CUdeviceptr memory;
    uint64_t type;
    void *pinned;
    OK(cuInit(0));
    OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    OK(cuMemAlloc(&memory, 100));
    OK(cuMemAllocHost(&pinned, 100));
    OK(cuCtxDestroy(context));
    open_device(0);
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pinned));
}

int main(void)
{
    static const test_case_t cases[] = {
        {"addresses come back", "", addresses_come_back, 0},
        {"small ones share a block", "", small_ones_share_a_block, 0},
        {"memory ends", "memory=64M", memory_ends, 0},
        {"device pointers", "devices=2", device_pointers, 0},
        {"pinned pointers", "", pinned_pointers, 0},
        {"registered pointers", "", registered_pointers, 0},
        {"managed pointers", "", managed_pointers, 0},
        {"many attributes", "", many_attributes, 0},
        {"synchronous operations", "", synchronous_operations, 0},
        {"the host reads", "", host_reads, SIGSEGV},
        {"the host writes", "", host_writes, SIGSEGV},
        {"system calls refuse", "", system_calls_refuse, 0},
        {"all goes with its context", "", all_goes_with_its_context, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
