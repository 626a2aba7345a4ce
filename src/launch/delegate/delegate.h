/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Let another launcher start the ranks: srun inside a Slurm allocation, PRRTE's prterun where it
 * is. It starts `weftd as-rank` with our own command line (rank_exec.h), so options and
 * environment of the ranks are the same whatever the way.
 */
#ifndef WEFT_LAUNCH_DELEGATE_DELEGATE_H
#define WEFT_LAUNCH_DELEGATE_DELEGATE_H

#include "launch/plan/job_plan.h"

typedef enum weft_way {
    WEFT_WAY_OWN, /* ranks of this host, or our daemons */
    WEFT_WAY_SLURM,
    WEFT_WAY_PRRTE,
} weft_way_t;

/**
 * How to start the job: as --launcher says; else by srun in an allocation, and by prterun when
 * other hosts are named and it is on PATH, unless --launch-agent says how to reach them. returns
 * MPI_SUCCESS; MPI_ERR_ARG for a --launcher that we do not know
 */
int weft_handover_choose(const weft_job_plan_t *plan, weft_way_t *out);

/**
 * In a Slurm allocation: give applications without hosts those of the allocation, others its slots.
 * returns  MPI_SUCCESS; MPI_ERR_ARG: there is no allocation; MPI_ERR_NO_MEM
 */
int weft_handover_take_allocation(weft_job_plan_t *plan);

/**
 * Start srun or prterun, wait for it and translate its end.
 * plan      completed, but for the programs, which are found where they run
 * words     [NULL-terminated] our command line behind the program's name
 * returns   MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE, MPI_ERR_SPAWN, MPI_ERR_NO_MEM: it was not started
 */
int weft_handover_run(weft_way_t way, const weft_job_plan_t *plan, char *const *words,
                      int *exit_code_out);

#endif
