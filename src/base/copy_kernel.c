/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy by vectors of WEFT_COPY_VECTOR bytes, compiled once for each instruction set. */
#include "base/copy.h"

#include <stdint.h>

typedef char copy_vector_t __attribute__((vector_size(WEFT_COPY_VECTOR), may_alias));
typedef char copy_unaligned_t __attribute__((vector_size(WEFT_COPY_VECTOR), may_alias, aligned(1)));

enum { VECTOR = WEFT_COPY_VECTOR, PART = 4 * VECTOR };

_Static_assert(2 * PART <= WEFT_COPY_LONG, "head and tail are a vector and a part");

static inline copy_unaligned_t load(const char *from)
{
    return *(const copy_unaligned_t *)from;
}

static inline void store(char *to, copy_unaligned_t vector)
{
    *(copy_unaligned_t *)to = vector;
}

/* Whole lines are loaded before they are stored, which keeps more of them on their way. */
void WEFT_COPY_KERNEL(void *to, const void *from, size_t bytes)
{
    char *at = to, *last = at + bytes - PART;
    const char *source = from, *source_last = source + bytes - PART;
    copy_unaligned_t first = load(source), a = load(source_last), b = load(source_last + VECTOR),
                     c = load(source_last + 2 * VECTOR), d = load(source_last + 3 * VECTOR);
    size_t skip = VECTOR - (uintptr_t)at % VECTOR;
    for (at += skip, source += skip; at < last; at += PART, source += PART) {
        copy_vector_t *part = (copy_vector_t *)(void *)at;
        copy_unaligned_t e = load(source), f = load(source + VECTOR), g = load(source + 2 * VECTOR),
                         h = load(source + 3 * VECTOR);
        part[0] = e;
        part[1] = f;
        part[2] = g;
        part[3] = h;
    }
    store(to, first);
    store(last, a);
    store(last + VECTOR, b);
    store(last + 2 * VECTOR, c);
    store(last + 3 * VECTOR, d);
}
