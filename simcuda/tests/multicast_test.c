/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast memory: objects, the devices that belong to them, what is bound to them, and which
 * accesses are legal. */
#include "cuda/kernels/kernel_on_host.h"

#include "case.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GRANULE = 2 << 20, ADDED = 5 };

static const unsigned by_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/* ---- a kernel that adds up what the members have at an address, and writes after it ---- */

typedef struct sum_args {
    uint64_t object, to; /* addresses of int */
} sum_args_t;

unsigned (*weft_host_multicast)(const void *address, void **places_out, unsigned most);
extern void *(*weft_host_translate)(const void *address);

static void sum(const void *given, unsigned blocks, unsigned threads)
{
    const sum_args_t *args = given;
    void *places[16];
    int total = 0;
    (void)blocks, (void)threads;
    unsigned count = weft_host_multicast((void *)args->object, places, 16);
    for (unsigned i = 0; i < count; i++) {
        total += *(int *)places[i];
        ((int *)places[i])[1] = ADDED;
    }
    *(int *)weft_host_translate((void *)args->to) = total;
}

const weft_kernel_on_host_t test_sum_on_host = {"test_sum", sizeof(sum_args_t), sum};

static CUresult run_sum(CUdeviceptr object, CUdeviceptr to)
{
    sum_args_t args = {object, to};
    void *parameters[] = {&args};
    CUresult result =
        cuLaunchKernel(test_kernel("test_sum"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

/* ---- helpers ---- */

static CUmemGenericAllocationHandle object_for(unsigned devices)
{
    CUmemGenericAllocationHandle object;
    const CUmulticastObjectProp properties = {
        .numDevices = devices, .size = 2 * GRANULE, .handleTypes = by_fd};
    OK(cuMulticastCreate(&object, &properties));
    return object;
}

static CUresult take_memory(CUmemGenericAllocationHandle *out, size_t granules, int device,
                            unsigned types)
{
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    return cuMemCreate(out, granules * GRANULE, &properties, 0);
}

static CUmemGenericAllocationHandle memory_of(int device, unsigned types)
{
    CUmemGenericAllocationHandle memory;
    OK(take_memory(&memory, 2, device, types));
    return memory;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, int device)
{
    CUdeviceptr address;
    const CUmemAccessDesc access = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemAddressReserve(&address, 2 * GRANULE, 0, 0, 0));
    OK(cuMemMap(address, 2 * GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(address, 2 * GRANULE, &access, 1));
    return address;
}

static void unmap(CUdeviceptr address)
{
    OK(cuMemUnmap(address, 2 * GRANULE));
    OK(cuMemAddressFree(address, 2 * GRANULE));
}

/* Binds memory of a device to all of an object, writes a number at its beginning, returns its
 * address. */
static CUdeviceptr bind_number(CUmemGenericAllocationHandle object, int device, int number)
{
    CUmemGenericAllocationHandle memory = memory_of(device, by_fd);
    OK(cuMulticastBindMem(object, 0, memory, 0, 2 * GRANULE, 0));
    CUdeviceptr address = map(memory, device);
    OK(cuMemRelease(memory));
    OK(cuMemsetD32(address, (unsigned)number, 1));
    OK(cuCtxSynchronize());
    return address;
}

/* An object that this device alone has joined. */
static CUmemGenericAllocationHandle object_of_device(int device)
{
    open_device(device);
    CUmemGenericAllocationHandle object = object_for(1);
    OK(cuMulticastAddDevice(object, device));
    return object;
}

/* ---- the cases ---- */

static void one_process(void)
{
    open_device(1);
    open_device(0);
    CUmemGenericAllocationHandle object = object_for(2);
    OK(cuMulticastAddDevice(object, 1));
    OK(cuMulticastAddDevice(object, 0));
    CUdeviceptr first = bind_number(object, 0, 3), second = bind_number(object, 1, 4),
                all = map(object, 0);
    OK(cuMemRelease(object));
    CUdeviceptr to = ints_on_device(1, 0);
    OK(run_sum(all, to));
    SAME(int_at(to), 7);
    SAME(int_at(first + 4), ADDED);
    SAME(int_at(second + 4), ADDED);
    unmap(all);
    unmap(first);
    unmap(second);
}

static void objects_refuse(void)
{
    size_t granule;
    CUmemGenericAllocationHandle object;
    CUmulticastObjectProp properties = {.numDevices = 2, .size = GRANULE, .handleTypes = by_fd};
    open_device(0);
    OK(cuMulticastGetGranularity(&granule, &properties, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    SAME(granule, GRANULE);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(NULL, &properties));
    properties.size = GRANULE + 4096;
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, &properties));
    properties = (CUmulticastObjectProp){.numDevices = 0, .size = GRANULE};
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, &properties));
    properties = (CUmulticastObjectProp){
        .numDevices = 2, .size = GRANULE, .handleTypes = CU_MEM_HANDLE_TYPE_FABRIC};
    GIVES(CUDA_ERROR_NOT_PERMITTED, cuMulticastCreate(&object, &properties));
    object = object_for(2);
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuMulticastAddDevice(object, 3));
    OK(cuMulticastAddDevice(object, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 0));
    OK(cuMulticastAddDevice(object, 2));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 1));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(memory_of(0, by_fd), 1));
    OK(cuMemRelease(object));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 1));
}

static void bindings_refuse(void)
{
    open_device(0);
    CUmemGenericAllocationHandle object = object_for(1), memory = memory_of(0, by_fd);
    OK(cuMulticastAddDevice(object, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, 2 * GRANULE, 1));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, GRANULE / 2, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 4096, memory, 0, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, GRANULE, memory, 0, 2 * GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, GRANULE, 2 * GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(memory, 0, memory, 0, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory_of(0, 0), 0, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_DEVICE,
          cuMulticastBindMem(object, 0, memory_of(1, by_fd), 0, GRANULE, 0));
    OK(cuMulticastBindMem(object, GRANULE, memory, 0, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, 2 * GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object, 0, 0, 2 * GRANULE));
    OK(cuMulticastUnbind(object, 0, GRANULE, GRANULE));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object, 0, GRANULE, GRANULE));
    OK(cuMulticastBindMem(object, 0, memory, 0, 2 * GRANULE, 0));
}

static void by_address(void)
{
    CUmemGenericAllocationHandle object = object_of_device(0);
    CUdeviceptr own = map(memory_of(0, by_fd), 0), all = map(object, 0), to = ints_on_device(1, 0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object, 0, to, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object, 0, own + 4096, GRANULE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuMulticastBindAddr(object, 0, own + GRANULE, 2 * (size_t)GRANULE, 0));
    OK(cuMulticastBindAddr(object, 0, own + GRANULE, GRANULE, 0));
    OK(cuMemsetD32(own + GRANULE, 8, 1));
    OK(run_sum(all, to));
    SAME(int_at(to), 8);
    SAME(int_at(own + GRANULE + 4), ADDED);
}

/* A binding keeps the memory that the program frees, until it is unbound. */
static void freed_while_bound(void)
{
    CUmemGenericAllocationHandle other, object = object_of_device(0);
    CUdeviceptr own = bind_number(object, 0, 6), all = map(object, 0), to = ints_on_device(1, 0);
    unmap(own);
    OK(run_sum(all, to));
    SAME(int_at(to), 6);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, take_memory(&other, 6, 0, 0));
    OK(cuMulticastUnbind(object, 0, 0, 2 * GRANULE));
    OK(take_memory(&other, 6, 0, 0));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, run_sum(all, to));
}

/* The object ends with its last handle and mapping, and the binding with it. */
static void released_while_bound(void)
{
    CUmemGenericAllocationHandle other, object = object_of_device(0);
    unmap(bind_number(object, 0, 6));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, take_memory(&other, 7, 0, 0));
    OK(cuMemRelease(object));
    OK(take_memory(&other, 7, 0, 0));
}

/* Kernels find no memory where none is bound, and reach an object by multimem
 * instructions alone. */
static CUdeviceptr mapped_object(bool is_bound)
{
    CUmemGenericAllocationHandle object = object_of_device(0);
    if (is_bound)
        bind_number(object, 0, 1);
    return map(object, 0);
}

static void unbound(void)
{
    CUdeviceptr all = mapped_object(false);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, run_sum(all, ints_on_device(1, 0)));
}

static void copies(void)
{
    int number;
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH(&number, mapped_object(true), sizeof(number)));
}

static void plain_access(void)
{
    CUdeviceptr all = mapped_object(true);
    OK(launch_add(all, ints_on_device(1, 1), 1, NULL));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void plain_memory(void)
{
    CUdeviceptr memory = (mapped_object(true), ints_on_device(2, 0));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, run_sum(memory, memory));
}

static void host_access(void)
{
    *(volatile int *)mapped_object(true) = 1;
}

static void none(void)
{
    int can = 1;
    CUmemGenericAllocationHandle object;
    const CUmulticastObjectProp properties = {.numDevices = 1, .size = GRANULE};
    open_device(0);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    SAME(can, 0);
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(&object, &properties));
}

/* ---- two processes ---- */

static void sum_of_both(int peer, CUmemGenericAllocationHandle object, int device)
{
    CUdeviceptr own = bind_number(object, device, device + 1), all = map(object, device),
                to = ints_on_device(1, 0);
    meet(peer);
    OK(run_sum(all, to));
    SAME(int_at(to), 3);
    SAME(int_at(own + 4), ADDED);
    meet(peer);
}

/* A binding waits until all devices belong to the object. */
static void export_object(int peer)
{
    int fd, can;
    char byte;
    open_device(0);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    SAME(can, 1);
    CUmemGenericAllocationHandle object = object_for(2), memory = memory_of(0, by_fd);
    OK(cuMemExportToShareableHandle(&fd, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMulticastAddDevice(object, 0));
    send_fd(peer, fd);
    OK(cuMulticastBindMem(object, 0, memory, 0, GRANULE, 0));
    SAME(recv(peer, &byte, 1, MSG_DONTWAIT), 1);
    OK(cuMulticastUnbind(object, 0, 0, GRANULE));
    sum_of_both(peer, object, 0);
}

static void import_object(int peer)
{
    CUmemGenericAllocationHandle object;
    int fd = receive_fd(peer);
    char byte = 0;
    open_device(1);
    OK(cuMemImportFromShareableHandle(&object, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 0));
    send_to(peer, &byte, 1);
    OK(cuMulticastAddDevice(object, 1));
    sum_of_both(peer, object, 1);
}

static void two_processes(void)
{
    run_two(export_object, import_object);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"one process", "devices=2,multicast=1", one_process, 0},
        {"objects refuse", "devices=3,multicast=1", objects_refuse, 0},
        {"bindings refuse", "devices=2,multicast=1", bindings_refuse, 0},
        {"by address", "multicast=1", by_address, 0},
        {"freed while bound", "multicast=1,memory=16M", freed_while_bound, 0},
        {"released while bound", "multicast=1,memory=16M", released_while_bound, 0},
        {"unbound", "multicast=1", unbound, 0},
        {"copies", "multicast=1", copies, 0},
        {"access by others than multimem instructions", "multicast=1", plain_access, 0},
        {"multimem instructions on other memory", "multicast=1", plain_memory, 0},
        {"access by the host", "multicast=1", host_access, 11},
        {"none", "", none, 0},
        {"two processes", "devices=2,multicast=1", two_processes, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
