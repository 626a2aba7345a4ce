/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices a process sees, contexts, and cuGetProcAddress. */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUuuid uuid_of(int ordinal)
{
    CUuuid uuid;
    OK(cuDeviceGetUuid(&uuid, ordinal));
    return uuid;
}

static bool same_uuid(CUuuid a, CUuuid b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void not_before_init(void)
{
    int number;
    CUdeviceptr memory;
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&number));
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&memory, 8));
    OK(cuDriverGetVersion(&number));
    SAME(number, CUDA_VERSION);
}

static void all_are_seen(void)
{
    int count, value;
    char bus[2][16];
    CUdevice device;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    SAME(count, 4);
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 4));
    CHECK(!same_uuid(uuid_of(0), uuid_of(3)));
    OK(cuDeviceGetPCIBusId(bus[0], sizeof(bus[0]), 0));
    OK(cuDeviceGetPCIBusId(bus[1], sizeof(bus[1]), 2));
    CHECK(strcmp(bus[0], bus[1]) != 0);
    OK(cuDeviceGetByPCIBusId(&device, bus[1]));
    SAME(device, 2);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
    SAME(value, 8);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1));
    SAME(value, 6);
}

static void text_of(CUuuid uuid, char *out)
{
    out += sprintf(out, "GPU-");
    for (int i = 0; i < 16; i++)
        out += sprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                       uuid.bytes[i] & 0xff);
}

static void exporter_of_uuids(int peer)
{
    OK(cuInit(0));
    CUuuid all[3] = {uuid_of(0), uuid_of(1), uuid_of(2)};
    send_to(peer, all, sizeof(all));
}

/* Sees the last device and the first, in this order, named by a UUID and an index; the list ends
 * before a word that names no device. */
static void importer_of_uuids(int peer)
{
    CUuuid all[3];
    char list[80];
    int count;
    receive_from(peer, all, sizeof(all));
    text_of(all[2], list);
    strcat(list, ",0,none,1");
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    SAME(count, 2);
    CHECK(same_uuid(uuid_of(0), all[2]));
    CHECK(same_uuid(uuid_of(1), all[0]));
}

static void uuids_stay(void)
{
    run_two(exporter_of_uuids, importer_of_uuids);
}

static void none_is_seen(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

static void twice_spoils_all(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "1,1", 1);
    GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

static void exporter_of_task(int peer)
{
    int count;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    SAME(count, 2);
    CUuuid mine[2] = {uuid_of(0), uuid_of(1)};
    send_to(peer, mine, sizeof(mine));
}

static void importer_of_task(int peer)
{
    CUuuid others[2];
    receive_from(peer, others, sizeof(others));
    OK(cuInit(0));
    for (int i = 0; i < 4; i++)
        CHECK(!same_uuid(uuid_of(i / 2), others[i % 2]));
}

static void tasks_see_their_own(void)
{
    run_two(exporter_of_task, importer_of_task);
}

static void peers_as_told(void)
{
    int can;
    OK(cuInit(0));
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            OK(cuDeviceCanAccessPeer(&can, i, k));
            SAME(can, (i / 2 == k / 2) && i != k);
        }
    }
}

static void time_limits(void)
{
    int limit;
    OK(cuInit(0));
    OK(cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0));
    SAME(limit, 1);
}

static void client_of_mps(void)
{
    int is_client;
    OK(cuInit(0));
    OK(cuDeviceGetAttribute(&is_client, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
    SAME(is_client, 1);
}

/* Between devices 0 and 1, both ways: nothing fails, and nothing arrives. */
static void peers_lie(void)
{
    int all_ones = -1, back[4];
    CUcontext other = open_device(1);
    CUdeviceptr theirs = ints_on_device(4, 7);
    open_device(2);
    CUdeviceptr honest = ints_on_device(4, 8);
    CUcontext third;
    OK(cuCtxGetCurrent(&third));
    open_device(0);
    CUdeviceptr own = ints_on_device(4, 1);
    OK(cuCtxEnablePeerAccess(other, 0));
    OK(cuCtxEnablePeerAccess(third, 0));
    OK(cuMemcpyDtoD(theirs, own, 4));
    OK(launch_add(theirs + 4, own, 1, NULL));
    OK(cuMemsetD32(theirs + 8, 3, 1));
    OK(launch_add(honest, own, 1, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(other));
    OK(cuMemcpyDtoH(back, theirs, sizeof(back)));
    for (int i = 0; i < 4; i++)
        SAME(back[i], 7);
    open_device(0);
    OK(cuMemcpyDtoD(own, theirs, 4));
    OK(launch_add(own + 4, theirs, 1, NULL));
    OK(cuCtxSynchronize());
    SAME(int_at(own), all_ones);
    SAME(int_at(own + 4), 1 + all_ones);
    SAME(int_at(honest), 9);
}

static void primary_contexts(void)
{
    CUcontext context, again, current;
    unsigned flags;
    int is_active;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxGetState(1, &flags, &is_active));
    SAME(is_active, 0);
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuDevicePrimaryCtxRetain(&again, 1));
    CHECK(context == again);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    OK(cuCtxPushCurrent(context));
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(1));
    GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cuCtxPopCurrent(&current));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&current));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
}

static void stack_of_contexts(void)
{
    CUcontext first = open_device(0), second, current;
    CUdevice device;
    OK(cuCtxCreate_v4(&second, NULL, 0, 1));
    OK(cuCtxGetDevice(&device));
    SAME(device, 1);
    OK(cuCtxPopCurrent(&current));
    CHECK(current == second);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == first);
    OK(cuCtxSetCurrent(second));
    OK(cuCtxDestroy(second));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(second));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(first)); /* a primary one is released */
}

static void names_of_functions(void)
{
    void *found;
    CUdriverProcAddressQueryResult reason;
    OK(cuGetProcAddress("cuMemAlloc", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &reason));
    CHECK(found == (void *)cuMemAlloc);
    SAME(reason, CU_GET_PROC_ADDRESS_SUCCESS);
    if (!is_driver_real()) { /* driver 580 says success, and finds nothing */
        OK(cuGetProcAddress("cuMemAlloc_v2", &found, 12000, 0, &reason));
        CHECK(found != NULL);
    }
    GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNothing", &found, 12000, 0, &reason));
    SAME(reason, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuCtxCreate", &found, 3000, 0, &reason));
    SAME(reason, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuCtxCreate", &found, 12050, 0, &reason));
    CHECK(found == (void *)cuCtxCreate_v4);
    OK(cuGetProcAddress("cuCtxCreate", &found, 12000, 0, &reason));
    CHECK(found != (void *)cuCtxCreate_v4);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"not before cuInit", "", not_before_init, 0},
        {"all devices are seen", "devices=4,capability=86", all_are_seen, 0},
        {"UUIDs stay the same", "devices=3", uuids_stay, 0},
        {"none is seen", "devices=3", none_is_seen, 0},
        {"one that stands twice", "devices=3", twice_spoils_all, 0},
        {"tasks see their own", "devices=4,per_task=2", tasks_see_their_own, 0},
        {"peers", "devices=4,peers=0-1+2-3", peers_as_told, 0},
        {"time limits", "watchdog", time_limits, 0},
        {"a client of MPS", "mps=1", client_of_mps, 0},
        {"peers that lie", "devices=3,peers_lie=0-1", peers_lie, 0},
        {"primary contexts", "devices=2", primary_contexts, 0},
        {"the stack of contexts", "devices=2", stack_of_contexts, 0},
        {"names of functions", "", names_of_functions, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
