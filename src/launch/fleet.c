/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/team.h"

#include "base/fail.h"
#include "mpi.h"

int weft_fleet_create(const weft_job_plan_t *plan, weft_sinks_t *sinks, weft_team_t **out)
{
    (void)sinks, (void)out;
    return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                     "the host %s is not this one, and starting ranks on other hosts is not in "
                     "this version",
                     plan->placement.hosts[plan->placement.host_count - 1].name);
}
