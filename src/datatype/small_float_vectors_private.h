/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floats of 16 and 8 bits as vectors of floats: the functions of small_float_plain_private.h for 8
 * or 16 at once. Loops over the plain functions, compiled for AVX2, sum 1.5 GB/s (F16) and 5.8 GB/s
 * (BF16); these sum 26 and 11 (gcc 12, 16 KiB, a Xeon of 2.8 GHz). Empty without F16C.
 */
#ifndef WEFT_DATATYPE_SMALL_FLOAT_VECTORS_PRIVATE_H
#define WEFT_DATATYPE_SMALL_FLOAT_VECTORS_PRIVATE_H

#ifdef __F16C__
#include "datatype/op_list.h"
#include "datatype/small_float.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#define WEFT_FLOATS_OF_F16(halves) _mm512_cvtph_ps((__m256i)(halves))
#define WEFT_F16_OF_FLOATS(floats) _mm512_cvtps_ph((__m512)(floats), _MM_FROUND_TO_NEAREST_INT)
#define WEFT_WIDENED(halves)       _mm512_cvtepu16_epi32((__m256i)(halves))
#define WEFT_NARROWED(bits)        _mm512_cvtepi32_epi16((__m512i)(bits))
#define WEFT_HALVES_OF(bytes)      _mm256_cvtepu8_epi16(bytes)
#define WEFT_BYTES_OF(bits)        _mm512_cvtepi32_epi8((__m512i)(bits))
enum { WEFT_SMALL_FLOATS_AT_ONCE = 16 };
#else
#define WEFT_FLOATS_OF_F16(halves) _mm256_cvtph_ps((__m128i)(halves))
#define WEFT_F16_OF_FLOATS(floats) _mm256_cvtps_ph((__m256)(floats), _MM_FROUND_TO_NEAREST_INT)
#define WEFT_WIDENED(halves)       _mm256_cvtepu16_epi32((__m128i)(halves))
#define WEFT_NARROWED(bits)                                                                        \
    _mm_packus_epi32(_mm256_castsi256_si128((__m256i)(bits)),                                      \
                     _mm256_extracti128_si256((__m256i)(bits), 1))
#define WEFT_HALVES_OF(bytes) _mm_cvtepu8_epi16(bytes)
#define WEFT_BYTES_OF(bits)   _mm_packus_epi16(WEFT_NARROWED(bits), _mm_setzero_si128())
enum { WEFT_SMALL_FLOATS_AT_ONCE = 8 };
#endif

typedef float weft_floats_t __attribute__((vector_size(4 * WEFT_SMALL_FLOATS_AT_ONCE)));
typedef uint32_t weft_bits_t __attribute__((vector_size(4 * WEFT_SMALL_FLOATS_AT_ONCE)));
typedef int32_t weft_ints_t __attribute__((vector_size(4 * WEFT_SMALL_FLOATS_AT_ONCE)));
typedef uint16_t weft_halves_t __attribute__((vector_size(2 * WEFT_SMALL_FLOATS_AT_ONCE)));

/* C has no ?: for vectors. */
#define WEFT_PICK_BITS(condition, yes, no)                                                         \
    (((weft_bits_t)(yes) & (weft_bits_t)(condition)) |                                             \
     ((weft_bits_t)(no) & ~(weft_bits_t)(condition)))
#undef WEFT_PICK
#define WEFT_PICK(condition, yes, no) (weft_floats_t) WEFT_PICK_BITS(condition, yes, no)

static inline weft_floats_t weft_load_F16(const void *from)
{
    weft_halves_t halves;
    memcpy(&halves, from, sizeof(halves));
    weft_floats_t floats = (weft_floats_t)WEFT_FLOATS_OF_F16(halves);
    /* Without this clang 14 turns a comparison of the floats into one of halves, element by
     * element: 0.9 GB/s instead of 20. */
    __asm__("" : "+x"(floats));
    return floats;
}

static inline void weft_store_F16(void *to, weft_floats_t values)
{
    const weft_halves_t halves = (weft_halves_t)WEFT_F16_OF_FLOATS(values);
    memcpy(to, &halves, sizeof(halves));
}

static inline weft_floats_t weft_load_BF16(const void *from)
{
    weft_halves_t halves;
    memcpy(&halves, from, sizeof(halves));
    return (weft_floats_t)((weft_bits_t)WEFT_WIDENED(halves) << 16);
}

/* Rounds to the nearest, ties to even. A NaN made of 16-bit operands has zeros in its lower half,
 * so rounding does not change it. */
static inline void weft_store_BF16(void *to, weft_floats_t values)
{
    const weft_bits_t bits = (weft_bits_t)values, odd = bits >> 16 & 1;
    const weft_bits_t rounded = (bits + 0x7fff + odd) >> 16;
    const weft_halves_t halves = (weft_halves_t)WEFT_NARROWED(rounded);
    memcpy(to, &halves, sizeof(halves));
}

static inline weft_halves_t weft_load_bytes(const void *from)
{
    __m128i bytes = _mm_setzero_si128();
    memcpy(&bytes, from, WEFT_SMALL_FLOATS_AT_ONCE);
    return (weft_halves_t)WEFT_HALVES_OF(bytes);
}

static inline void weft_store_bytes(void *to, weft_bits_t bits)
{
    const __m128i bytes = WEFT_BYTES_OF(bits);
    memcpy(to, &bytes, WEFT_SMALL_FLOATS_AT_ONCE);
}

/* All bits of magnitudes are below that of the sign, so they may be compared as signed integers,
 * for which AVX2 has an instruction. */
static inline weft_bits_t weft_narrower_magnitudes(weft_bits_t magnitude, uint32_t fraction,
                                                   uint32_t bias)
{
    const uint32_t shift = WEFT_FLOAT_FRACTION - fraction;
    const uint32_t unit = (bias + 1 + shift) << WEFT_FLOAT_FRACTION;
    const weft_floats_t shifted = (weft_floats_t)magnitude + weft_float_of_bits(unit);
    const weft_bits_t subnormal = (weft_bits_t)shifted - unit, odd = magnitude >> shift & 1;
    const weft_bits_t normal =
        magnitude - (bias << WEFT_FLOAT_FRACTION) + ((1u << (shift - 1)) - 1) + odd;
    const int32_t least_normal = (int32_t)((bias + 1) << WEFT_FLOAT_FRACTION);
    return WEFT_PICK_BITS((weft_ints_t)magnitude < least_normal, subnormal, normal >> shift);
}

/* An E4M3 with the fraction and exponent of an F16 is too small by 2^8, the difference of their
 * biases; its NaN becomes 480, which no number of the format is. */
static inline weft_floats_t weft_load_E4M3(const void *from)
{
    const weft_halves_t items = weft_load_bytes(from);
    const weft_halves_t halves = (items & 0x80) << 8 | (items & 0x7f) << 7;
    weft_floats_t floats = (weft_floats_t)WEFT_FLOATS_OF_F16(halves) * 256;
    const weft_bits_t bits = (weft_bits_t)floats, magnitude = bits & 0x7fffffff;
    return (weft_floats_t)(bits |
                           ((weft_bits_t)(magnitude == WEFT_E4M3_OVERFLOW) & WEFT_FLOAT_NAN));
}

static inline void weft_store_E4M3(void *to, weft_floats_t values)
{
    const weft_bits_t magnitude = (weft_bits_t)values & 0x7fffffff;
    weft_bits_t items = weft_narrower_magnitudes(magnitude, WEFT_E4M3_FRACTION, WEFT_E4M3_BIAS);
    items =
        WEFT_PICK_BITS((weft_ints_t)magnitude >= WEFT_E4M3_OVERFLOW, (weft_bits_t){} + 0x7f, items);
    weft_store_bytes(to, items | ((weft_bits_t)values >> 24 & 0x80));
}

static inline weft_floats_t weft_load_E5M2(const void *from)
{
    const weft_halves_t halves = weft_load_bytes(from) << 8;
    weft_floats_t floats = (weft_floats_t)WEFT_FLOATS_OF_F16(halves);
    __asm__("" : "+x"(floats)); /* as for F16 */
    return floats;
}

static inline void weft_store_E5M2(void *to, weft_floats_t values)
{
    const weft_bits_t magnitude = (weft_bits_t)values & 0x7fffffff;
    const weft_bits_t is_nan = (weft_bits_t)((weft_ints_t)magnitude > WEFT_FLOAT_INFINITY);
    weft_bits_t items = weft_narrower_magnitudes(magnitude, WEFT_E5M2_FRACTION, WEFT_F16_BIAS);
    items = WEFT_PICK_BITS((weft_ints_t)magnitude >= WEFT_F16_OVERFLOW, 0x7c | (is_nan & 2), items);
    weft_store_bytes(to, items | ((weft_bits_t)values >> 24 & 0x80));
}

#endif
#endif
