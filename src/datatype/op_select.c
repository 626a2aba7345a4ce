/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/op_kernels_private.h"
#include "base/config.h"
#include "base/log.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static bool cpu_has_baseline(void)
{
    return true;
}

#ifdef __x86_64__
/* Half precision conversions. Not every compiler's __builtin_cpu_supports() knows their name. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static bool cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool cpu_has_avx512(void)
{
    return cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

const weft_op_set_t weft_op_sets[] = {
    {"base", &weft_op_kernels_base, cpu_has_baseline},
    {"avx2", &weft_op_kernels_avx2, cpu_has_avx2},
    {"avx512", &weft_op_kernels_avx512, cpu_has_avx512},
    {NULL, NULL, NULL},
};
#else
const weft_op_set_t weft_op_sets[] = {
    {"base", &weft_op_kernels_base, cpu_has_baseline},
    {NULL, NULL, NULL},
};
#endif

const weft_op_kernels_t *weft_op_kernels = &weft_op_kernels_base;

/* The best available set that is no better than `name`; "auto" sets no limit. */
static const weft_op_set_t *best_set(const char *name)
{
    const weft_op_set_t *best = &weft_op_sets[0];
    for (const weft_op_set_t *set = weft_op_sets; set->name != NULL; set++) {
        if (set->is_available())
            best = set;
        if (strcmp(set->name, name) == 0)
            break;
    }
    return best;
}

void weft_op_select(void)
{
    const char *wanted = weft_config.SIMD;
    const weft_op_set_t *set = best_set(wanted);
    if (strcmp(wanted, "auto") != 0 && strcmp(wanted, set->name) != 0)
        WEFT_LOG(WEFT_WARN, "datatype", "WEFT_SIMD %s is not available here, using %s", wanted,
                 set->name);
    weft_op_kernels = set->kernels;
    WEFT_LOG(WEFT_INFO, "datatype", "reduction kernels %s", set->name);
}
