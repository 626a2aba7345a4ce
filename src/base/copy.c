/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/copy.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"

const weft_copy_fn_t weft_copy_loops[WEFT_SIMD_SETS] = {
    [WEFT_SIMD_BASE] = weft_copy_base,
#ifdef __x86_64__
    [WEFT_SIMD_AVX2] = weft_copy_avx2,
    [WEFT_SIMD_AVX512] = weft_copy_avx512,
#endif
};

static const weft_copy_fn_t nontemporal[WEFT_SIMD_SETS] = {
#ifdef __x86_64__
    [WEFT_SIMD_BASE] = weft_copy_nontemporal_base,
    [WEFT_SIMD_AVX2] = weft_copy_nontemporal_avx2,
    [WEFT_SIMD_AVX512] = weft_copy_nontemporal_avx512,
#else
    NULL,
#endif
};

weft_copy_fn_t weft_copy_nontemporal;
weft_copy_fn_t weft_copy_loop = weft_copy_base;
size_t weft_copy_loop_below, weft_copy_read_sizes, weft_copy_write_sizes;

/* The shortest of several trials counts: another process may take the core during one of them. */
static int64_t time_of_libc(char *to, const char *from, size_t bytes)
{
    enum { TRIALS = 4 };
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < TRIALS; i++) {
        int64_t begin_ns = weft_clock_ns();
        memcpy(to, from, bytes);
        __asm__ volatile("" ::"r"(to) : "memory"); /* the copy is not dropped */
        int64_t taken_ns = weft_clock_ns() - begin_ns;
        best_ns = taken_ns < best_ns ? taken_ns : best_ns;
    }
    return best_ns;
}

/* Zen 3 takes 20 times as long, others at most twice. */
static bool is_libc_slow_behind(void)
{
    enum { TRIAL_BYTES = 16 * 1024, DISTANCE = 16, SLOW_FACTOR = 4 };
    char *memory = weft_alloc_aligned(2 * TRIAL_BYTES + WEFT_COPY_PAGE, WEFT_COPY_PAGE);
    if (memory == NULL)
        return false;
    memset(memory, 1, 2 * TRIAL_BYTES + WEFT_COPY_PAGE);
    char *to = memory + TRIAL_BYTES;
    int64_t apart_ns = time_of_libc(to, memory, TRIAL_BYTES);
    int64_t behind_ns = time_of_libc(to + DISTANCE, memory, TRIAL_BYTES);
    weft_free(memory);
    return behind_ns > SLOW_FACTOR * apart_ns;
}

/* Where both places fill a core's own cache of 1 MiB, the first processors with AVX-512 copy by
 * `rep movsb` in 0.8 of the time, as it does not fetch what it overwrites. */
static size_t loop_sizes(void)
{
    if (strcmp(weft_config.COPY, "libc") == 0)
        return 0;
    size_t end = weft_simd_is_first_avx512() ? WEFT_COPY_SHARED_END / 2 : WEFT_COPY_SHARED_END;
    return end - WEFT_COPY_LONG;
}

void weft_copy_select(weft_simd_t set)
{
    size_t some = loop_sizes();
    set = weft_simd_between_cores(set);
    weft_copy_loop = weft_copy_loops[set];
    weft_copy_nontemporal = nontemporal[set];
    weft_copy_read_sizes = some;
    weft_copy_write_sizes = weft_simd_is_first_avx512() ? some : 0;
    if (strcmp(weft_config.COPY, "auto") == 0)
        weft_copy_loop_below = is_libc_slow_behind() ? WEFT_COPY_BEHIND : 0;
    else
        weft_copy_loop_below = strcmp(weft_config.COPY, "loop") == 0 ? WEFT_COPY_PAGE : 0;
    WEFT_LOG(WEFT_INFO, "base", "copies by %s",
             weft_copy_loop_below == 0 ? "libc"
             : weft_copy_loop_below == WEFT_COPY_BEHIND
                 ? "libc, but vector loops where that is slow"
                 : "vector loops");
}
