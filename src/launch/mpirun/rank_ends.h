/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How each rank of a job has ended, and which of them a job with --enable-recovery has lost. A rank
 * is lost if a signal ends it, if it exits with another code than 0 before MPI_Finalize, or with 0
 * between MPI_Init and MPI_Finalize, or with its host.
 */
#ifndef WEFT_LAUNCH_MPIRUN_RANK_ENDS_H
#define WEFT_LAUNCH_MPIRUN_RANK_ENDS_H

#include "launch/node/rank_event.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wl_fate {
    WL_RUNS,
    WL_UNDECIDED, /* it has ended, but it may still be told that it had called MPI_Finalize */
    WL_ENDED,
    WL_LOST,
} wl_fate_t;

typedef struct wl_rank_end {
    wl_fate_t fate;
    bool is_connected, has_finalized, has_aborted, is_with_host;
    bool is_bereft;        /* it ends since it has lost another rank */
    int pid, code, signal; /* as in wl_rank_event_t */
    bool has_core;
    bool is_told;         /* wl_rank_ends_next_lost() has returned it */
    int64_t decide_at_ms; /* while undecided */
} wl_rank_end_t;

typedef struct wl_rank_ends {
    const wl_job_plan_t *plan;
    wl_rank_end_t *ends; /* [size] */
    int lost, told, undecided;
    int first_lost_code; /* of the rank that was lost first */
    int first_code;      /* that is not 0, of a rank that was not lost; 0: there is none */
} wl_rank_ends_t;

/** MPI_ERR_NO_MEM. */
int wl_rank_ends_open(const wl_job_plan_t *plan, wl_rank_ends_t *out);

void wl_rank_ends_take(wl_rank_ends_t *ends, const wl_rank_event_t *event, int64_t now_ms);

/** A rank that is lost and was not returned yet; -1: there is none. */
int wl_rank_ends_next_lost(wl_rank_ends_t *ends, int64_t now_ms);

/** A rank that is lost, and was returned, has been started again. */
void wl_rank_ends_renew(wl_rank_ends_t *ends, int rank);

/** When wl_rank_ends_next_lost() is to be asked again without an event; INT64_MAX: never. */
int64_t wl_rank_ends_decide_at_ms(const wl_rank_ends_t *ends);

/** Write "rank 3 (process 17 on a) was killed by signal 9 (Killed)" of a lost rank. */
void wl_rank_ends_describe(const wl_rank_ends_t *ends, int rank, char *out, size_t bytes);

/** Write "2 of 5 ranks were lost: 1,3" or "all 5 ranks were lost". */
void wl_rank_ends_summarize(const wl_rank_ends_t *ends, char *out, size_t bytes);

/** What mpirun returns for a job that went on to its end: the first code that is not 0 of a rank
 *  that was not lost, else 0; if all were lost, the code of the first. */
int wl_rank_ends_exit_code(const wl_rank_ends_t *ends);

void wl_rank_ends_release(wl_rank_ends_t *ends);

#endif
