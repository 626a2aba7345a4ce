/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions between float and the 16-bit formats, which are held as their bits. They are plain
 * arithmetic without branches, so that compilers vectorise loops over them on every processor, and
 * devices without such instructions can use them too.
 *
 *   F16   1 sign, 5 exponent, 10 fraction bits    IEEE 754 binary16
 *   BF16  1 sign, 8 exponent, 7 fraction bits     the upper half of a float
 *
 * Every NaN becomes one quiet NaN with the sign kept.
 */
#ifndef WEFT_DATATYPE_HALF_H
#define WEFT_DATATYPE_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define WEFT_HALF_INLINE static inline __host__ __device__
#else
#define WEFT_HALF_INLINE static inline
#endif

enum {
    WEFT_FLOAT_MANTISSA = 23,
    WEFT_F16_SHIFT = WEFT_FLOAT_MANTISSA - 10,    /* from a half's fraction to a float's */
    WEFT_F16_BIAS = 127 - 15,                     /* of the exponents */
    WEFT_F16_EXPONENT = 0x7c00 << WEFT_F16_SHIFT, /* at its place in a float */
    WEFT_F16_NORMAL = (WEFT_F16_BIAS + 1)
                      << WEFT_FLOAT_MANTISSA, /* the least normal half, as a float */
    WEFT_F16_OVERFLOW = (WEFT_F16_BIAS + 31) << WEFT_FLOAT_MANTISSA, /* 2^16 */
    /* The float whose last bit is worth the least half. */
    WEFT_F16_UNIT = (WEFT_F16_BIAS + 1 + WEFT_F16_SHIFT) << WEFT_FLOAT_MANTISSA,
    WEFT_FLOAT_INFINITY = 0x7f800000,
};

WEFT_HALF_INLINE float weft_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

WEFT_HALF_INLINE uint32_t weft_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/** Exact. A subnormal half gets an exponent that is too large by one bit, which a subtraction
 * removes. */
WEFT_HALF_INLINE float weft_float_of_F16(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << WEFT_F16_SHIFT;
    uint32_t exponent = magnitude & WEFT_F16_EXPONENT;
    uint32_t normal = magnitude + ((uint32_t)WEFT_F16_BIAS << WEFT_FLOAT_MANTISSA);
    uint32_t special = normal + ((uint32_t)WEFT_F16_BIAS << WEFT_FLOAT_MANTISSA);
    float subnormal =
        weft_float_of_bits(magnitude + WEFT_F16_NORMAL) - weft_float_of_bits(WEFT_F16_NORMAL);
    uint32_t bits = exponent == WEFT_F16_EXPONENT ? special : normal;
    bits = exponent == 0 ? weft_bits_of_float(subnormal) : bits;
    return weft_float_of_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

/** Rounds to the nearest, ties to even. */
WEFT_HALF_INLINE uint16_t weft_F16_of_float(float value)
{
    uint32_t bits = weft_bits_of_float(value), sign = bits & 0x80000000u, magnitude = bits ^ sign;
    uint32_t infinite = magnitude > WEFT_FLOAT_INFINITY ? 0x7e00 : 0x7c00; /* NaN or infinity */
    float shifted = weft_float_of_bits(magnitude) + weft_float_of_bits(WEFT_F16_UNIT);
    uint32_t subnormal = weft_bits_of_float(shifted) - WEFT_F16_UNIT;
    uint32_t odd = magnitude >> WEFT_F16_SHIFT & 1;
    uint32_t rounded = magnitude - ((uint32_t)WEFT_F16_BIAS << WEFT_FLOAT_MANTISSA) +
                       (1u << (WEFT_F16_SHIFT - 1)) - 1 + odd;
    uint32_t half = magnitude < WEFT_F16_NORMAL ? subnormal : rounded >> WEFT_F16_SHIFT;
    half = magnitude >= WEFT_F16_OVERFLOW ? infinite : half;
    return (uint16_t)(half | sign >> 16);
}

/** Exact. */
WEFT_HALF_INLINE float weft_float_of_BF16(uint16_t half)
{
    return weft_float_of_bits((uint32_t)half << 16);
}

/** Rounds to the nearest, ties to even; a carry out of the fraction gives the next exponent,
 *  or infinity. */
WEFT_HALF_INLINE uint16_t weft_BF16_of_float(float value)
{
    uint32_t bits = weft_bits_of_float(value), odd = bits >> 16 & 1;
    uint32_t rounded = (bits + 0x7fff + odd) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)((bits & 0x7fffffff) > WEFT_FLOAT_INFINITY ? nan : rounded);
}

#endif
