/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices the image of kernel_image.h runs on. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ARCHES_H
#define WEFT_CUDA_KERNELS_KERNEL_ARCHES_H

#include <stdbool.h>

typedef enum weft_kernel_fit {
    WEFT_KERNELS_NONE,     /* the image is for other devices, or there is none */
    WEFT_KERNELS_COMPILED, /* compiled code for this device */
    WEFT_KERNELS_PTX, /* the driver compiles them when they are first used, and keeps the result */
    /* compiled for the devices of the machine that built it, whatever these are */
    WEFT_KERNELS_NATIVE,
} weft_kernel_fit_t;

/** The architectures, separated by blanks, such as "75 80 90"; or "native"; "" if there is no
 * image. */
extern const char *const weft_kernel_arches;

/** The release of CUDA whose nvcc compiled the image ("12.8"), the least driver that takes it
 * ("550.54"), and the same as cuDriverGetVersion counts (12040). "" and 0: not known. */
extern const char *const weft_kernel_toolkit, *const weft_kernel_driver;
extern const int weft_kernel_cuda;

/** Do kernels that were compiled for `arches`, and that exist as PTX of architecture `ptx` (0: no
 * PTX), run on a device of this capability (90 is 9.0)? Code runs on later minor versions of its
 * major one (CUDA C++ Programming Guide, "Binary Compatibility"). */
weft_kernel_fit_t weft_kernel_fit_of(const char *arches, int ptx, int capability);

/** The same question for the image of this library. */
weft_kernel_fit_t weft_kernel_fit(int capability);

/** Does such an image have multicast kernels that run on a device of this capability? */
bool weft_kernel_multicasts_of(const char *arches, int ptx, int capability);

/** The same question for the image of this library. */
bool weft_kernel_multicasts(int capability);

/** The words of the report: "compiled for it", "none for it", ... */
const char *weft_kernel_fit_text(weft_kernel_fit_t fit);

#endif
