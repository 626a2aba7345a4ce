/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies by vectors of WEFT_COPY_VECTOR bytes, compiled once for each instruction set. */
#include "base/copy.h"

#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef char copy_vector_t __attribute__((vector_size(WEFT_COPY_VECTOR), may_alias));
typedef char copy_unaligned_t __attribute__((vector_size(WEFT_COPY_VECTOR), may_alias, aligned(1)));

enum { VECTOR = WEFT_COPY_VECTOR, PART = 4 * VECTOR, LINE = 64 };

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

#ifdef __x86_64__

static inline void store_nontemporal(char *to, copy_unaligned_t vector)
{
#if WEFT_COPY_VECTOR == 64
    _mm512_stream_si512((void *)to, (__m512i)vector);
#elif WEFT_COPY_VECTOR == 32
    _mm256_stream_si256((void *)to, (__m256i)vector);
#else
    _mm_stream_si128((void *)to, (__m128i)vector);
#endif
}

static inline void copy_line(char *to, const char *from)
{
    copy_unaligned_t part[LINE / VECTOR];
    for (int i = 0; i < LINE / VECTOR; i++)
        part[i] = load(from + i * VECTOR);
    for (int i = 0; i < LINE / VECTOR; i++)
        store_nontemporal(to + i * VECTOR, part[i]);
}

/* The processor writes whole lines to memory as they are, and fetches none. */
void WEFT_COPY_NONTEMPORAL(void *to, const void *from, size_t bytes)
{
    char *at = to;
    const char *source = from;
    size_t head = -(uintptr_t)to % LINE;
    if (head > bytes)
        head = bytes;
    memcpy(at, source, head);
    at += head;
    source += head;
    for (size_t lines = (bytes - head) / LINE; lines > 0; lines--, at += LINE, source += LINE)
        copy_line(at, source);
    memcpy(at, source, (bytes - head) % LINE);
    _mm_sfence();
}

#endif
