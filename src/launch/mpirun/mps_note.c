/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/mpirun/job.h"

#include <stdio.h>

void wl_job_note_missing_mps(const wl_job_t *job, int host, const char *reason, int others)
{
    const wl_job_plan_t *plan = job->plan;
    char more[48] = "", line[512];
    if (plan->is_quiet)
        return;
    if (others > 0)
        snprintf(more, sizeof(more), " and %d other host%s", others, others == 1 ? "" : "s");
    int bytes = snprintf(line, sizeof(line),
                         "%s: note: no MPS on %s%s: %s; ranks that share a GPU take turns there\n",
                         plan->launcher, plan->placement.hosts[host].name, more, reason);
    if (bytes > 0 && bytes < (int)sizeof(line))
        wl_sinks_put(job->sinks, WL_STDERR, line, (size_t)bytes);
}
