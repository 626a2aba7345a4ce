/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels. The image is loaded into a context when the first kernel is wanted there, and
 * a function is looked up when it is first launched. Where there are no kernels (built without
 * nvcc, or the driver does not take the image) that is said once, and the callers have another way.
 */
#ifndef WEFT_CUDA_CUDA_KERNELS_H
#define WEFT_CUDA_CUDA_KERNELS_H

#include "cuda/cuda_queue.h"

/** Has the device kernels at all? */
bool wefti_has_kernels(weft_device_t *device);

void wefti_kernels_release(weft_device_t *device, bool is_alive);

#endif
