/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing typed buffers into streams of bytes, and unpacking. The packed form is the data of the
 * elements in the order of the type map, without gaps. Any part of a stream can be packed or
 * unpacked by itself, in any order: a seek costs a division for each level and a binary search for
 * each list, and no state is kept. All types are committed. Buffers that overlap give undefined
 * data.
 */
#ifndef WEFT_DATATYPE_PACK_H
#define WEFT_DATATYPE_PACK_H

#include "datatype/type.h"

#include <stddef.h>

/** Write bytes [offset, offset + bytes) of the packed stream of `count` elements at `buf` to `out`.
 *  Returns the bytes written: fewer than asked for where the stream ends. */
size_t weft_pack(const void *buf, size_t count, const weft_type_t *type, size_t offset, void *out,
                 size_t bytes);

/** The reverse: `in` holds bytes [offset, offset + bytes) of the stream. Returns the bytes taken.
 */
size_t weft_unpack(void *buf, size_t count, const weft_type_t *type, size_t offset, const void *in,
                   size_t bytes);

/** One side of a copy. */
typedef struct weft_elements {
    void *buf; /* the source is only read */
    size_t count;
    const weft_type_t *type;
} weft_elements_t;

/** Copy typed data within this process; stops where the shorter stream ends. Returns the bytes. */
size_t weft_copy_elements(const weft_elements_t *from, const weft_elements_t *to);

/** As weft_copy_elements(), its arguments spread out. */
static inline size_t weft_copy_typed(const void *from_buf, size_t from_count,
                                     const weft_type_t *from_type, void *to_buf, size_t to_count,
                                     const weft_type_t *to_type)
{
    return weft_copy_elements(&(weft_elements_t){(void *)from_buf, from_count, from_type},
                              &(weft_elements_t){to_buf, to_count, to_type});
}

#endif
