/* SPDX-License-Identifier: BSD-3-Clause */
/* For which devices the image of kernel_image.h is. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ARCHES_H
#define WEFT_CUDA_KERNELS_KERNEL_ARCHES_H

#include <stdbool.h>

typedef enum weft_kernel_fit {
    WEFT_KERNELS_NONE,     /* for other devices only, or there is no image */
    WEFT_KERNELS_COMPILED, /* as they are */
    WEFT_KERNELS_PTX, /* the driver compiles them when they are first used, and keeps the result */
    /* compiled for the devices of the machine that built them, whatever these are */
    WEFT_KERNELS_NATIVE,
} weft_kernel_fit_t;

/** Architectures with blanks between them, "75 80 90", or "native"; "": there is no image. */
extern const char *const weft_kernel_arches;

/** Do kernels that were compiled for `arches`, and are there as PTX of architecture `ptx` (0:
 * are not), run on a device of this capability (90 is 9.0)? Code runs on later minor versions of
 * its major one (CUDA C++ Programming Guide, "Binary Compatibility"). */
weft_kernel_fit_t weft_kernel_fit_of(const char *arches, int ptx, int capability);

/** The same of this library's. */
weft_kernel_fit_t weft_kernel_fit(int capability);

/** Has an image as above kernels for multicast that such a device runs? */
bool weft_kernel_multicasts_of(const char *arches, int ptx, int capability);

/** The same of this library's. */
bool weft_kernel_multicasts(int capability);

/** "compiled for it", "none for it", ...: what a user reads. */
const char *weft_kernel_fit_text(weft_kernel_fit_t fit);

#endif
