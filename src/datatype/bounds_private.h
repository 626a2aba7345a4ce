/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size and bounds of a type map that grows block by block (MPI 5.0, section 5.1). Arithmetic that
 * exceeds 64 bits sets has_overflow; the other members then have no meaning.
 */
#ifndef WEFT_DATATYPE_BOUNDS_PRIVATE_H
#define WEFT_DATATYPE_BOUNDS_PRIVATE_H

#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_bounds {
    MPI_Aint size, elements;
    size_t external_size; /* at most `size` */
    MPI_Aint lb, ub, true_lb, true_ub;
    unsigned short alignment;
    bool has_entries, has_data, has_markers, has_overflow;
} weft_bounds_t;

/** a * b and a + b; an overflow is noted in `bounds`. */
MPI_Aint weft_bounds_times(weft_bounds_t *bounds, MPI_Aint a, MPI_Aint b);
MPI_Aint weft_bounds_plus(weft_bounds_t *bounds, MPI_Aint a, MPI_Aint b);

/** Add `count` elements of `type`, one extent apart, the first at `displacement` bytes. */
void weft_bounds_add(weft_bounds_t *bounds, const weft_type_t *type, MPI_Aint displacement,
                     MPI_Aint count);

/** Pad the extent to the strictest alignment, as C does with structs. Explicit bounds stay. */
void weft_bounds_pad(weft_bounds_t *bounds);

/** Give `type` these bounds; MPI_ERR_COUNT when they overflowed. */
int weft_bounds_apply(weft_bounds_t *bounds, weft_type_t *type);

#endif
