/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line leaves open, scripts may have set in the environment. */
#include "launch/launch_options.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* An ssh costs mpirun some milliseconds; 32 at once, and then 32 of each, reach a thousand hosts in
 * two steps. */
enum { MOST_DAEMONS = 32, LOST_AFTER_S = 15 };

static int read_timeout_variable(weft_job_plan_t *plan)
{
    const char *text = weft_environment("MPIEXEC_TIMEOUT");
    if (text == NULL || text[0] == '\0' || plan->timeout_s > 0)
        return MPI_SUCCESS;
    return weft_options_number("MPIEXEC_TIMEOUT", text, INT_MAX, &plan->timeout_s);
}

/* The first of two variables that says something; NULL: none does. `b` may be NULL. */
static const char *first_variable(const char *a, const char *b)
{
    const char *value = weft_environment(a);
    if (value != NULL && value[0] != '\0')
        return value;
    return b == NULL ? NULL : first_variable(b, NULL);
}

/* Of the launchers that only Hydra knows we need not speak. */
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

static int read_number_variable(const char *name, int fallback, int *out)
{
    const char *text = weft_environment(name);
    long number = fallback;
    int err = MPI_SUCCESS;
    if (text != NULL)
        err = weft_options_number(name, text, INT_MAX / 1000, &number);
    *out = (int)number;
    return err;
}

int weft_options_read_variables(weft_job_plan_t *plan)
{
    weft_route_t *route = &plan->route;
    if (route->launcher == NULL)
        route->launcher = first_variable("WEFT_LAUNCHER", NULL);
    if (route->launcher == NULL)
        route->launcher = hydra_launcher();
    if (route->agent == NULL)
        route->agent = first_variable("WEFT_LAUNCH_AGENT", "HYDRA_LAUNCHER_EXEC");
    if (route->agent == NULL)
        route->agent = first_variable("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent");
    if (route->interface == NULL)
        route->interface = weft_environment("HYDRA_IFACE");
    if (plan->apps[0].host_file == NULL && plan->apps[0].hosts.count == 0)
        plan->apps[0].host_file = weft_environment("HYDRA_HOST_FILE");
    if (route->agent == NULL && route->launcher != NULL && strcmp(route->launcher, "rsh") == 0)
        route->agent = "rsh";
    int err = read_number_variable("WEFT_LAUNCH_RADIX", MOST_DAEMONS, &route->radix);
    if (err == MPI_SUCCESS)
        err = read_number_variable("WEFT_LOST_AFTER", LOST_AFTER_S, &route->lost_after_s);
    return err == MPI_SUCCESS ? read_timeout_variable(plan) : err;
}
