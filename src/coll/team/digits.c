/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/digits.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes `size` as a product; taking the largest factors first makes them few. */
static bool factorise(int size, int radix, weft_digits_t *out)
{
    *out = (weft_digits_t){.speakers = size};
    for (int factor = radix < size ? radix : size; factor > 1; factor--) {
        for (; size % factor == 0; size /= factor)
            out->factor[out->rounds++] = factor;
    }
    return size == 1;
}

/* The largest power of the radix, times a factor below the radix. */
static void take_power(int size, int radix, weft_digits_t *out)
{
    int power = 1;
    out->rounds = 0;
    for (; (int64_t)power * radix <= size; power *= radix)
        out->factor[out->rounds++] = radix;
    if (size / power > 1)
        out->factor[out->rounds++] = size / power;
    out->speakers = power * (size / power);
    out->pairs = size - out->speakers;
}

weft_digits_t weft_digits_of(int size, int radix)
{
    weft_digits_t digits;
    if (!factorise(size, radix, &digits))
        take_power(size, radix, &digits);
    return digits;
}

int weft_digits_rounds(int size, int radix)
{
    int rounds = 0;
    for (int64_t reached = 1; reached < size; reached *= radix)
        rounds++;
    return rounds;
}
