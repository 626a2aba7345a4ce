/* SPDX-License-Identifier: BSD-3-Clause */
/* The instruction sets for which loops are compiled more than once, and which of them is used. */
#ifndef WEFT_BASE_SIMD_H
#define WEFT_BASE_SIMD_H

#include <stdbool.h>

/** Each has those before it. */
typedef enum weft_simd {
    WEFT_SIMD_BASE,   /* what every processor of the architecture has */
    WEFT_SIMD_AVX2,   /* with half precision conversions (F16C) */
    WEFT_SIMD_AVX512, /* F, BW, DQ and VL */
    WEFT_SIMD_SETS
} weft_simd_t;

/** The name of a set, as in WEFT_SIMD. */
const char *weft_simd_name(weft_simd_t set);

/** Does this processor have the set, and was it compiled? */
bool weft_simd_is_available(weft_simd_t set);

/** The best available set up to the one that weft_config.SIMD names. Warns when it names one that
 *  is not available. */
weft_simd_t weft_simd_choose(void);

/** Is this a processor of Intel's with AVX-512? */
bool weft_simd_is_intel_avx512(void);

/** Is this one of the first processors with AVX-512: Skylake, Cascade Lake, Cooper Lake? */
bool weft_simd_is_first_avx512(void);

/** Of `set` and narrower ones, the best for data that another core has just written. The first
 * processors with AVX-512 fetch further lines from the other core when they see more than one load
 * of a line, and a vector of 64 bytes is one load: on a Cascade Lake 16 KiB are written and read in
 * 3.0 us by vectors of 16 or 32 bytes, and in 3.5 by those of 64. */
weft_simd_t weft_simd_between_cores(weft_simd_t set);

#endif
