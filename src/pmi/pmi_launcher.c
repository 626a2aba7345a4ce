/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says about the launcher that started this process. */
#include "pmi/pmi_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <stdlib.h>

static bool is_set(const char *name)
{
    return weft_environment(name) != NULL;
}

static long read_rank_number(const char *name, long fallback)
{
    const char *text = weft_environment(name);
    return text == NULL ? fallback : strtol(text, NULL, 10);
}

/* The tasks of the Slurm step that this process belongs to; 0 outside a step. A shell of salloc has
 * SLURM_JOB_ID only, a batch script has SLURM_PROCID but no step. */
static long slurm_step_tasks(void)
{
    if (!is_set("SLURM_PROCID") || !is_set("SLURM_STEP_ID"))
        return 0;
    return read_rank_number("SLURM_STEP_NUM_TASKS", read_rank_number("SLURM_NTASKS", 1));
}

/* The size of a job of PMI-1 or PMI-2; 0 without one, -1 when it is not known. */
static long foreign_pmi_size(void)
{
    if (is_set("PMI_SIZE"))
        return read_rank_number("PMI_SIZE", -1);
    return is_set("PMI_FD") || is_set("PMI_PORT") || is_set("PMI_RANK") ? -1 : 0;
}

int weft_pmi_find_server(bool *out)
{
    if (is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK")) {
        *out = true;
        return MPI_SUCCESS;
    }
    long tasks = slurm_step_tasks();
    if (tasks > 1)
        return weft_fail(
            MPI_ERR_OTHER,
            "this is task %ld of %ld of a Slurm step that has no PMIx server; start it "
            "with `srun --mpi=pmix` (`srun --mpi=list` shows whether Slurm has it) or "
            "with Weft's mpirun",
            read_rank_number("SLURM_PROCID", 0), tasks);
    long size = foreign_pmi_size();
    if (size > 1 || size < 0)
        return weft_fail(MPI_ERR_OTHER,
                         "this process was started by a launcher that speaks PMI-1 or PMI-2 "
                         "(PMI_RANK is %s, PMI_SIZE is %s) and not PMIx; use Weft's mpirun or a "
                         "launcher with a PMIx server",
                         is_set("PMI_RANK") ? weft_environment("PMI_RANK") : "not set",
                         is_set("PMI_SIZE") ? weft_environment("PMI_SIZE") : "not set");
    *out = false;
    return MPI_SUCCESS;
}
