/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says about the launcher that started this process. */
#include "pmi/bootstrap_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
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

int weft_pmi_refuse_second_process(const char *job, const char *rank, const char *variable)
{
    char prefix[512];
    const char *joined = weft_environment(joined_process);
    int length = snprintf(prefix, sizeof(prefix), "%s/%s/", job, rank);
    if (joined == NULL || length >= (int)sizeof(prefix) ||
        strncmp(joined, prefix, (size_t)length) != 0)
        return MPI_SUCCESS;
    long process = strtol(joined + length, NULL, 10);
    if (process <= 0 || process == (long)getpid())
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_OTHER,
                     "this program was started by rank %s (process %ld) of a running MPI program "
                     "and cannot join the same job: start it with an mpirun of its own, without "
                     "%s in its environment, or outside of MPI_Init and MPI_Finalize",
                     rank, process, variable);
}

void weft_pmi_mark_process(const char *job, int rank)
{
    char text[512];
    snprintf(text, sizeof(text), "%s/%d/%d", job, rank, (int)getpid());
    weft_environment_set(joined_process, text);
}

void weft_pmi_unmark_process(void)
{
    weft_environment_set(joined_process, NULL);
}

static int rank_is_missing(const char *what)
{
    return weft_fail(MPI_ERR_OTHER,
                     "%s is set, but %s is not: a rank that no launcher has started needs RANK, "
                     "WORLD_SIZE, MASTER_ADDR and MASTER_PORT; WEFT_BOOTSTRAP=singleton runs this "
                     "process alone",
                     is_set("RANK") ? "RANK" : "WORLD_SIZE", what);
}

/* 0 to INT_MAX, in decimal digits alone */
static bool is_number(const char *text, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 0 || value > INT_MAX)
        return false;
    *out = (int)value;
    return true;
}

int weft_pmi_read_ranks(weft_environment_ranks_t *out, bool *is_there)
{
    const char *rank = weft_environment("RANK"), *size = weft_environment("WORLD_SIZE");
    bool is_named = weft_config.BOOTSTRAP[0] != '\0';
    *is_there = false;
    if (rank == NULL && size == NULL)
        return MPI_SUCCESS;
    /* The variables may be a launcher's, and this program one that a rank of it has started. */
    if (!is_named && (is_set("PMIX_NAMESPACE") || is_set("PMIX_RANK") || is_set("WEFT_NOTES")))
        return MPI_SUCCESS;
    *out = (weft_environment_ranks_t){.address = weft_environment("MASTER_ADDR"),
                                      .port = weft_environment("MASTER_PORT")};
    if (size == NULL)
        return rank_is_missing("WORLD_SIZE");
    if (!is_number(size, &out->size) || out->size == 0)
        return weft_fail(MPI_ERR_OTHER, "WORLD_SIZE is %s; expected is 1 or more", size);
    if (out->size == 1)
        return MPI_SUCCESS;
    if (rank == NULL)
        return rank_is_missing("RANK");
    if (!is_number(rank, &out->rank) || out->rank >= out->size)
        return weft_fail(MPI_ERR_OTHER, "RANK is %s; expected is 0 to %d, as WORLD_SIZE is %s",
                         rank, out->size - 1, size);
    *is_there = true;
    return MPI_SUCCESS;
}

/* Ranks that need no launcher are not refused because of one. */
static bool has_ranks(void)
{
    weft_environment_ranks_t ranks;
    bool is_there;
    return weft_pmi_read_ranks(&ranks, &is_there) != MPI_SUCCESS || is_there;
}

int weft_pmi_find_server(bool *out)
{
    if (is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK")) {
        *out = true;
        return weft_pmi_refuse_second_process(weft_environment("PMIX_NAMESPACE"),
                                              weft_environment("PMIX_RANK"), "PMIX_RANK");
    }
    if (is_set(no_server))
        return weft_fail(MPI_ERR_OTHER, "mpirun has no PMIx server for MPI programs: %s",
                         weft_environment(no_server));
    *out = false;
    if (has_ranks())
        return MPI_SUCCESS;
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
    return MPI_SUCCESS;
}
