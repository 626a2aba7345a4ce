/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* cpu_set_t */
#include "launch/node/core_share.h"

bool wl_core_share(const cpu_set_t *allowed, int rank, int ranks, cpu_set_t *out)
{
    int cores = CPU_COUNT(allowed);
    if (cores < ranks)
        return false;
    /* The first `rest` ranks have one more. */
    int share = cores / ranks, rest = cores % ranks;
    int first = share * rank + (rank < rest ? rank : rest);
    int end = first + share + (rank < rest ? 1 : 0);
    CPU_ZERO(out);
    for (int cpu = 0, index = 0; cpu < CPU_SETSIZE && index < end; cpu++) {
        if (!CPU_ISSET(cpu, allowed))
            continue;
        if (index >= first)
            CPU_SET(cpu, out);
        index++;
    }
    return true;
}
