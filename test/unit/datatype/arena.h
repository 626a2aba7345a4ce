/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed buffers of a model's type, filled with random bytes. */
#ifndef TEST_UNIT_DATATYPE_ARENA_H
#define TEST_UNIT_DATATYPE_ARENA_H

#include "datatype/type_map.h"

/* A buffer for elements whose data reaches from `low` to `high` bytes around `at`. */
typedef struct arena {
    unsigned char *memory, *at;
    ptrdiff_t low;
    size_t bytes;
} arena_t;

static inline arena_t make_arena(const model_t *model, size_t count)
{
    ptrdiff_t low = 0, high = 1, extent = model->ub - model->lb;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < model->bytes; j++) {
            ptrdiff_t place = model->place[j] + (ptrdiff_t)i * extent;
            low = place < low ? place : low;
            high = place >= high ? place + 1 : high;
        }
    }
    arena_t arena = {.low = low, .bytes = (size_t)(high - low)};
    arena.memory = malloc(arena.bytes);
    arena.at = arena.memory - low;
    model_random_bytes(arena.memory, arena.bytes);
    return arena;
}

static inline ptrdiff_t place_of(const model_t *model, size_t stream_byte)
{
    ptrdiff_t element = (ptrdiff_t)(stream_byte / model->bytes);
    return model->place[stream_byte % model->bytes] + element * (model->ub - model->lb);
}

/* Does a byte of memory belong to two places of the stream? */
static inline bool overlaps(const model_t *model, size_t count, const arena_t *arena)
{
    bool *is_used = calloc(arena->bytes, 1), result = false;
    for (size_t i = 0; i < count * model->bytes; i++) {
        bool *used = &is_used[place_of(model, i) - arena->low];
        result |= *used;
        *used = true;
    }
    free(is_used);
    return result;
}

#endif
