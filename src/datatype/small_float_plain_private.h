/* SPDX-License-Identifier: BSD-3-Clause */
/* Floats of 16 and 8 bits one at a time: loads and stores at any address, to and from floats. */
#ifndef WEFT_DATATYPE_SMALL_FLOAT_PLAIN_PRIVATE_H
#define WEFT_DATATYPE_SMALL_FLOAT_PLAIN_PRIVATE_H

#include "datatype/op_list.h"
#include "datatype/small_float.h"

#include <stdint.h>

enum { WEFT_SMALL_FLOATS_AT_ONCE = 1 };
typedef float weft_floats_t;

#define WEFT_CONVERSIONS(name, ctype, ...)                                                         \
    typedef ctype weft_item_##name __attribute__((aligned(1), may_alias));                         \
    static inline weft_floats_t weft_load_##name(const void *from)                                 \
    {                                                                                              \
        return weft_float_of_##name(*(const weft_item_##name *)from);                              \
    }                                                                                              \
    static inline void weft_store_##name(void *to, weft_floats_t value)                            \
    {                                                                                              \
        *(weft_item_##name *)to = weft_##name##_of_float(value);                                   \
    }
WEFT_SMALL_FLOATS(WEFT_CONVERSIONS, )

#endif
