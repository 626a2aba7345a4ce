/* SPDX-License-Identifier: BSD-3-Clause */
/* Making canonical forms. */
#ifndef WEFT_DATATYPE_LAYOUT_PRIVATE_H
#define WEFT_DATATYPE_LAYOUT_PRIVATE_H

#include "datatype/envelope.h"
#include "datatype/layout.h"
#include "datatype/type.h"

/** An uncommitted type with one reference, and an envelope whose values and types are still to be
 * set. MPI_ERR_NO_MEM. */
int weft_type_create(const weft_envelope_shape_t *shape, weft_type_t **out);

/** Give `type` the size and the bounds of `expansion`, and at commit its layout: it has the same
 * type map. The reference to `expansion` goes over to the envelope. */
void weft_type_expand(weft_type_t *type, weft_type_t *expansion);

/** For weft_types_close(): free the types of weft_type_f90(). */
void weft_types_close_f90(void);

/** Bytes of the value of a predefined pair type. */
static inline size_t weft_pair_value_bytes(const weft_type_t *type)
{
    return type->layout.leaf == WEFT_LEAF_RUNS ? type->layout.runs[1].start : type->size / 2;
}

/** Give `type`, and the types it is made of, their layouts. MPI_ERR_NO_MEM. */
int weft_type_lay_out(weft_type_t *type);

/** Fold `count` repetitions of the layout, `stride` bytes apart, into it without new memory; false
 *  when no level is free and its outermost level cannot take them. */
bool weft_layout_fold(weft_layout_t *layout, size_t count, ptrdiff_t stride);

/** Do two bytes of the data surely lie at one place? Lists of parts are not looked into. */
bool weft_layout_overlaps(const weft_layout_t *layout);

/** Free what the layout owns. */
void weft_layout_clear(weft_layout_t *layout);

#endif
