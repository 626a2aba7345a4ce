/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 16-bit floats as vectors of floats: the functions of half_plain_private.h for 8 or 16 at once.
 * Loops over the plain functions, compiled for AVX2, sum 1.5 GB/s (F16) and 5.8 GB/s (BF16); these
 * sum 26 and 11 (gcc 12, 16 KiB, a Xeon of 2.8 GHz). Empty without F16C.
 */
#ifndef WEFT_DATATYPE_HALF_VECTORS_PRIVATE_H
#define WEFT_DATATYPE_HALF_VECTORS_PRIVATE_H

#ifdef __F16C__
#include "datatype/op_list.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#define WEFT_FLOATS_OF_F16(halves) _mm512_cvtph_ps((__m256i)(halves))
#define WEFT_F16_OF_FLOATS(floats) _mm512_cvtps_ph((__m512)(floats), _MM_FROUND_TO_NEAREST_INT)
#define WEFT_WIDENED(halves)       _mm512_cvtepu16_epi32((__m256i)(halves))
#define WEFT_NARROWED(bits)        _mm512_cvtepi32_epi16((__m512i)(bits))
enum { WEFT_HALVES_AT_ONCE = 16 };
#else
#define WEFT_FLOATS_OF_F16(halves) _mm256_cvtph_ps((__m128i)(halves))
#define WEFT_F16_OF_FLOATS(floats) _mm256_cvtps_ph((__m256)(floats), _MM_FROUND_TO_NEAREST_INT)
#define WEFT_WIDENED(halves)       _mm256_cvtepu16_epi32((__m128i)(halves))
#define WEFT_NARROWED(bits)                                                                        \
    _mm_packus_epi32(_mm256_castsi256_si128((__m256i)(bits)),                                      \
                     _mm256_extracti128_si256((__m256i)(bits), 1))
enum { WEFT_HALVES_AT_ONCE = 8 };
#endif

typedef float weft_floats_t __attribute__((vector_size(4 * WEFT_HALVES_AT_ONCE)));
typedef uint32_t weft_bits_t __attribute__((vector_size(4 * WEFT_HALVES_AT_ONCE)));
typedef uint16_t weft_halves_t __attribute__((vector_size(2 * WEFT_HALVES_AT_ONCE)));

/* C has no ?: for vectors. */
#undef WEFT_PICK
#define WEFT_PICK(condition, yes, no)                                                              \
    (weft_floats_t)(((weft_bits_t)(yes) & (weft_bits_t)(condition)) |                              \
                    ((weft_bits_t)(no) & ~(weft_bits_t)(condition)))

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

#endif
#endif
