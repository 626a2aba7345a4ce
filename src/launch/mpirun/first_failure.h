/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank failed first. The sockets of a dying process close before its death is reported, so
 * ranks that fail because of it may be seen first. For a moment after such a failure mpirun waits
 * for a better reason.
 */
#ifndef WEFT_LAUNCH_MPIRUN_FIRST_FAILURE_H
#define WEFT_LAUNCH_MPIRUN_FIRST_FAILURE_H

#include "launch/node/rank_event.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The reasons to end a job. */
typedef enum wl_failure_reason {
    WL_NO_REASON,
    WL_LOST_PEER, /* has aborted because it lost another rank: any other reason is better */
    WL_EXIT_CODE,
    WL_NO_FINALIZE, /* has called MPI_Init, then exited with 0 without MPI_Finalize: the others wait
                     * for it */
    WL_ABORTED,
    WL_NO_SERVER, /* the PMIx server of a host has ended */
    /* These are never a consequence of another rank's end, as those above may be: */
    WL_SIGNALLED,
    WL_UNREACHABLE,
} wl_failure_reason_t;

typedef struct wl_first_failure {
    const wl_job_plan_t *plan;
    bool *is_connected;  /* [size] between MPI_Init and MPI_Finalize */
    int *ended_early;    /* [size] the process of a rank that ended in between; 0: none */
    bool *has_lost_peer; /* [size] has said that it ends because it lost another rank */
    wl_failure_reason_t reason;
    wl_rank_event_t event; /* of the rank that failed first, as far as is known */
    int64_t certain_at_ms; /* when a doubtful reason counts as certain */
} wl_first_failure_t;

/** MPI_ERR_NO_MEM. */
int wl_first_failure_open(const wl_job_plan_t *plan, wl_first_failure_t *out);

void wl_first_failure_take(wl_first_failure_t *failure, const wl_rank_event_t *event,
                           int64_t now_ms);

/** Has a rank failed, but a better reason may still come? */
bool wl_first_failure_is_doubtful(const wl_first_failure_t *failure, int running);

/** Write "rank 3 (process 17 on a) ...", for the user. */
void wl_first_failure_describe(const wl_first_failure_t *failure, char *out, size_t bytes);

/** What mpirun is to return because of it. */
int wl_first_failure_exit_code(const wl_first_failure_t *failure);

void wl_first_failure_release(wl_first_failure_t *failure);

#endif
