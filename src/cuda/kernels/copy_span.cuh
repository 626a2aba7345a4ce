/* SPDX-License-Identifier: BSD-3-Clause */
/* A team's copy of one run of bytes. */
#ifndef WEFT_CUDA_KERNELS_COPY_SPAN_CUH
#define WEFT_CUDA_KERNELS_COPY_SPAN_CUH

#include "cuda/kernels/kernel.cuh"

struct weft_span_t {
    char *to;
    const char *from;
    uint64_t bytes;
};

/* How many loads of one thread are under way at once. */
enum { WEFT_BATCH = 4 };

/* Copies `count` units; both sides are aligned. */
template <class Unit> WEFT_DEVICE void weft_copy_units(char *to, const char *from, uint64_t count)
{
    Unit unit[WEFT_BATCH];
    uint64_t i = weft_stream_class();
    for (; i + (WEFT_BATCH - 1) * WEFT_TEAM_THREADS < count; i += WEFT_BATCH * WEFT_TEAM_THREADS) {
        WEFT_UNROLL for (unsigned j = 0; j < WEFT_BATCH; j++) unit[j] =
            weft_load<Unit>(from + (i + j * WEFT_TEAM_THREADS) * sizeof(Unit));
        WEFT_UNROLL for (unsigned j = 0; j < WEFT_BATCH; j++)
            weft_store(to + (i + j * WEFT_TEAM_THREADS) * sizeof(Unit), unit[j]);
    }
    for (; i < count; i += WEFT_TEAM_THREADS)
        weft_store(to + i * sizeof(Unit), weft_load<Unit>(from + i * sizeof(Unit)));
}

/* For sides that are equally aligned within a unit: copies the bytes up to the first whole unit,
 * the units, and the bytes left. The first half of the team copies the head, the other half the
 * tail. */
template <class Unit> WEFT_DEVICE void weft_copy_alike(const weft_span_t &span)
{
    const uint64_t to_unit = -(uintptr_t)span.to % sizeof(Unit);
    const uint64_t head = to_unit < span.bytes ? to_unit : span.bytes;
    const uint64_t units = (span.bytes - head) / sizeof(Unit), whole = head + units * sizeof(Unit);
    const unsigned half = WEFT_TEAM_THREADS / 2, lane = weft_stream_class();
    const uint64_t loose = lane < half ? lane : whole + lane - half;
    if (loose < (lane < half ? head : span.bytes))
        weft_store(span.to + loose, weft_load<char>(span.from + loose));
    weft_copy_units<Unit>(span.to + head, span.from + head, units);
}

/** Copies by the widest accesses that both addresses permit. */
WEFT_DEVICE void weft_copy_span(const weft_span_t &span)
{
    const uintptr_t unlike = (uintptr_t)span.to ^ (uintptr_t)span.from;
    if (unlike % sizeof(weft_vector_t) == 0)
        weft_copy_alike<weft_vector_t>(span);
    else if (unlike % 8 == 0)
        weft_copy_alike<uint64_t>(span);
    else if (unlike % 4 == 0)
        weft_copy_alike<uint32_t>(span);
    else if (unlike % 2 == 0)
        weft_copy_alike<uint16_t>(span);
    else
        weft_copy_units<unsigned char>(span.to, span.from, span.bytes);
}

/** Finds the entry that byte `position` lies in. The entries begin at start(0) = 0, start(1),
 * ... */
template <class Start>
WEFT_DEVICE uint64_t weft_entry_with(uint64_t position, uint64_t count, Start start)
{
    uint64_t low = 0, high = count; /* start(low) <= position < start(high) */
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (start(middle) <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
