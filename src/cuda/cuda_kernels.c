/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_kernels.h"

#include "cuda/kernels/kernel_image.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

struct weft_kernels {
    weft_cu_module_t module; /* NULL: there are none */
};

static void load(weft_device_t *device)
{
    weft_visit_t visit;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return;
    weft_cu_result_t result = wefti_cu.cuModuleLoadData(&device->kernels->module, weft_fatbin);
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS)
        return;
    device->kernels->module = NULL;
    WEFT_LOG(WEFT_WARN, "cuda",
             "device %s does not take Weft's kernels (cuModuleLoadData: %s): reductions go through "
             "the host, and derived datatypes block by block",
             device->pci, wefti_driver_error(result));
}

bool wefti_has_kernels(weft_device_t *device)
{
    if (weft_fatbin_bytes == 0)
        return false;
    if (device->kernels == NULL) {
        device->kernels = weft_alloc_zeroed(1, sizeof(*device->kernels));
        if (device->kernels == NULL)
            return false;
        load(device);
    }
    return device->kernels->module != NULL;
}

void wefti_kernels_release(weft_device_t *device, bool is_alive)
{
    if (device->kernels == NULL)
        return;
    if (is_alive && device->kernels->module != NULL)
        wefti_cu.cuModuleUnload(device->kernels->module);
    weft_free(device->kernels);
    device->kernels = NULL;
}
