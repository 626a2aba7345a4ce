/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of members of a communicator: a bit for each rank. */
#ifndef WEFT_FT_MEMBER_SET_PRIVATE_H
#define WEFT_FT_MEMBER_SET_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool set_has(const uint8_t *set, int rank)
{
    return (set[rank / 8] >> rank % 8 & 1) != 0;
}

static inline void set_add(uint8_t *set, int rank)
{
    set[rank / 8] |= (uint8_t)(1u << rank % 8);
}

static inline void set_join(uint8_t *set, const uint8_t *more, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        set[i] |= more[i];
}

static inline bool sets_meet(const uint8_t *one, const uint8_t *two, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((one[i] & two[i]) != 0)
            return true;
    }
    return false;
}

#endif
