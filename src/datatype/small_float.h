/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions between float and the formats of 16 and 8 bits, which are held as their bits. They
 * are plain arithmetic without branches, so that compilers vectorise loops over them on every
 * processor, and devices without such instructions can use them too.
 *
 *   F16   1 sign, 5 exponent, 10 fraction bits    IEEE 754 binary16
 *   BF16  1 sign, 8 exponent, 7 fraction bits     the upper half of a float
 *   E4M3  1 sign, 4 exponent, 3 fraction bits     no infinity; NaN: all bits but the sign
 *   E5M2  1 sign, 5 exponent, 2 fraction bits     the upper half of an F16
 *
 * The last two are those of the "OCP 8-bit Floating Point Specification" of 2023, without its
 * saturation: what is too large becomes infinity, or NaN where there is no infinity. Every NaN
 * becomes one quiet NaN with the sign kept.
 */
#ifndef WEFT_DATATYPE_SMALL_FLOAT_H
#define WEFT_DATATYPE_SMALL_FLOAT_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define WEFT_FLOAT_INLINE static inline __host__ __device__
#else
#define WEFT_FLOAT_INLINE static inline
#endif

enum {
    WEFT_FLOAT_FRACTION = 23,
    WEFT_F16_FRACTION = 10,
    WEFT_E4M3_FRACTION = 3,
    WEFT_E5M2_FRACTION = 2,
    WEFT_F16_BIAS = 127 - 15, /* of a float's exponent over the other's; E5M2 has the same */
    WEFT_E4M3_BIAS = 127 - 7,
    WEFT_F16_EXPONENT = 0x1f << WEFT_FLOAT_FRACTION,                 /* at its place in a float */
    WEFT_F16_OVERFLOW = (WEFT_F16_BIAS + 31) << WEFT_FLOAT_FRACTION, /* 2^16 */
    WEFT_E4M3_NAN = 0x7f << (WEFT_FLOAT_FRACTION - WEFT_E4M3_FRACTION),
    WEFT_E4M3_OVERFLOW = WEFT_E4M3_NAN + (WEFT_E4M3_BIAS << WEFT_FLOAT_FRACTION), /* 480 */
    WEFT_FLOAT_INFINITY = 0x7f800000,
    WEFT_FLOAT_NAN = 0x7fc00000,
};

WEFT_FLOAT_INLINE float weft_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

WEFT_FLOAT_INLINE uint32_t weft_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/** The float of a number without a sign whose exponent and fraction lie where a float's do, but
 * whose exponent is too small by `bias`. Exact. A subnormal number gets an exponent that is too
 * large by one bit, which a subtraction removes. */
WEFT_FLOAT_INLINE uint32_t weft_wider_magnitude(uint32_t magnitude, uint32_t bias)
{
    uint32_t least_normal = (bias + 1) << WEFT_FLOAT_FRACTION;
    float subnormal =
        weft_float_of_bits(magnitude + least_normal) - weft_float_of_bits(least_normal);
    uint32_t normal = magnitude + (bias << WEFT_FLOAT_FRACTION);
    return magnitude >> WEFT_FLOAT_FRACTION == 0 ? weft_bits_of_float(subnormal) : normal;
}

/** The bits of a float without a sign, rounded to the nearest, ties to even, in a format with
 * `fraction` bits. For subnormal results a number is added whose last bit is worth the least one of
 * the format. What is too large for the format gives nothing of use. */
WEFT_FLOAT_INLINE uint32_t weft_narrower_magnitude(uint32_t magnitude, uint32_t fraction,
                                                   uint32_t bias)
{
    uint32_t shift = WEFT_FLOAT_FRACTION - fraction, odd = magnitude >> shift & 1;
    uint32_t unit = (bias + 1 + shift) << WEFT_FLOAT_FRACTION;
    float shifted = weft_float_of_bits(magnitude) + weft_float_of_bits(unit);
    uint32_t subnormal = weft_bits_of_float(shifted) - unit;
    uint32_t normal = magnitude - (bias << WEFT_FLOAT_FRACTION) + (1u << (shift - 1)) - 1 + odd;
    return magnitude < (bias + 1) << WEFT_FLOAT_FRACTION ? subnormal : normal >> shift;
}

/** Exact. */
WEFT_FLOAT_INLINE float weft_float_of_F16(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << (WEFT_FLOAT_FRACTION - WEFT_F16_FRACTION);
    uint32_t bits = weft_wider_magnitude(magnitude, WEFT_F16_BIAS);
    bits += magnitude < WEFT_F16_EXPONENT ? 0 : (uint32_t)WEFT_F16_BIAS << WEFT_FLOAT_FRACTION;
    return weft_float_of_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

/** The bits of a float in a format with 5 exponent bits: F16 and E5M2. */
WEFT_FLOAT_INLINE uint32_t weft_short_exponent_of_float(float value, uint32_t fraction)
{
    uint32_t bits = weft_bits_of_float(value), sign = bits & 0x80000000u, magnitude = bits ^ sign;
    uint32_t infinity = 0x1fu << fraction, nan = infinity | 1u << (fraction - 1);
    uint32_t item = weft_narrower_magnitude(magnitude, fraction, WEFT_F16_BIAS);
    uint32_t special = magnitude > WEFT_FLOAT_INFINITY ? nan : infinity;
    item = magnitude >= WEFT_F16_OVERFLOW ? special : item;
    return item | sign >> (26 - fraction);
}

/** Rounds to the nearest, ties to even. */
WEFT_FLOAT_INLINE uint16_t weft_F16_of_float(float value)
{
    return (uint16_t)weft_short_exponent_of_float(value, WEFT_F16_FRACTION);
}

/** Exact. */
WEFT_FLOAT_INLINE float weft_float_of_BF16(uint16_t half)
{
    return weft_float_of_bits((uint32_t)half << 16);
}

/** Rounds to the nearest, ties to even; a carry out of the fraction gives the next exponent,
 *  or infinity. */
WEFT_FLOAT_INLINE uint16_t weft_BF16_of_float(float value)
{
    uint32_t bits = weft_bits_of_float(value), odd = bits >> 16 & 1;
    uint32_t rounded = (bits + 0x7fff + odd) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)((bits & 0x7fffffff) > WEFT_FLOAT_INFINITY ? nan : rounded);
}

/** Exact. */
WEFT_FLOAT_INLINE float weft_float_of_E4M3(uint8_t item)
{
    uint32_t magnitude = (uint32_t)(item & 0x7f) << (WEFT_FLOAT_FRACTION - WEFT_E4M3_FRACTION);
    uint32_t bits = weft_wider_magnitude(magnitude, WEFT_E4M3_BIAS);
    bits = magnitude == WEFT_E4M3_NAN ? (uint32_t)WEFT_FLOAT_NAN : bits;
    return weft_float_of_bits(bits | (uint32_t)(item & 0x80) << 24);
}

/** Rounds to the nearest, ties to even; beyond 464 to NaN. */
WEFT_FLOAT_INLINE uint8_t weft_E4M3_of_float(float value)
{
    uint32_t bits = weft_bits_of_float(value), sign = bits & 0x80000000u, magnitude = bits ^ sign;
    uint32_t item = weft_narrower_magnitude(magnitude, WEFT_E4M3_FRACTION, WEFT_E4M3_BIAS);
    item = magnitude >= WEFT_E4M3_OVERFLOW ? 0x7f : item;
    return (uint8_t)(item | sign >> 24);
}

/** Exact. */
WEFT_FLOAT_INLINE float weft_float_of_E5M2(uint8_t item)
{
    return weft_float_of_F16((uint16_t)(item << 8));
}

/** Rounds to the nearest, ties to even; from 61440 on to infinity. */
WEFT_FLOAT_INLINE uint8_t weft_E5M2_of_float(float value)
{
    return (uint8_t)weft_short_exponent_of_float(value, WEFT_E5M2_FRACTION);
}

#endif
