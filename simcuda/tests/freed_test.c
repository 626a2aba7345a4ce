/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that its owner has freed counts as used as long as another process has it mapped, or a
 * descriptor of it is open. */
#include "case.h"

#include <unistd.h>

static const CUmemAllocationProp shared_by_fd = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

enum { MOST = 40 << 20 }; /* of 64 MiB: there is no room for two */

static void free_while_mapped(int peer)
{
    CUdeviceptr memory, other;
    CUipcMemHandle handle;
    size_t left, total;
    open_device(0);
    OK(cuMemAlloc(&memory, MOST));
    OK(cuIpcGetMemHandle(&handle, memory));
    send_to(peer, &handle, sizeof(handle));
    meet(peer);
    OK(cuMemFree(memory));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&other, MOST));
    OK(cuMemGetInfo(&left, &total));
    CHECK(left < MOST);
    meet(peer);
    meet(peer);
    OK(cuMemAlloc(&other, MOST));
}

static void map_while_freed(int peer)
{
    CUdeviceptr memory;
    CUipcMemHandle handle;
    receive_from(peer, &handle, sizeof(handle));
    open_device(0);
    OK(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    meet(peer);
    meet(peer);
    OK(cuIpcCloseMemHandle(memory));
    meet(peer);
}

static void freed_but_mapped(void)
{
    run_two(free_while_mapped, map_while_freed);
}

/* A descriptor holds the memory, too. */
static void free_while_exported(int peer)
{
    CUmemGenericAllocationHandle handle, other;
    int fd;
    open_device(0);
    OK(cuMemCreate(&handle, MOST, &shared_by_fd, 0));
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemRelease(handle));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&other, MOST, &shared_by_fd, 0));
    send_fd(peer, fd);
    close(fd);
    meet(peer);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&other, MOST, &shared_by_fd, 0));
    meet(peer);
    meet(peer);
    OK(cuMemCreate(&other, MOST, &shared_by_fd, 0));
}

static void import_while_freed(int peer)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr memory;
    int fd = receive_fd(peer);
    open_device(0);
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(cuMemAddressReserve(&memory, MOST, 0, 0, 0));
    OK(cuMemMap(memory, MOST, 0, handle, 0));
    OK(cuMemRelease(handle));
    meet(peer);
    meet(peer);
    OK(cuMemUnmap(memory, MOST));
    meet(peer);
}

static void freed_but_exported(void)
{
    run_two(free_while_exported, import_while_freed);
}

int main(void)
{
    static const test_case_t cases[] = {{"freed but mapped", "memory=64M", freed_but_mapped, 0},
                                        {"freed but exported", "memory=64M", freed_but_exported, 0},
                                        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
