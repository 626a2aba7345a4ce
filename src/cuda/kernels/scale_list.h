/* SPDX-License-Identifier: BSD-3-Clause */
/* The types whose elements a kernel multiplies and divides (scale.cu): the machine type, the C type
 * of an element, and the type to compute with. */
#ifndef WEFT_CUDA_KERNELS_SCALE_LIST_H
#define WEFT_CUDA_KERNELS_SCALE_LIST_H

#include <stdint.h>

/* clang-format off */

#define WEFT_SCALED_NUMBERS(X)                                                                     \
    X(I8, int8_t, int64_t)                                                                         \
    X(U8, uint8_t, uint64_t)                                                                       \
    X(I32, int32_t, int64_t)                                                                       \
    X(U32, uint32_t, uint64_t)                                                                     \
    X(I64, int64_t, int64_t)                                                                       \
    X(U64, uint64_t, uint64_t)                                                                     \
    X(F32, float, float)                                                                           \
    X(F64, double, double)

#define WEFT_SCALED_SMALL_FLOATS(X)                                                                \
    X(F16, uint16_t, float)                                                                        \
    X(BF16, uint16_t, float)                                                                       \
    X(E4M3, uint8_t, float)                                                                        \
    X(E5M2, uint8_t, float)

#define WEFT_SCALED(X) WEFT_SCALED_NUMBERS(X) WEFT_SCALED_SMALL_FLOATS(X)

/* clang-format on */

/** The number by which the kernel's arguments name a type; 0: none. */
typedef enum weft_scaled {
    WEFT_NOT_SCALED,
#define WEFT_ENUMERATE(name, item_t, wide_t) WEFT_SCALED_##name,
    WEFT_SCALED(WEFT_ENUMERATE)
#undef WEFT_ENUMERATE
} weft_scaled_t;

#endif
