/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching kernels. The image is loaded into a context when the first kernel is wanted there, and
 * a function when it is first launched; but all are loaded before a stream may wait for other
 * ranks. Where there are no kernels (the library was built without nvcc, or the driver refuses the
 * image) one notice says so, and the callers work without them.
 */
#ifndef WEFT_CUDA_CUDA_KERNELS_H
#define WEFT_CUDA_CUDA_KERNELS_H

#include "cuda/cuda_queue.h"
#include "cuda/kernels/kernel_calls.h"

/** Does the device have kernels at all? */
bool wefti_has_kernels(weft_device_t *device);

/** Load all kernels and make all queues now: before a stream of the context may wait for other
 * ranks, in a kernel or at a gate. Otherwise that is done at first use, and the driver may then
 * wait for all work under way in the context ("Lazy Loading" in the CUDA C++ Programming Guide), so
 * for those ranks. Returns false if a queue cannot be made. */
bool wefti_prepare_waits(weft_device_t *device);

/** The number of the device's multiprocessors, at least 1. */
unsigned wefti_processors(weft_device_t *device);

/** Put the launch of a kernel into a queue whose device has kernels. `about` goes into the text of
 * an error. After an error the queue is empty. */
int wefti_launch(weft_queue_t *queue, weft_kernel_call_t *call, const char *about);

/** Put the launch of a kernel into a stream of the program, on a device that has kernels. */
int wefti_launch_in(weft_device_t *device, weft_cu_stream_t stream, weft_kernel_call_t *call);

/* These do what the functions of runtime/device.h promise. */
bool wefti_can_reduce(weft_device_t *device, const struct weft_op *op,
                      const struct weft_type *type);
int wefti_reduce(weft_queue_t *queue, const weft_reduction_t *reduction);
int wefti_copy_many(weft_queue_t *queue, const weft_piece_t *pieces, size_t count, bool are_local);

void wefti_kernels_release(weft_device_t *device, bool is_alive);

#endif
