/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BASE_TEXT_HASH_H
#define WEFT_BASE_TEXT_HASH_H

#include <stdint.h>

/** FNV-1a: the same on all machines, and no secret. */
static inline uint32_t weft_text_hash(const char *text)
{
    uint32_t hash = 2166136261U;
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619U;
    return hash;
}

#endif
