/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the environment, for what the command line leaves open. */
#include "launch/plan/launch_options.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static int read_timeout_variable(wl_job_plan_t *plan)
{
    const char *text = weft_environment("MPIEXEC_TIMEOUT");
    if (text == NULL || text[0] == '\0' || plan->timeout_s > 0)
        return MPI_SUCCESS;
    return wl_options_number("MPIEXEC_TIMEOUT", text, INT_MAX, &plan->timeout_s);
}

/* The launch agent that is set for Hydra, Open MPI or PRRTE; NULL: none is. */
static const char *others_agent(void)
{
    static const char *const names[] = {"HYDRA_LAUNCHER_EXEC", "OMPI_MCA_plm_rsh_agent",
                                        "PRTE_MCA_plm_ssh_agent"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = weft_environment(names[i]);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

/* Names of launchers that Hydra has and Weft has not are ignored. */
static const char *hydra_launcher(void)
{
    static const char *const known[] = {"ssh", "rsh", "fork", "slurm"};
    const char *name = weft_environment("HYDRA_LAUNCHER");
    for (size_t i = 0; name != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0)
            return name;
    }
    return NULL;
}

/* NULL for an empty text, which means that the variable is not set. */
static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* The daemons below a lost one are lost with it, so in a job that survives losses mpirun starts all
 * of them itself, unless told otherwise. */
static int radix_of(const wl_job_plan_t *plan)
{
    enum { RADIX_WITH_LOSSES = 1024 };
    bool is_set = weft_environment("WEFT_LAUNCH_RADIX") != NULL;
    return plan->survives_losses && !is_set ? RADIX_WITH_LOSSES : weft_config.LAUNCH_RADIX;
}

int wl_options_read_variables(wl_job_plan_t *plan)
{
    wl_route_t *route = &plan->route;
    weft_config_read();
    if (route->launcher == NULL)
        route->launcher = text_or_null(weft_config.LAUNCHER);
    if (route->launcher == NULL)
        route->launcher = hydra_launcher();
    if (route->agent == NULL)
        route->agent = text_or_null(weft_config.LAUNCH_AGENT);
    if (route->agent == NULL)
        route->agent = others_agent();
    if (route->interface == NULL)
        route->interface = weft_environment("HYDRA_IFACE");
    if (plan->apps[0].host_file == NULL && plan->apps[0].hosts.count == 0)
        plan->apps[0].host_file = weft_environment("HYDRA_HOST_FILE");
    if (route->agent == NULL && route->launcher != NULL && strcmp(route->launcher, "rsh") == 0)
        route->agent = "rsh";
    plan->wants_mps |= weft_config.MPS;
    route->radix = radix_of(plan);
    route->lost_after_s = weft_config.LOST_AFTER;
    return read_timeout_variable(plan);
}
