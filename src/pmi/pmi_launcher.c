/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says about the launcher that started this process. */
#include "pmi/pmi_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Why Weft's mpirun has no server for a job of several ranks. */
static const char no_server[] = "WEFT_NO_SERVER";

/* "job/rank/process": the process that has joined as this rank. A program that it runs finds this
 * in its environment, and would wait for ever for ranks that have joined long ago. */
static const char joined_process[] = "WEFT_RANK_PROCESS";

static int refuse_second_process(void)
{
    char prefix[512];
    const char *joined = weft_environment(joined_process), *rank = weft_environment("PMIX_RANK");
    int length =
        snprintf(prefix, sizeof(prefix), "%s/%s/", weft_environment("PMIX_NAMESPACE"), rank);
    if (joined == NULL || length >= (int)sizeof(prefix) ||
        strncmp(joined, prefix, (size_t)length) != 0)
        return MPI_SUCCESS;
    long process = strtol(joined + length, NULL, 10);
    if (process <= 0 || process == (long)getpid())
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_OTHER,
                     "this program was started by rank %s (process %ld) of a running MPI program "
                     "and cannot join the same job: start it with an mpirun of its own, without "
                     "PMIX_RANK in its environment, or outside of MPI_Init and MPI_Finalize",
                     rank, process);
}

void weft_pmi_mark_process(void)
{
    char text[512];
    snprintf(text, sizeof(text), "%s/%s/%d", weft_environment("PMIX_NAMESPACE"),
             weft_environment("PMIX_RANK"), (int)getpid());
    weft_environment_set(joined_process, text);
}

void weft_pmi_unmark_process(void)
{
    weft_environment_set(joined_process, NULL);
}

int weft_pmi_find_server(bool *out)
{
    if (is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK")) {
        *out = true;
        return refuse_second_process();
    }
    if (is_set(no_server))
        return weft_fail(MPI_ERR_OTHER, "mpirun has no PMIx server for MPI programs: %s",
                         weft_environment(no_server));
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
