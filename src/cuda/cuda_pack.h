/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing typed device memory: a single run of bytes by a copy, other layouts by a kernel, and
 * without kernels block by block. A kernel reads the type's layout as a shape
 * (kernels/move_shape.h), which is made at the first use and kept with the type. The shape's lists
 * are copied to each device that needs them.
 */
#ifndef WEFT_CUDA_CUDA_PACK_H
#define WEFT_CUDA_CUDA_PACK_H

#include "cuda/cuda_queue.h"
#include "runtime/device_stream.h"

/* These do what the functions of runtime/device.h promise. */
int wefti_pack(weft_queue_t *queue, const weft_packing_t *packing);
int wefti_unpack(weft_queue_t *queue, const weft_packing_t *packing);

/* These do what the functions of runtime/device_stream.h promise. */
weft_packer_t wefti_stream_find_packer(const weft_user_stream_t *stream, struct weft_type *type);
int wefti_stream_put_packing(weft_user_stream_t *stream, const weft_packing_t *packing,
                             weft_packer_t packer, bool is_packing);

void wefti_shapes_open(void);
void wefti_shapes_close(void);

#endif
