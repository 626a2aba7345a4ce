/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/context_set.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

/* Between an eighth and three quarters of the slots are taken, but for the smallest table. */
enum { CAPACITY_LEAST = 16 };

static uint32_t slot_value(uint32_t context)
{
    return context | 1;
}

/* Multiplication by 2^64 / the golden ratio spreads numbers that follow each other. */
static size_t home_slot(const weft_context_set_t *set, uint32_t value)
{
    return (size_t)(value * (uint64_t)0x9e3779b97f4a7c15u >> 32) & (set->capacity - 1);
}

/* The slot of `value`, or the empty one where it would be. The table has an empty slot. */
static size_t slot_of_context(const weft_context_set_t *set, uint32_t value)
{
    size_t slot = home_slot(set, value);
    while (set->slots[slot] != 0 && set->slots[slot] != value)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

bool weft_context_set_has(const weft_context_set_t *set, uint32_t context)
{
    return set->count > 0 && set->slots[slot_of_context(set, slot_value(context))] != 0;
}

static bool resize(weft_context_set_t *set, size_t capacity)
{
    weft_context_set_t larger = {.slots = weft_alloc_zeroed(capacity, sizeof(uint32_t)),
                                 .capacity = capacity,
                                 .count = set->count};
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0)
            larger.slots[slot_of_context(&larger, set->slots[i])] = set->slots[i];
    }
    weft_free(set->slots);
    *set = larger;
    return true;
}

int weft_context_set_add(weft_context_set_t *set, uint32_t context)
{
    if (4 * (set->count + 1) > 3 * set->capacity &&
        !resize(set, set->capacity == 0 ? CAPACITY_LEAST : 2 * set->capacity))
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the contexts of %zu communicators",
                         set->count + 1);
    uint32_t value = slot_value(context);
    set->slots[slot_of_context(set, value)] = value;
    set->count++;
    return MPI_SUCCESS;
}

/* Values behind the hole that would not be found any more move into it. */
static void close_hole(weft_context_set_t *set, size_t hole)
{
    size_t mask = set->capacity - 1;
    for (size_t slot = (hole + 1) & mask; set->slots[slot] != 0; slot = (slot + 1) & mask) {
        size_t from_home = (slot - home_slot(set, set->slots[slot])) & mask;
        if (from_home < ((slot - hole) & mask))
            continue;
        set->slots[hole] = set->slots[slot];
        hole = slot;
    }
    set->slots[hole] = 0;
}

void weft_context_set_remove(weft_context_set_t *set, uint32_t context)
{
    if (set->count == 0)
        return;
    size_t slot = slot_of_context(set, slot_value(context));
    if (set->slots[slot] == 0)
        return;
    close_hole(set, slot);
    set->count--;
    /* Without memory for a smaller table the large one does as well. */
    if (set->capacity > CAPACITY_LEAST && 8 * set->count < set->capacity)
        (void)resize(set, set->capacity / 2);
}

void weft_context_set_clear(weft_context_set_t *set)
{
    weft_free(set->slots);
    *set = (weft_context_set_t){.slots = NULL};
}
