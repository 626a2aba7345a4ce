/* SPDX-License-Identifier: BSD-3-Clause */
/* Floats of 16 and 8 bits by their definition, one at a time. */
#ifndef WEFT_TEST_UNIT_DATATYPE_SMALL_FLOAT_REFERENCE_H
#define WEFT_TEST_UNIT_DATATYPE_SMALL_FLOAT_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* IEEE half precision by the definition, in double. */
static inline double real_of_half(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
        magnitude = fraction == 0 ? (double)INFINITY : (double)NAN;
    return half & 0x8000 ? -magnitude : magnitude;
}

static inline uint16_t half_of_real(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    int exponent;
    if (isnan(value))
        return 0x7e00 | sign;
    if (magnitude >= 65520)
        return 0x7c00 | sign;
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent);
    int unit = exponent - 11 < -24 ? -24 : exponent - 11;
    double units = nearbyint(ldexp(magnitude, -unit));
    if (unit == -24)
        return (uint16_t)units | sign; /* a carry into the exponent is right */
    return (uint16_t)(((unit + 24) << 10) + (int)units) | sign;
}

/* bfloat16 is the upper half of a float: computed as floats and rounded to the nearest, ties to
 * even. */
static inline float float_of_upper(const void *at)
{
    uint16_t upper;
    memcpy(&upper, at, 2);
    uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t upper_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t low = bits & 0xffff, upper = bits >> 16;
    if (isnan(value))
        return 0x7fc0;
    return (uint16_t)(low > 0x8000 || (low == 0x8000 && upper % 2 == 1) ? upper + 1 : upper);
}

/* A float of 8 bits without its sign; `fraction` bits of it are the fraction. What stands for
 * infinity and NaN is taken as a number. */
static inline double magnitude_of_byte(int bits, int fraction)
{
    int bias = fraction == 3 ? 7 : 15, exponent = bits >> fraction, rest = bits % (1 << fraction);
    if (exponent == 0)
        return ldexp(rest, 1 - bias - fraction);
    return ldexp((1 << fraction) + rest, exponent - bias - fraction);
}

/* The least bits that are no number: in E5M2 infinity, and in E4M3 NaN. */
static inline int end_of_bytes(int fraction)
{
    return fraction == 3 ? 0x7f : 0x7c;
}

static inline float real_of_byte(uint8_t byte, int fraction)
{
    int bits = byte & 0x7f, end = end_of_bytes(fraction);
    double magnitude = magnitude_of_byte(bits, fraction);
    if (bits >= end)
        magnitude = bits == end && fraction == 2 ? (double)INFINITY : (double)NAN;
    return (float)(byte & 0x80 ? -magnitude : magnitude);
}

/* The nearest of all, and of two the even one. */
static inline uint8_t byte_of_real(float value, int fraction)
{
    double magnitude = fabs((double)value);
    int nearest = 0, end = end_of_bytes(fraction);
    for (int bits = 1; bits <= end; bits++) {
        double gain = fabs(magnitude_of_byte(nearest, fraction) - magnitude) -
                      fabs(magnitude_of_byte(bits, fraction) - magnitude);
        if (gain > 0 || (gain == 0 && bits % 2 == 0))
            nearest = bits;
    }
    if (isinf(value))
        nearest = end;
    if (isnan(value))
        nearest = 0x7f;
    return (uint8_t)(nearest | (signbit(value) ? 0x80 : 0));
}

#endif
