/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/core_share.h"

bool wl_core_share(const weft_cpus_t *allowed, int rank, int ranks, weft_cpus_t *out)
{
    int cores = weft_cpus_count(allowed);
    if (cores < ranks)
        return false;
    /* The first `rest` ranks have one more. */
    int share = cores / ranks, rest = cores % ranks;
    int first = share * rank + (rank < rest ? rank : rest);
    int end = first + share + (rank < rest ? 1 : 0);
    *out = (weft_cpus_t){0};
    for (int cpu = 0, index = 0; cpu < 64 * WEFT_CPU_WORDS && index < end; cpu++) {
        if (!weft_cpus_have(allowed, cpu))
            continue;
        if (index >= first)
            weft_cpus_put(out, cpu);
        index++;
    }
    return true;
}
