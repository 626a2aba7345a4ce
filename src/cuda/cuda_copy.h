/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by calls of the driver: between any two kinds of memory, of a batch, and of typed memory
 * block by block. Kernels do the latter two better (cuda_kernels.h); this is the way without
 * kernels.
 */
#ifndef WEFT_CUDA_CUDA_COPY_H
#define WEFT_CUDA_CUDA_COPY_H

#include "cuda/cuda_queue.h"

/* These do what the functions of runtime/device.h promise. When one fails, the queue is empty. */
int wefti_copy(weft_queue_t *queue, void *to, const void *from, size_t bytes);
int wefti_copy_pieces(weft_queue_t *queue, const weft_piece_t *pieces, size_t count);

/** Copy typed memory to packed bytes, or (`is_packing` false) packed bytes to typed memory, block
 * by block. */
int wefti_copy_blocks(weft_queue_t *queue, const weft_packing_t *packing, bool is_packing);

/** The same in any stream of the device; may be called without the lock. */
int wefti_copy_blocks_in(weft_device_t *device, weft_cu_stream_t stream,
                         const weft_packing_t *packing, bool is_packing);

#endif
