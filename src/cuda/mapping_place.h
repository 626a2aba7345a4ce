/* SPDX-License-Identifier: BSD-3-Clause */
/* On which device a peer's memory is mapped. */
#ifndef WEFT_CUDA_MAPPING_PLACE_H
#define WEFT_CUDA_MAPPING_PLACE_H

#include "cuda/cuda_device.h"

/** Can `device` reach memory of the device with the share's UUID? This is asked once for an
 * allocation. */
bool wefti_is_reachable(const weft_share_t *share, const weft_device_t *device);

/** The memory's own device, or any other one: the driver knows whether that one reaches the memory.
 * NULL: this process uses no device. */
weft_device_t *wefti_place_of_mapping(const weft_share_t *share);

#endif
