/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_device.h"

#include "cuda/cuda_report.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_queue.h"
#include "runtime/fd_mail.h"
#include "runtime/host_devices.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/mps_program.h"
#include "base/text_hash.h"
#include "mpi.h"

#include <string.h>

weft_device_t *wefti_devices;

/* ---- visiting a context ---- */

int wefti_device_enter(const weft_device_t *device, weft_visit_t *out)
{
    weft_cu_result_t result = wefti_cu.cuCtxPushCurrent(device->context);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuCtxPushCurrent", "device %s", device->pci);
    out->capture_mode = WEFT_CU_CAPTURE_RELAXED;
    wefti_cu.cuThreadExchangeStreamCaptureMode(&out->capture_mode);
    return MPI_SUCCESS;
}

void wefti_device_leave(weft_visit_t *visit)
{
    weft_cu_context_t context;
    wefti_cu.cuThreadExchangeStreamCaptureMode(&visit->capture_mode);
    wefti_cu.cuCtxPopCurrent(&context);
}

/* ---- finding them ---- */

static unsigned long long id_of(weft_cu_context_t context)
{
    unsigned long long id = 0;
    if (wefti_cu.cuCtxGetId == NULL || wefti_cu.cuCtxGetId(context, &id) != WEFT_CU_SUCCESS)
        return 0;
    return id;
}

static int describe_device(weft_device_t *device)
{
    weft_visit_t visit;
    int err = wefti_device_enter(device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuCtxGetDevice(&device->number);
    if (result == WEFT_CU_SUCCESS)
        result = wefti_cu.cuDeviceGetUuid(&device->uuid, device->number);
    if (result == WEFT_CU_SUCCESS)
        result = wefti_cu.cuDeviceGetPCIBusId(device->pci, sizeof(device->pci), device->number);
    if (result == WEFT_CU_SUCCESS)
        result = wefti_cu.cuDeviceTotalMem(&device->bytes, device->number);
    if (result == WEFT_CU_SUCCESS)
        result = wefti_cu.cuDeviceGetAttribute(&device->time_limits, WEFT_CU_DEVICE_TIME_LIMIT,
                                               device->number);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuDeviceGetUuid", "a device of the program's");
    return MPI_SUCCESS;
}

/* A user has one for each folder that this variable names. */
uint64_t wefti_mps_of_number(weft_cu_device_t number)
{
    int by_mps = 0;
    const char *folder = weft_environment(WEFT_MPS_PIPES);
    if (wefti_cu.cuDeviceGetAttribute(&by_mps, WEFT_CU_DEVICE_BY_MPS, number) != WEFT_CU_SUCCESS ||
        by_mps == 0)
        return 0;
    return weft_text_hash(folder == NULL ? WEFT_MPS_PIPES_DEFAULT : folder) | 1U;
}

static int create_device(weft_cu_context_t context, unsigned long long id, weft_device_t **out)
{
    weft_device_t *device = weft_alloc_zeroed(1, sizeof(*device));
    if (device == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to manage a device");
    device->context = context;
    device->context_id = id;
    memcpy(device->pci, "(new)", sizeof("(new)"));
    int err = describe_device(device);
    if (err != MPI_SUCCESS) {
        weft_free(device);
        return err;
    }
    device->next = wefti_devices;
    wefti_devices = device;
    wefti_cuda_report_news(device);
    weft_fd_mail_open();
    device->mps = wefti_mps_of_number(device->number);
    device->place = weft_host_device_enter(device->uuid.bytes, weft_world.local_rank, device->mps);
    *out = device;
    return MPI_SUCCESS;
}

bool wefti_device_is_shared(const weft_device_t *device)
{
    return weft_host_device_is_shared(device->place);
}

int wefti_device_of_context(weft_cu_context_t context, weft_device_t **out)
{
    unsigned long long id = id_of(context);
    for (weft_device_t *device = wefti_devices; device != NULL; device = device->next) {
        if (device->context != context || device->is_dead)
            continue;
        if (device->context_id == id) {
            *out = device;
            return MPI_SUCCESS;
        }
        /* the device's context was destroyed, and another one has its address */
        device->is_dead = true;
    }
    return create_device(context, id, out);
}

bool wefti_device_lives(weft_device_t *device)
{
    device->is_dead |= id_of(device->context) != device->context_id;
    return !device->is_dead;
}

static weft_cu_context_t current_context_on(weft_cu_device_t number)
{
    weft_cu_context_t context = NULL;
    weft_cu_device_t current;
    if (wefti_cu.cuCtxGetCurrent(&context) != WEFT_CU_SUCCESS || context == NULL)
        return NULL;
    return wefti_cu.cuCtxGetDevice(&current) == WEFT_CU_SUCCESS && current == number ? context
                                                                                     : NULL;
}

/* Retains the primary context if it is active, and releases it at once: only its address is needed,
 * and the program decides how long it lives. */
static weft_cu_context_t primary_context(weft_cu_device_t number)
{
    unsigned flags;
    int is_active = 0;
    weft_cu_context_t context = NULL;
    if (wefti_cu.cuDevicePrimaryCtxGetState(number, &flags, &is_active) != WEFT_CU_SUCCESS ||
        !is_active || wefti_cu.cuDevicePrimaryCtxRetain(&context, number) != WEFT_CU_SUCCESS)
        return NULL;
    wefti_cu.cuDevicePrimaryCtxRelease(number);
    return context;
}

int wefti_device_of_number(weft_cu_device_t number, weft_device_t **out)
{
    weft_cu_context_t context = current_context_on(number);
    if (context == NULL)
        context = primary_context(number);
    if (context == NULL)
        return weft_fail(MPI_ERR_OTHER,
                         "memory of CUDA device %d cannot be worked on: the program has no context "
                         "there; make one current (cudaSetDevice, cuCtxSetCurrent) before the call",
                         number);
    return wefti_device_of_context(context, out);
}

weft_cu_device_t wefti_device_number(const uint8_t uuid[16])
{
    int count = 0;
    if (wefti_cu.cuDeviceGetCount(&count) != WEFT_CU_SUCCESS)
        return -1;
    for (int i = 0; i < count; i++) {
        weft_cu_device_t number;
        weft_cu_uuid_t found;
        if (wefti_cu.cuDeviceGet(&number, i) == WEFT_CU_SUCCESS &&
            wefti_cu.cuDeviceGetUuid(&found, number) == WEFT_CU_SUCCESS &&
            memcmp(found.bytes, uuid, sizeof(found.bytes)) == 0)
            return number;
    }
    return -1;
}

bool wefti_device_of_uuid(const uint8_t uuid[16], weft_device_t **out)
{
    for (weft_device_t *device = wefti_devices; device != NULL; device = device->next) {
        if (!device->is_dead && memcmp(device->uuid.bytes, uuid, sizeof(device->uuid.bytes)) == 0)
            return wefti_device_of_context(device->context, out) == MPI_SUCCESS;
    }
    weft_cu_device_t number = wefti_device_number(uuid);
    return number >= 0 && wefti_device_of_number(number, out) == MPI_SUCCESS;
}

/* ---- the end ---- */

static void release_device(weft_device_t *device)
{
    weft_visit_t visit;
    bool is_alive = !device->is_dead && id_of(device->context) == device->context_id &&
                    wefti_device_enter(device, &visit) == MPI_SUCCESS;
    wefti_kernels_release(device, is_alive);
    wefti_queues_release(device, is_alive);
    wefti_scratch_release(device, is_alive);
    wefti_pinned_release(device, is_alive);
    if (is_alive)
        wefti_device_leave(&visit);
    weft_free(device);
}

void wefti_devices_close(void)
{
    while (wefti_devices != NULL) {
        weft_device_t *device = wefti_devices;
        wefti_devices = device->next;
        release_device(device);
    }
    weft_fail_clear();
}
