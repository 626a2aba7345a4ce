/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who failed first. A dying process loses its sockets before we hear of its death, so ranks that
 * fail because of it may be seen first: for a moment we wait for somebody with a better claim to
 * the blame.
 */
#ifndef WEFT_LAUNCH_MPIRUN_FIRST_FAILURE_H
#define WEFT_LAUNCH_MPIRUN_FIRST_FAILURE_H

#include "launch/plan/job_plan.h"
#include "launch/node/rank_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The reasons to end a job. */
typedef enum wl_failure_reason {
    WL_NO_REASON,
    WL_LOST_PEER, /* aborted because of another one, it seems: any other reason is better */
    WL_EXIT_CODE,
    WL_NO_FINALIZE, /* connected, then exited with 0 without MPI_Finalize: the others wait for it
                     */
    WL_ABORTED,
    /* Never a consequence of another rank's end, which those above may be: */
    WL_SIGNALLED,
    WL_UNREACHABLE,
} wl_failure_reason_t;

typedef struct wl_first_failure {
    const wl_job_plan_t *plan;
    bool *is_connected;  /* [size] between MPI_Init and MPI_Finalize */
    bool *has_lost_peer; /* [size] has said why it is going to end */
    wl_failure_reason_t reason;
    wl_rank_event_t event; /* of who failed first, as far as we know */
    int64_t certain_at_ms; /* when we stop doubting that, where it is doubtful */
} wl_first_failure_t;

/** MPI_ERR_NO_MEM. */
int wl_first_failure_open(const wl_job_plan_t *plan, wl_first_failure_t *out);

void wl_first_failure_take(wl_first_failure_t *failure, const wl_rank_event_t *event,
                           int64_t now_ms);

/** Has somebody failed, but a better reason may still come? */
bool wl_first_failure_is_doubtful(const wl_first_failure_t *failure, int running);

/** "rank 3 (process 17 on a) ...", for the user. */
void wl_first_failure_describe(const wl_first_failure_t *failure, char *out, size_t bytes);

/** What mpirun is to return because of it. */
int wl_first_failure_exit_code(const wl_first_failure_t *failure);

void wl_first_failure_release(wl_first_failure_t *failure);

#endif
