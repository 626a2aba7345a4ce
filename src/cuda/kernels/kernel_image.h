/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled kernels, for cuModuleLoadData(). */
#ifndef WEFT_CUDA_KERNELS_KERNEL_IMAGE_H
#define WEFT_CUDA_KERNELS_KERNEL_IMAGE_H

#include <stddef.h>

/** A fatbin for all architectures that the library was built for. */
extern const unsigned char weft_fatbin[];

/** 0 if the library was built without nvcc, so that there are no kernels. */
extern const size_t weft_fatbin_bytes;

#endif
