/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BASE_LEAST_H
#define WEFT_BASE_LEAST_H

#include <stddef.h>

static inline size_t weft_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
