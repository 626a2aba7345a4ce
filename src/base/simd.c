/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/simd.h"

#include "base/config.h"
#include "base/log.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static const char *const simd_names[WEFT_SIMD_SETS] = {"base", "avx2", "avx512"};

const char *weft_simd_name(weft_simd_t set)
{
    return simd_names[set];
}

/* First: see weft_simd_is_first_avx512(), all of Intel's. Intel: a later one of theirs. */
typedef enum avx512 {
    AVX512_UNKNOWN,
    AVX512_NONE,
    AVX512_FIRST,
    AVX512_INTEL,
    AVX512_OTHER,
} avx512_t;

#ifdef __x86_64__
/* Not every compiler's __builtin_cpu_supports() knows its name. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* Asked once, as virtual machines answer slowly. */
static avx512_t kind_of_avx512(void)
{
    static avx512_t kind = AVX512_UNKNOWN;
    if (kind != AVX512_UNKNOWN)
        return kind;
    if (!has_avx512())
        kind = AVX512_NONE;
    else if (!__builtin_cpu_supports("avx512vbmi2"))
        kind = AVX512_FIRST;
    else
        kind = __builtin_cpu_is("intel") ? AVX512_INTEL : AVX512_OTHER;
    return kind;
}
#else
static bool has_avx2(void)
{
    return false;
}

static bool has_avx512(void)
{
    return false;
}

static avx512_t kind_of_avx512(void)
{
    return AVX512_NONE;
}
#endif

bool weft_simd_is_first_avx512(void)
{
    return kind_of_avx512() == AVX512_FIRST;
}

bool weft_simd_is_intel_avx512(void)
{
    return kind_of_avx512() == AVX512_FIRST || kind_of_avx512() == AVX512_INTEL;
}

bool weft_simd_is_available(weft_simd_t set)
{
    return set == WEFT_SIMD_BASE || (set == WEFT_SIMD_AVX2 ? has_avx2() : has_avx512());
}

weft_simd_t weft_simd_between_cores(weft_simd_t set)
{
    return set == WEFT_SIMD_AVX512 && weft_simd_is_first_avx512() ? WEFT_SIMD_AVX2 : set;
}

weft_simd_t weft_simd_choose(void)
{
    const char *wanted = weft_config.SIMD;
    weft_simd_t best = WEFT_SIMD_BASE;
    for (int set = WEFT_SIMD_BASE; set < WEFT_SIMD_SETS; set++) {
        if (weft_simd_is_available((weft_simd_t)set))
            best = (weft_simd_t)set;
        if (strcmp(simd_names[set], wanted) == 0)
            break;
    }
    if (strcmp(wanted, "auto") != 0 && strcmp(wanted, simd_names[best]) != 0)
        WEFT_LOG(WEFT_WARN, "base", "WEFT_SIMD %s is not available here, using %s", wanted,
                 simd_names[best]);
    WEFT_LOG(WEFT_INFO, "base", "reductions by %s", simd_names[best]);
    return best;
}
