/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a device really reach another one's memory? On some machines the driver promises it, and
 * what is written gets lost (PCIe switches whose access control sends it through an IOMMU). Kernels
 * would wait for ever for what never comes, and copies would bring other data.
 *
 * The first rank of the host that shares memory of a device also shares an area with a known
 * pattern, in runtime/host_devices.h. Before memory of the device is first mapped for another one,
 * a rank of that one reads the pattern, writes another one and reads it back, by copies and by
 * kernels. The owner takes no part. The answer holds for all ranks of the host.
 */
#ifndef WEFT_CUDA_PEER_PROBE_H
#define WEFT_CUDA_PEER_PROBE_H

#include "cuda/cuda_device.h"

/** To be called before memory of the device is shared. It allocates and waits for a copy once. */
void wefti_probe_offer(weft_device_t *device);

typedef enum weft_reach {
    WEFT_REACHES,     /* also where nobody can tell: an area of this rank itself is not tried */
    WEFT_REACH_FAILS, /* a notice has said so, once for a host */
    WEFT_REACH_LATER, /* another rank is trying */
} weft_reach_t;

/** May memory of the device with this UUID, which is another one, be mapped for `device`? The first
 * call for two devices takes about a millisecond. */
weft_reach_t wefti_probe_reach(weft_device_t *device, const uint8_t owner_uuid[16]);

/** Is the area being mapped? If that is refused, nothing is known and nothing is said: memory of
 * another kind may be mapped all the same. */
bool wefti_is_probing(void);

#endif
