/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of a datatype as the kernels of moves take it. Made once for a type; its lists, if it
 * has any, are an image without addresses, to be copied to memory that the device reads.
 */
#ifndef WEFT_CUDA_KERNELS_MOVE_SHAPE_H
#define WEFT_CUDA_KERNELS_MOVE_SHAPE_H

#include "cuda/kernels/kernel_args.h"
#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_move_shape {
    size_t bytes; /* of an element, packed; 0: it has no data, and nothing else is set */
    ptrdiff_t extent;
    weft_shape_node_t root; /* of one element */
    bool is_open;           /* further elements lie where the root's last level goes on */
    bool has_parts;
    size_t unit;      /* divides every length and offset: 1, 2, 4, 8 or 16 */
    size_t run_bytes; /* of an average run */
    void *image;      /* NULL: none is needed */
    size_t image_bytes;
} weft_move_shape_t;

/** The shape of a committed type. It does not refer to the type. MPI_ERR_NO_MEM. */
int weft_move_shape_create(const weft_type_t *type, weft_move_shape_t *out);

/** Free the image. */
void weft_move_shape_clear(weft_move_shape_t *shape);

/** The widest access that lengths, offsets and addresses permit whose bits are put one over the
 * other. */
static inline size_t weft_unit_of(uintptr_t bits)
{
    bits |= WEFT_VECTOR_BYTES;
    return bits & -bits;
}

/** Make divisions by `value`, at least 1, quick. */
weft_divisor_t weft_divisor_of(size_t value);

#endif
