/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/pack_permute.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

enum { WORD = 2, MOST_BYTES = WEFT_PERMUTED_WORDS * WORD };

static bool has_avx512;

void weft_permute_select(weft_simd_t set)
{
    has_avx512 = set == WEFT_SIMD_AVX512;
}

static size_t length_of_run(const weft_run_t *run)
{
    return run[1].start - run->start;
}

/* Where the runs lie, from *low to *high; false: some begin or end at an odd place. */
static bool find_bounds(const weft_layout_t *layout, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = PTRDIFF_MAX;
    *high = PTRDIFF_MIN;
    for (const weft_run_t *run = layout->runs; run < layout->runs + layout->list_count; run++) {
        ptrdiff_t end = run->offset + (ptrdiff_t)length_of_run(run);
        *low = run->offset < *low ? run->offset : *low;
        *high = end > *high ? end : *high;
        if (run->offset % WORD != 0 || length_of_run(run) % WORD != 0)
            return false;
    }
    return true;
}

static uint64_t mask_of_bytes(size_t bytes)
{
    return bytes == MOST_BYTES ? UINT64_MAX : ((uint64_t)1 << bytes) - 1;
}

static void permute_run(weft_permutation_t *out, const weft_run_t *run)
{
    size_t place = (size_t)(run->offset - out->low), bytes = length_of_run(run);
    out->typed_mask |= mask_of_bytes(bytes) << place;
    for (size_t i = 0; i < bytes / WORD; i++) {
        out->from_typed[run->start / WORD + i] = (uint16_t)(place / WORD + i);
        out->from_stream[place / WORD + i] = (uint16_t)(run->start / WORD + i);
    }
}

bool weft_permutation_find(const weft_layout_t *layout, weft_permutation_t *out)
{
    ptrdiff_t low, high;
    if (!has_avx512 || layout->leaf_bytes > MOST_BYTES || !find_bounds(layout, &low, &high) ||
        high - low > MOST_BYTES)
        return false;
    *out = (weft_permutation_t){.low = low,
                                .stream_bytes = layout->leaf_bytes,
                                .stream_mask = mask_of_bytes(layout->leaf_bytes)};
    for (size_t i = 0; i < layout->list_count; i++)
        permute_run(out, &layout->runs[i]);
    return true;
}

/* Bytes that the masks leave out are not touched. */
__attribute__((target("avx512f,avx512bw"))) char *
weft_permute_pack(char *typed, char *stream, const weft_permutation_t *permutation, size_t count)
{
    const __m512i words = _mm512_loadu_si512(permutation->from_typed);
    const __mmask64 from = permutation->typed_mask, to = permutation->stream_mask;
    const ptrdiff_t stride = permutation->stride;
    const size_t bytes = permutation->stream_bytes;
    typed += permutation->low;
    for (size_t i = 0; i < count; i++, typed += stride, stream += bytes) {
        __m512i data = _mm512_maskz_loadu_epi8(from, typed);
        _mm512_mask_storeu_epi8(stream, to, _mm512_permutexvar_epi16(words, data));
    }
    return stream;
}

__attribute__((target("avx512f,avx512bw"))) char *
weft_permute_unpack(char *typed, char *stream, const weft_permutation_t *permutation, size_t count)
{
    const __m512i words = _mm512_loadu_si512(permutation->from_stream);
    const __mmask64 from = permutation->stream_mask, to = permutation->typed_mask;
    const ptrdiff_t stride = permutation->stride;
    const size_t bytes = permutation->stream_bytes;
    typed += permutation->low;
    for (size_t i = 0; i < count; i++, typed += stride, stream += bytes) {
        __m512i data = _mm512_maskz_loadu_epi8(from, stream);
        _mm512_mask_storeu_epi8(typed, to, _mm512_permutexvar_epi16(words, data));
    }
    return stream;
}

#else

void weft_permute_select(weft_simd_t set)
{
    (void)set;
}

bool weft_permutation_find(const weft_layout_t *layout, weft_permutation_t *out)
{
    (void)layout, (void)out;
    return false;
}

#endif
