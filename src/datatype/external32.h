/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The "external32" form of typed data (MPI 5.0, section 14.5.2): the basic elements in the order of
 * the type map, without gaps, big-endian, of the same sizes on all machines. MPI_LONG and
 * MPI_UNSIGNED_LONG have 4 bytes there, MPI_WCHAR has 2, MPI_LONG_DOUBLE is an IEEE binary128; of
 * an integer that is too large the least significant bytes are taken.
 */
#ifndef WEFT_DATATYPE_EXTERNAL32_H
#define WEFT_DATATYPE_EXTERNAL32_H

#include "datatype/pack.h"
#include "datatype/type.h"

#include <stddef.h>

/** Bytes of one element of a predefined type. */
size_t weft_external_size_of_basic(const weft_type_t *type);

/** Bytes of one element; never more than type->size. */
static inline size_t weft_external_size(const weft_type_t *type)
{
    return type->is_predefined ? weft_external_size_of_basic(type) : type->external_size;
}

/** Write `count` elements of `type` to `out`. Their data are the packed stream of `native`: the
 * elements themselves, or bytes that were packed before. MPI_ERR_NO_MEM: for deep nests only. */
int weft_external_pack(const weft_type_t *type, size_t count, const weft_elements_t *native,
                       char *out);

/** The reverse. */
int weft_external_unpack(const weft_type_t *type, size_t count, const weft_elements_t *native,
                         const char *in);

#endif
