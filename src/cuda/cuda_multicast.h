/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast memory ("Multicast Object Management" of the driver's manual). One process makes an
 * object and exports a file descriptor, the others get it (runtime/fd_mail.h) and import it. Each
 * adds its device, then binds memory of its own. Both the object and the memory have addresses in
 * each process:
 *
 *   all   the object: an access reaches the same place in the memory of each device; only
 *         multimem instructions of kernels may use this address
 *   own   the memory of this device, for all other accesses
 *
 * An object for a buffer of the program has its memory in place of Weft's, which is `own`.
 */
#ifndef WEFT_CUDA_CUDA_MULTICAST_H
#define WEFT_CUDA_CUDA_MULTICAST_H

#include "cuda/cuda_queue.h"

/* These do what the functions of runtime/device.h promise. */
bool wefti_can_multicast(weft_device_t *device, const struct weft_op *op,
                         const struct weft_type *type);
weft_multicast_t *wefti_multicast_make(weft_device_t *device, int members, size_t bytes);
weft_multicast_t *wefti_multicast_join(weft_device_t *device, const weft_multicast_share_t *share);
bool wefti_multicast_bind(weft_multicast_t *multicast, weft_event_t *cleared);
bool wefti_multicast_may_bind(void);
bool wefti_multicast_can_bind(weft_device_t *device, const weft_share_t *share, size_t bytes,
                              uint32_t *place_out);
bool wefti_multicast_bind_buffer(weft_multicast_t *multicast, const weft_share_t *share,
                                 size_t bytes);
void wefti_multicast_close(weft_multicast_t *multicast, bool is_in_use);
int wefti_multicast(weft_queue_t *queue, const weft_multicast_call_t *call);

/** The program has freed an allocation: what is bound of it is not used again. */
void wefti_multicast_forget(uint64_t id);
/** Unbind what was forgotten, unless the driver might have to wait for that. */
void wefti_multicasts_unbind_gone(void);

/** At the end of MPI: release all objects that are left. */
void wefti_multicasts_close(void);

#endif
