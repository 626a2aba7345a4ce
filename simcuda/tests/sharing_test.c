/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and events of other processes: legacy IPC, virtual memory, pools; what each refuses. */
#include "case.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const unsigned lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

static CUipcMemHandle handle_of(CUdeviceptr memory)
{
    CUipcMemHandle handle;
    OK(cuIpcGetMemHandle(&handle, memory));
    return handle;
}

/* ---- legacy IPC ---- */

static void export_legacy(int peer)
{
    open_device(1);
    CUdeviceptr opened, small = ints_on_device(100, 1), large = ints_on_device(1 << 20, 2);
    CUipcMemHandle handles[] = {handle_of(small + 40), handle_of(large)};
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&opened, handles[0], lazy));
    send_to(peer, handles, sizeof(handles));
    meet(peer);
    SAME(int_at(small), 11);
    SAME(int_at(large + 4), 12);
    OK(cuMemFree(large));
    meet(peer);
    meet(peer);
}

/* A handle is of the whole allocation, whatever address it was made from. */
static void import_legacy(int peer)
{
    CUipcMemHandle handles[2];
    CUdeviceptr small, large, again, base;
    size_t bytes;
    int ordinal;
    receive_from(peer, handles, sizeof(handles));
    open_device(0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&small, handles[0], 0));
    OK(cuIpcOpenMemHandle(&small, handles[0], lazy));
    OK(cuIpcOpenMemHandle(&large, handles[1], lazy));
    OK(cuIpcOpenMemHandle(&again, handles[1], lazy));
    SAME(again, large);
    SAME(int_at(small), 1);
    SAME(int_at(large), 2);
    OK(cuMemGetAddressRange(&base, &bytes, small + 8));
    SAME(base, small);
    SAME(bytes, 400);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, small));
    SAME(ordinal, 1);
    OK(cuMemsetD32(small, 11, 1));
    OK(cuMemsetD32(large + 4, 12, 1));
    OK(cuCtxSynchronize());
    meet(peer);
    /* The owner has freed the large one: it stays readable here, but cannot be opened again. */
    meet(peer);
    SAME(int_at(large + 4), 12);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(large));
    OK(cuIpcCloseMemHandle(large));
    OK(cuIpcCloseMemHandle(large));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(large));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&again, handles[1], lazy));
    OK(cuIpcCloseMemHandle(small));
    meet(peer);
}

static void legacy(void)
{
    run_two(export_legacy, import_legacy);
}

static void export_one(int peer)
{
    open_device(0);
    CUipcMemHandle handle = handle_of(ints_on_device(10, 1));
    send_to(peer, &handle, sizeof(handle));
    meet(peer);
}

static void import_without_peer(int peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    receive_from(peer, &handle, sizeof(handle));
    open_device(1);
    GIVES(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuIpcOpenMemHandle(&memory, handle, lazy));
    meet(peer);
}

/* The memory of one device of a process is opened in one context of a device. */
static void import_in_two_contexts(int peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory, same;
    CUcontext first, second, elsewhere;
    receive_from(peer, &handle, sizeof(handle));
    elsewhere = open_device(1);
    first = open_device(0);
    OK(cuCtxCreate_v4(&second, NULL, 0, 0));
    OK(cuIpcOpenMemHandle(&memory, handle, lazy));
    OK(cuCtxSetCurrent(first));
    CUresult result = cuIpcOpenMemHandle(&same, handle, lazy);
    CHECK(result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_ALREADY_MAPPED);
    OK(cuCtxSetCurrent(second));
    OK(cuIpcCloseMemHandle(memory));
    OK(cuCtxSetCurrent(first));
    OK(cuIpcOpenMemHandle(&memory, handle, lazy));
    OK(cuIpcCloseMemHandle(memory));
    OK(cuCtxSetCurrent(elsewhere));
    OK(cuIpcOpenMemHandle(&memory, handle, lazy));
    meet(peer);
}

static void two_contexts(void)
{
    run_two(export_one, import_in_two_contexts);
}

/* Other memory of the same process does not go into another context either. */
static void export_both(int peer)
{
    open_device(0);
    CUipcMemHandle handles[] = {handle_of(ints_on_device(10, 1)),
                                handle_of(ints_on_device(1 << 20, 2))};
    send_to(peer, handles, sizeof(handles));
    meet(peer);
}

static void import_each_in_its_own(int peer)
{
    CUipcMemHandle handles[2];
    CUdeviceptr memory;
    CUcontext second;
    receive_from(peer, handles, sizeof(handles));
    open_device(0);
    OK(cuIpcOpenMemHandle(&memory, handles[0], lazy));
    OK(cuCtxCreate_v4(&second, NULL, 0, 0));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuIpcOpenMemHandle(&memory, handles[1], lazy));
    meet(peer);
}

static void a_context_each(void)
{
    run_two(export_both, import_each_in_its_own);
}

static void without_peer(void)
{
    run_two(export_one, import_without_peer);
}

/* A device that CUDA_VISIBLE_DEVICES hides can still be reached. */
static void import_unseen(int peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    int ordinal;
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    receive_from(peer, &handle, sizeof(handle));
    open_device(0);
    OK(cuIpcOpenMemHandle(&memory, handle, lazy));
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    SAME(ordinal, CU_DEVICE_INVALID);
    SAME(int_at(memory), 1);
    meet(peer);
}

static void unseen(void)
{
    run_two(export_one, import_unseen);
}

/* A device that the system does not let the process use cannot be reached. */
static void import_withheld(int peer)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    receive_from(peer, &handle, sizeof(handle));
    open_device(0);
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuIpcOpenMemHandle(&memory, handle, lazy));
    meet(peer);
}

static void withheld(void)
{
    run_two(export_one, import_withheld);
}

static void legacy_refuses(void)
{
    CUipcMemHandle handle;
    CUdeviceptr pooled, managed;
    void *pinned;
    open_device(0);
    OK(cuMemAllocAsync(&pooled, 100, NULL));
    OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 100));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, pooled));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, managed));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, (CUdeviceptr)pinned));
}

/* ---- events ---- */

static void export_event(int peer)
{
    CUevent event, plain;
    CUstream stream;
    CUipcEventHandle handle;
    open_device(0);
    CUdeviceptr memory = ints_on_device(10, 0);
    CUipcMemHandle memory_handle = handle_of(memory);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&handle, plain));
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&handle, event));
    send_to(peer, &memory_handle, sizeof(memory_handle));
    send_to(peer, &handle, sizeof(handle));
    OK(cuMemsetD32Async(memory, 7, 1, stream));
    OK(cuEventRecord(event, stream));
    meet(peer);
    meet(peer);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuStreamSynchronize(stream));
    SAME(int_at(memory), 8);
}

static void import_event(int peer)
{
    CUevent event;
    CUstream stream;
    CUipcEventHandle handle;
    CUipcMemHandle memory_handle;
    CUdeviceptr memory;
    int *seen;
    receive_from(peer, &memory_handle, sizeof(memory_handle));
    receive_from(peer, &handle, sizeof(handle));
    open_device(0);
    OK(cuMemAllocHost((void **)&seen, sizeof(*seen)));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuIpcOpenMemHandle(&memory, memory_handle, lazy));
    OK(cuIpcOpenEventHandle(&event, handle));
    meet(peer);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoHAsync(seen, memory, 4, stream));
    OK(cuMemsetD32Async(memory, 8, 1, stream));
    OK(cuEventRecord(event, stream));
    meet(peer);
    OK(cuEventSynchronize(event));
    SAME(*seen, 7);
}

static void events(void)
{
    run_two(export_event, import_event);
}

/* ---- virtual memory ---- */

static const CUmemAllocationProp shared_by_fd = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const CUmemAccessDesc all_on_device = {
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

enum { GRANULE = 2 << 20 };

static CUdeviceptr map_handle(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr memory;
    OK(cuMemAddressReserve(&memory, bytes, 0, 0, 0));
    OK(cuMemMap(memory, bytes, 0, handle, 0));
    OK(cuMemSetAccess(memory, bytes, &all_on_device, 1));
    return memory;
}

static uint64_t word_at(CUdeviceptr address, CUpointer_attribute attribute)
{
    uint64_t value = 0;
    OK(cuPointerGetAttribute(&value, attribute, address));
    return value;
}

static void virtual_memory(void)
{
    CUmemGenericAllocationHandle handles[2], retained;
    CUdeviceptr memory, base;
    CUipcMemHandle legacy_handle;
    uint64_t value;
    size_t granule, bytes;
    open_device(0);
    OK(cuMemGetAllocationGranularity(&granule, &shared_by_fd, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SAME(granule, GRANULE);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handles[0], 1000, &shared_by_fd, 0));
    OK(cuMemCreate(&handles[0], GRANULE, &shared_by_fd, 0));
    OK(cuMemCreate(&handles[1], GRANULE, &shared_by_fd, 0));
    OK(cuMemAddressReserve(&memory, 4 * GRANULE, 0, 0, 0));
    OK(cuMemMap(memory, GRANULE, 0, handles[0], 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(memory, GRANULE, 0, handles[1], 0));
    OK(cuMemMap(memory + GRANULE, GRANULE, 0, handles[1], 0));
    OK(cuMemRelease(handles[1]));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handles[1]));
    OK(cuMemSetAccess(memory, 2 * GRANULE, &all_on_device, 1));
    SAME(word_at(memory + GRANULE + 8, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), memory);
    SAME(word_at(memory + GRANULE + 8, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 4 * GRANULE);
    OK(cuMemGetAddressRange(&base, &bytes, memory + GRANULE + 8));
    SAME(base, memory + GRANULE);
    SAME(bytes, GRANULE);
    OK(cuMemsetD32(memory, 3, 2 * GRANULE / 4)); /* over both mappings */
    SAME(int_at(memory + 2 * GRANULE - 4), 3);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&legacy_handle, memory));
    OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, memory));
    SAME(value, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    SAME(value, 0);
    OK(cuMemRetainAllocationHandle(&retained, (void *)(memory + 100)));
    SAME(retained, handles[0]);
    OK(cuMemRelease(retained));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(memory, 4 * GRANULE));
    OK(cuMemUnmap(memory, 2 * GRANULE));
    OK(cuMemAddressFree(memory, 4 * GRANULE));
    OK(cuMemRelease(handles[0]));
}

static void no_rights(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr memory;
    open_device(0);
    OK(cuMemCreate(&handle, GRANULE, &shared_by_fd, 0));
    OK(cuMemAddressReserve(&memory, GRANULE, 0, 0, 0));
    OK(cuMemMap(memory, GRANULE, 0, handle, 0));
    OK(launch_add(memory, memory, 1, NULL));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void export_fd(int peer)
{
    CUmemGenericAllocationHandle handle;
    CUmemFabricHandle fabric;
    int fd;
    open_device(0);
    OK(cuMemCreate(&handle, GRANULE, &shared_by_fd, 0));
    CUdeviceptr memory = map_handle(handle, GRANULE);
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(peer, fd);
    close(fd);
    OK(cuMemsetD32(memory, 4, 10));
    OK(cuCtxSynchronize());
    meet(peer);
    meet(peer);
    SAME(int_at(memory + GRANULE - 4), 5);
}

static void import_fd(int peer)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp properties;
    int fd = receive_fd(peer), other = dup(0);
    open_device(0);
    GIVES(CUDA_ERROR_UNKNOWN,
          cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)other,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, handle));
    SAME(properties.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr memory = map_handle(handle, GRANULE);
    meet(peer);
    SAME(int_at(memory + 36), 4);
    OK(cuMemsetD32(memory + GRANULE - 4, 5, 1));
    OK(cuCtxSynchronize());
    meet(peer);
}

static void by_fd(void)
{
    run_two(export_fd, import_fd);
}

static void export_fabric(int peer)
{
    CUmemAllocationProp properties = shared_by_fd;
    CUmemGenericAllocationHandle handle;
    CUmemFabricHandle fabric;
    open_device(0);
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    OK(cuMemCreate(&handle, GRANULE, &properties, 0));
    CUdeviceptr memory = map_handle(handle, GRANULE);
    OK(cuMemsetD32(memory, 4, 10));
    OK(cuCtxSynchronize());
    OK(cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    send_to(peer, &fabric, sizeof(fabric));
    meet(peer);
}

static void import_fabric(int peer)
{
    CUmemGenericAllocationHandle handle;
    CUmemFabricHandle fabric;
    open_device(0);
    receive_from(peer, &fabric, sizeof(fabric));
    OK(cuMemImportFromShareableHandle(&handle, &fabric, CU_MEM_HANDLE_TYPE_FABRIC));
    SAME(int_at(map_handle(handle, GRANULE) + 36), 4);
    meet(peer);
}

static void by_fabric(void)
{
    run_two(export_fabric, import_fabric);
}

/* Devices may say that they have fabric handles where the process has no IMEX channel. */
static void no_fabric(void)
{
    CUmemAllocationProp properties = shared_by_fd;
    CUmemGenericAllocationHandle handle;
    int has_fabric;
    open_device(0);
    OK(cuDeviceGetAttribute(&has_fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    GIVES(has_fabric ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_SUPPORTED,
          cuMemCreate(&handle, GRANULE, &properties, 0));
}

/* ---- pools ---- */

static void pools(void)
{
    CUmemoryPool pool, found;
    CUdeviceptr memory, other, start;
    cuuint64_t used;
    size_t bytes;
    int fd;
    open_device(0);
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
    OK(cuMemAllocAsync(&memory, 102400, NULL));
    OK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    CHECK(found == pool);
    OK(cuMemsetD32Async(memory, 3, 25000, NULL));
    SAME(int_at(memory + 99996), 3);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used >= 102400);
    /* both ranges are those of the single allocation */
    OK(cuMemAllocAsync(&other, 4096, NULL));
    SAME(word_at(memory + 8, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), memory);
    SAME(word_at(memory + 8, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 102400);
    SAME(word_at(other + 50, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), other);
    SAME(word_at(other + 50, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 4096);
    OK(cuMemGetAddressRange(&start, &bytes, other + 50));
    SAME(start, other);
    SAME(bytes, 4096);
    OK(cuMemFreeAsync(memory, NULL));
    OK(cuMemFree(other));
    OK(cuCtxSynchronize());
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    if (!is_driver_real()) /* driver 580 still counts what cuMemFree() has freed */
        SAME(used, 0);
}

static const CUmemPoolProps pool_by_fd = {
    .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
    .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static void export_pool(int peer)
{
    CUmemoryPool pool;
    CUdeviceptr memory, first;
    CUmemPoolPtrExportData data;
    int fd;
    open_device(0);
    OK(cuMemPoolCreate(&pool, &pool_by_fd));
    OK(cuMemAllocFromPoolAsync(&first, 1000, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&memory, 100000, pool, NULL));
    OK(cuMemsetD32Async(memory, 6, 25000, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemPoolExportPointer(&data, memory));
    send_fd(peer, fd);
    send_to(peer, &data, sizeof(data));
    meet(peer);
    SAME(int_at(memory + 99996), 7);
    OK(cuMemFreeAsync(memory, NULL));
    OK(cuMemPoolDestroy(pool));
    OK(cuMemFree(first));
}

static void import_pool(int peer)
{
    CUmemoryPool pool;
    CUdeviceptr memory, none;
    CUmemPoolPtrExportData data;
    int fd = receive_fd(peer);
    receive_from(peer, &data, sizeof(data));
    open_device(0);
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 100, pool, NULL));
    OK(cuMemPoolImportPointer(&memory, pool, &data));
    SAME(int_at(memory), 6);
    OK(cuMemsetD32(memory + 99996, 7, 1));
    OK(cuCtxSynchronize());
    OK(cuMemFreeAsync(memory, NULL));
    OK(cuCtxSynchronize());
    meet(peer);
}

static void pool_of_another(void)
{
    run_two(export_pool, import_pool);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"legacy", "devices=2", legacy, 0},
        {"legacy in two contexts", "devices=2", two_contexts, 0},
        {"legacy with a context each", "", a_context_each, 0},
        {"legacy without a peer", "devices=2,peers=none", without_peer, 0},
        {"legacy of a device that is not seen", "devices=2", unseen, 0},
        {"legacy of a device that is withheld", "devices=2,per_task=1", withheld, 0},
        {"legacy refuses", "", legacy_refuses, 0},
        {"events", "lazy,late=20", events, 0},
        {"virtual memory", "", virtual_memory, 0},
        {"virtual memory without rights", "", no_rights, 0},
        {"virtual memory by descriptor", "", by_fd, 0},
        {"virtual memory by fabric handle", "fabric", by_fabric, 0},
        {"no channel for fabric handles", "", no_fabric, 0},
        {"no fabric", "capability=86", no_fabric, 0},
        {"pools", "", pools, 0},
        {"a pool of another process", "", pool_of_another, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
