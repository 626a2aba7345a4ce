/* SPDX-License-Identifier: BSD-3-Clause */
/* 16-bit floats one at a time: loads and stores at any address, to and from floats. */
#ifndef WEFT_DATATYPE_HALF_PLAIN_PRIVATE_H
#define WEFT_DATATYPE_HALF_PLAIN_PRIVATE_H

#include "datatype/half.h"

#include <stdint.h>

enum { WEFT_HALVES_AT_ONCE = 1 };
typedef float weft_floats_t;

typedef uint16_t weft_loose_half_t __attribute__((aligned(1), may_alias));

#define WEFT_CONVERSIONS(name)                                                                     \
    static inline weft_floats_t weft_load_##name(const void *from)                                 \
    {                                                                                              \
        return weft_float_of_##name(*(const weft_loose_half_t *)from);                             \
    }                                                                                              \
    static inline void weft_store_##name(void *to, weft_floats_t value)                            \
    {                                                                                              \
        *(weft_loose_half_t *)to = weft_##name##_of_float(value);                                  \
    }
WEFT_CONVERSIONS(F16)
WEFT_CONVERSIONS(BF16)

#endif
