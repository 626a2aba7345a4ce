/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Let another launcher start the ranks: srun inside a Slurm allocation, PRRTE's prterun where it is
 * installed. It starts `weftd as-rank` with mpirun's own command line (rank_exec.h), so options and
 * environment of the ranks are the same with every launcher.
 */
#ifndef WEFT_LAUNCH_DELEGATE_DELEGATE_H
#define WEFT_LAUNCH_DELEGATE_DELEGATE_H

#include "launch/plan/job_plan.h"

typedef enum wl_launch_method {
    WL_METHOD_OWN, /* by mpirun itself and Weft's daemons */
    WL_METHOD_SLURM,
    WL_METHOD_PRRTE,
} wl_launch_method_t;

/**
 * Choose how to start the job: as --launcher says; else by srun in an allocation, and by prterun
 * when other hosts are named and it is in PATH, unless --launch-agent says how to reach them.
 * returns  MPI_SUCCESS; MPI_ERR_ARG for an unknown --launcher
 */
int wl_delegate_choose(const wl_job_plan_t *plan, wl_launch_method_t *out);

/**
 * In a Slurm allocation: give applications without hosts those of the allocation, and hosts without
 * slots the slots of the allocation.
 * returns  MPI_SUCCESS; MPI_ERR_ARG: there is no allocation; MPI_ERR_NO_MEM
 */
int wl_delegate_take_allocation(wl_job_plan_t *plan);

/**
 * Start srun or prterun, wait for it and translate its end.
 * plan      completed, but for the programs, which are found where they run
 * words     [NULL-terminated] our command line behind the program's name
 * returns   MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE, MPI_ERR_SPAWN, MPI_ERR_NO_MEM: it was not started
 */
int wl_delegate_run(wl_launch_method_t method, const wl_job_plan_t *plan, char *const *words,
                    int *exit_code_out);

#endif
