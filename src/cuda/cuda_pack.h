/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing typed device memory: one run of bytes by a copy, else by a kernel, else block by block. A
 * kernel reads the type's layout as a shape (kernels/move_shape.h), which is made at the first use
 * and kept with the type; its lists are put on each device that needs them.
 */
#ifndef WEFT_CUDA_CUDA_PACK_H
#define WEFT_CUDA_CUDA_PACK_H

#include "cuda/cuda_queue.h"

/* As the functions of runtime/device.h. */
int wefti_pack(weft_queue_t *queue, const weft_packing_t *packing);
int wefti_unpack(weft_queue_t *queue, const weft_packing_t *packing);

void wefti_shapes_open(void);
void wefti_shapes_close(void);

#endif
