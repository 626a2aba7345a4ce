/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_report.h"

#include "cuda/bar.h"
#include "cuda/kernels/kernel_arches.h"
#include "base/config.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static bool is_reported;  /* once, at least: before, no device is news */
static char reported[16]; /* the PCI id of the device in it */

static bool current_device(weft_cu_device_t *out)
{
    weft_cu_context_t context = NULL;
    return wefti_cu.cuCtxGetCurrent(&context) == WEFT_CU_SUCCESS && context != NULL &&
           wefti_cu.cuCtxGetDevice(out) == WEFT_CU_SUCCESS;
}

/* The device that was used last, else the one whose context is current. */
static bool choose_reported_device(weft_cu_device_t *out)
{
    for (const weft_device_t *device = wefti_devices; device != NULL; device = device->next) {
        *out = device->number;
        if (!device->is_dead)
            return true;
    }
    return current_device(out);
}

static void look_at_peers(weft_cu_device_t own, weft_gpu_report_t *gpu)
{
    int count = 0;
    wefti_cu.cuDeviceGetCount(&count);
    for (int i = 0; i < count && gpu->seen_count < WEFT_GPUS_MAX; i++) {
        weft_cu_device_t peer;
        weft_cu_uuid_t uuid;
        int is_reached = 0;
        if (wefti_cu.cuDeviceGet(&peer, i) != WEFT_CU_SUCCESS ||
            wefti_cu.cuDeviceGetUuid(&uuid, peer) != WEFT_CU_SUCCESS)
            continue;
        if (peer != own)
            wefti_cu.cuDeviceCanAccessPeer(&is_reached, own, peer);
        if (peer == own || is_reached != 0)
            gpu->reached |= 1U << gpu->seen_count;
        memcpy(gpu->seen[gpu->seen_count++], uuid.bytes, sizeof(uuid.bytes));
    }
}

static void look_at_kernels(weft_cu_device_t device, weft_rank_report_t *report)
{
    int major = 0, minor = 0;
    wefti_cu.cuDeviceGetAttribute(&major, WEFT_CU_DEVICE_CAPABILITY_MAJOR, device);
    wefti_cu.cuDeviceGetAttribute(&minor, WEFT_CU_DEVICE_CAPABILITY_MINOR, device);
    weft_kernel_fit_t fit = weft_kernel_fit(10 * major + minor);
    snprintf(report->gpu.kernels, sizeof(report->gpu.kernels), "%s", weft_kernel_fit_text(fit));
    if (weft_kernel_arches[0] == '\0')
        weft_rank_report_warn(
            report,
            "Weft was built without nvcc: reductions of device memory go through the host, and "
            "derived datatypes block by block; build it where there is one");
    else if (fit == WEFT_KERNELS_NONE)
        weft_rank_report_warn(
            report,
            "Weft's kernels are for %s, this GPU has capability %d.%d: reductions go through the "
            "host; configure --with-cuda-arch=%d%d",
            weft_kernel_arches, major, minor, major, minor);
    else if (fit == WEFT_KERNELS_PTX)
        weft_rank_report_warn(
            report,
            "the driver compiles Weft's kernels when they are first used, which takes seconds "
            "once; configure --with-cuda-arch=%d%d",
            major, minor);
}

/* GDRCopy is only looked for when a small message could use it, so at most the report at the end
 * can tell. */
static void look_at_bar(weft_rank_report_t *report)
{
    if (wefti_bar_state() == WEFT_BAR_NO_LIBRARY)
        weft_rank_report_warn(
            report,
            "GDRCopy (libgdrapi.so.2) is not installed: small messages of device memory go through "
            "pinned memory, which takes some microseconds more");
    else if (wefti_bar_state() == WEFT_BAR_NO_MODULE)
        weft_rank_report_warn(report, "GDRCopy is installed, but its kernel module (gdrdrv) is not "
                                      "there or may not be used: small "
                                      "messages of device memory take some microseconds more");
}

static void note_settings(weft_rank_report_t *report)
{
    if (strcmp(weft_config.DEVICE_IPC, "no") == 0)
        weft_rank_report_warn(
            report,
            "WEFT_DEVICE_IPC=no: device memory goes between the ranks of a host through pinned "
            "memory, at the speed of the bus; leave it out");
}

void wefti_cuda_report(struct weft_rank_report *report)
{
    weft_cu_device_t device;
    weft_cu_uuid_t uuid;
    weft_gpu_report_t *gpu = &report->gpu;
    is_reported = true;
    if (!wefti_driver_find())
        return;
    gpu->state = WEFT_GPU_NO_CONTEXT;
    if (!choose_reported_device(&device) ||
        wefti_cu.cuDeviceGetPCIBusId(gpu->pci, sizeof(gpu->pci), device) != WEFT_CU_SUCCESS ||
        wefti_cu.cuDeviceGetUuid(&uuid, device) != WEFT_CU_SUCCESS)
        return;
    gpu->state = WEFT_GPU_KNOWN;
    memcpy(gpu->uuid, uuid.bytes, sizeof(gpu->uuid));
    gpu->mps = wefti_mps_of_number(device);
    memcpy(reported, gpu->pci, sizeof(reported));
    look_at_peers(device, gpu);
    look_at_kernels(device, report);
    look_at_bar(report);
    note_settings(report);
}

void wefti_cuda_report_news(const weft_device_t *device)
{
    if (is_reported && weft_config.REPORT && strcmp(reported, device->pci) != 0)
        weft_log_write(WEFT_INFO, "cuda", "works on GPU %s", device->pci);
    else
        WEFT_LOG(WEFT_INFO, "cuda", "works on device %s", device->pci);
}
