/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast memory ("Multicast Object Management" of the driver's manual). One process makes an
 * object and exports a file descriptor, the others import it; each adds its device, then binds
 * memory of its own:
 *
 *   object   all  ---+-- the same place in the memory of each device: for multimem accesses of
 *   kernels only memory   own  ---+   this device's, for all others
 *
 * Both have addresses in each process.
 */
#ifndef WEFT_CUDA_CUDA_MULTICAST_H
#define WEFT_CUDA_CUDA_MULTICAST_H

#include "cuda/cuda_queue.h"

/* As the functions of runtime/device.h. */
bool wefti_can_multicast(weft_device_t *device, const struct weft_op *op,
                         const struct weft_type *type);
weft_multicast_t *wefti_multicast_make(weft_device_t *device, int members);
weft_multicast_t *wefti_multicast_join(weft_device_t *device, const weft_multicast_share_t *share);
bool wefti_multicast_bind(weft_multicast_t *multicast, weft_event_t *cleared);
void wefti_multicast_close(weft_multicast_t *multicast, bool is_in_use);
int wefti_multicast(weft_queue_t *queue, const weft_multicast_call_t *call);

/** At the end of MPI: what was left. */
void wefti_multicasts_close(void);

#endif
