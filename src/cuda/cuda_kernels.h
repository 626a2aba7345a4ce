/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels. The image is loaded into a context when the first kernel is wanted there, and
 * a function is looked up when it is first launched. Where there are no kernels (built without
 * nvcc, or the driver does not take the image) that is said once, and the callers have another way.
 */
#ifndef WEFT_CUDA_CUDA_KERNELS_H
#define WEFT_CUDA_CUDA_KERNELS_H

#include "cuda/cuda_queue.h"
#include "cuda/kernels/kernel_calls.h"

/** Has the device kernels at all? */
bool wefti_has_kernels(weft_device_t *device);

/** Load all of them now: a kernel is loaded when it is first launched, and the driver may wait
 * for all that is under way in the context then ("Lazy Loading" in the CUDA C++ Programming
 * Guide). */
void wefti_kernels_preload(weft_device_t *device);

/** The multiprocessors of the device; at least 1. */
unsigned wefti_processors(weft_device_t *device);

/** Put the launch of a kernel into a queue whose device has them. `about` is for the text of an
 * error, with which the queue is empty. */
int wefti_launch(weft_queue_t *queue, weft_kernel_call_t *call, const char *about);

/* As the functions of runtime/device.h. */
bool wefti_can_reduce(weft_device_t *device, const struct weft_op *op,
                      const struct weft_type *type);
int wefti_reduce(weft_queue_t *queue, const weft_reduction_t *reduction);
int wefti_copy_many(weft_queue_t *queue, const weft_piece_t *pieces, size_t count);

void wefti_kernels_release(weft_device_t *device, bool is_alive);

#endif
