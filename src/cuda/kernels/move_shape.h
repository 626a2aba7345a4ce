/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of a datatype in the form that the move kernels take. It is made once for a type; its
 * lists, if it has any, are an image without addresses, which can be copied to memory that the
 * device reads.
 */
#ifndef WEFT_CUDA_KERNELS_MOVE_SHAPE_H
#define WEFT_CUDA_KERNELS_MOVE_SHAPE_H

#include "cuda/kernels/kernel_args.h"
#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_move_shape {
    size_t bytes; /* packed bytes of an element; 0: it has no data, and no other field is set */
    ptrdiff_t extent;
    weft_shape_node_t root; /* of one element */
    bool is_open;           /* the next element lies where the root's outermost level goes on */
    bool has_parts;
    size_t unit;      /* the largest of 1, 2, 4, 8 and 16 that divides every length and offset */
    size_t run_bytes; /* the average length of a run */
    void *image;      /* NULL: none is needed */
    size_t image_bytes;
} weft_move_shape_t;

/** Make the shape of a committed type. It does not refer to the type. Returns MPI_SUCCESS or
 * MPI_ERR_NO_MEM. */
int weft_move_shape_create(const weft_type_t *type, weft_move_shape_t *out);

/** Free the image. */
void weft_move_shape_clear(weft_move_shape_t *shape);

/** The widest access that lengths, offsets and addresses permit; `bits` is all of them combined by
 * OR. */
static inline size_t weft_unit_of(uintptr_t bits)
{
    bits |= WEFT_VECTOR_BYTES;
    return bits & -bits;
}

/** Prepare quick divisions by `value`, which is at least 1. */
weft_divisor_t weft_divisor_of(size_t value);

#endif
