/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between long double and the bytes of an IEEE binary128 in native order. Not by the compiler's
 * conversions, which not every compiler has.
 *
 *   binary128:       sign 1 | exponent 15 | fraction 112, without the leading bit
 *   80 bits of x86:  sign 1 | exponent 15 | fraction 64, the leading bit first
 *
 * Both have the same bias, and exponent 0 and 1 are of the same scale.
 */
#ifndef WEFT_DATATYPE_BINARY128_PRIVATE_H
#define WEFT_DATATYPE_BINARY128_PRIVATE_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if LDBL_MANT_DIG == 113

static inline void weft_binary128_of(const char *long_double, char *out)
{
    memcpy(out, long_double, 16);
}

static inline void weft_binary128_to(const char *in, char *long_double)
{
    memcpy(long_double, in, 16);
}

#elif LDBL_MANT_DIG == 64

/** The 80 bits; a long double has bytes without meaning behind them. */
typedef struct weft_extended {
    uint64_t fraction;
    uint16_t sign_and_exponent;
} weft_extended_t;

enum { WEFT_EXTENDED_BYTES = 10, WEFT_EXPONENT_MOST = 0x7fff };
#define WEFT_LEADING_BIT ((uint64_t)1 << 63)
#define WEFT_QUIET_BIT   ((uint64_t)1 << 62)

static inline void weft_binary128_of(const char *long_double, char *out)
{
    weft_extended_t from;
    memcpy(&from, long_double, WEFT_EXTENDED_BYTES);
    uint64_t top = from.sign_and_exponent;
    /* A leading bit with exponent 0 means the same with exponent 1. */
    if ((top & WEFT_EXPONENT_MOST) == 0 && (from.fraction & WEFT_LEADING_BIT) != 0)
        top++;
    uint64_t low_high[2] = {from.fraction << 49, top << 48 | from.fraction << 1 >> 16};
    memcpy(out, low_high, 16);
}

/* To the nearest of 64 bits, a tie to the even one. A carry out of the fraction is right as it is:
 * the exponent grows by one, from 0 to 1 or to infinity. */
static inline void weft_round_extended(weft_extended_t *value, uint64_t next_bit, uint64_t rest)
{
    uint64_t before = value->fraction;
    if (next_bit == 0 || (rest == 0 && (before & 1) == 0))
        return;
    value->fraction++;
    if ((before & WEFT_LEADING_BIT) != (value->fraction & WEFT_LEADING_BIT)) {
        value->fraction = WEFT_LEADING_BIT;
        value->sign_and_exponent++;
    }
}

static inline void weft_binary128_to(const char *in, char *long_double)
{
    uint64_t low_high[2];
    memcpy(low_high, in, 16);
    weft_extended_t to = {.fraction = low_high[1] << 16 >> 1 | low_high[0] >> 49,
                          .sign_and_exponent = (uint16_t)(low_high[1] >> 48)};
    uint64_t cut_off = low_high[0] << 15, exponent = to.sign_and_exponent & WEFT_EXPONENT_MOST;
    bool is_nan = exponent == WEFT_EXPONENT_MOST && (to.fraction != 0 || cut_off != 0);
    if (exponent != 0)
        to.fraction |= WEFT_LEADING_BIT;
    if (is_nan)
        to.fraction |= WEFT_QUIET_BIT;
    else
        weft_round_extended(&to, cut_off >> 63, cut_off << 1);
    memset(long_double, 0, sizeof(long double));
    memcpy(long_double, &to, WEFT_EXTENDED_BYTES);
}

#else
#error "external32 does not know this compiler's long double"
#endif

#endif
