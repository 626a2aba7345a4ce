/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_arches.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>

enum { MULTICAST_LEAST = 90 }; /* on older devices these kernels only trap */

const char *const weft_kernel_arches = WEFT_KERNEL_ARCHES;
const char *const weft_kernel_toolkit = WEFT_KERNEL_TOOLKIT;
const char *const weft_kernel_driver = WEFT_KERNEL_DRIVER;
const int weft_kernel_cuda = WEFT_KERNEL_CUDA;

weft_kernel_fit_t weft_kernel_fit_of(const char *arches, int ptx, int capability)
{
    if (strcmp(arches, "native") == 0)
        return WEFT_KERNELS_NATIVE;
    char *end;
    for (long arch = strtol(arches, &end, 10); arch > 0; arch = strtol(end, &end, 10)) {
        if (arch / 10 == capability / 10 && arch <= capability)
            return WEFT_KERNELS_COMPILED;
    }
    return ptx > 0 && ptx <= capability ? WEFT_KERNELS_PTX : WEFT_KERNELS_NONE;
}

weft_kernel_fit_t weft_kernel_fit(int capability)
{
    return weft_kernel_fit_of(weft_kernel_arches, WEFT_KERNEL_PTX, capability);
}

bool weft_kernel_multicasts_of(const char *arches, int ptx, int capability)
{
    switch (weft_kernel_fit_of(arches, ptx, capability)) {
    case WEFT_KERNELS_COMPILED:
    case WEFT_KERNELS_NATIVE:
        return capability >= MULTICAST_LEAST;
    case WEFT_KERNELS_PTX:
        return ptx >= MULTICAST_LEAST;
    default:
        return false;
    }
}

bool weft_kernel_multicasts(int capability)
{
    return weft_kernel_multicasts_of(weft_kernel_arches, WEFT_KERNEL_PTX, capability);
}

const char *weft_kernel_fit_text(weft_kernel_fit_t fit)
{
    switch (fit) {
    case WEFT_KERNELS_COMPILED:
        return "compiled for it";
    case WEFT_KERNELS_PTX:
        return "from PTX, compiled by the driver at their first use";
    case WEFT_KERNELS_NATIVE:
        return "compiled for the devices of the machine that built Weft";
    default:
        return "none for it";
    }
}
