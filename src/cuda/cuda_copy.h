/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies, one by one: of any memory to any memory, of a batch, and of typed memory block by block.
 * Kernels do the latter two better (cuda_kernels.h); this is what there is without them.
 */
#ifndef WEFT_CUDA_CUDA_COPY_H
#define WEFT_CUDA_CUDA_COPY_H

#include "cuda/cuda_queue.h"

/* As the functions of runtime/device.h; each leaves the queue empty when it fails. */
int wefti_copy(weft_queue_t *queue, void *to, const void *from, size_t bytes);
int wefti_copy_pieces(weft_queue_t *queue, const weft_piece_t *pieces, size_t count);

/** Typed memory to packed bytes block by block, or (`is_packing` false) back. */
int wefti_copy_blocks(weft_queue_t *queue, const weft_packing_t *packing, bool is_packing);

#endif
