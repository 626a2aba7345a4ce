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
typedef enum weft_reason {
    WEFT_NO_REASON,
    WEFT_BEREFT, /* aborted because of another one, it seems: any other reason is better */
    WEFT_EXIT_CODE,
    WEFT_NO_FINALIZE, /* connected, then exited with 0 without MPI_Finalize: the others wait for it
                       */
    WEFT_ABORTED,
    /* Never a consequence of another rank's end, which those above may be: */
    WEFT_SIGNALLED,
    WEFT_UNREACHABLE,
} weft_reason_t;

typedef struct weft_blame {
    const weft_job_plan_t *plan;
    bool *is_connected; /* [size] between MPI_Init and MPI_Finalize */
    bool *is_bereft;    /* [size] has said why it is going to end */
    weft_reason_t reason;
    weft_rank_event_t event; /* of who failed first, as far as we know */
    int64_t sentence_at_ms;  /* when we stop doubting that, where it is doubtful */
} weft_blame_t;

/** MPI_ERR_NO_MEM. */
int weft_blame_open(const weft_job_plan_t *plan, weft_blame_t *out);

void weft_blame_take(weft_blame_t *blame, const weft_rank_event_t *event, int64_t now_ms);

/** Has somebody failed, but a better reason may still come? */
bool weft_blame_is_doubtful(const weft_blame_t *blame, int running);

/** "rank 3 (process 17 on a) ...", for the user. */
void weft_blame_describe(const weft_blame_t *blame, char *out, size_t bytes);

/** What mpirun is to return because of it. */
int weft_blame_exit_code(const weft_blame_t *blame);

void weft_blame_release(weft_blame_t *blame);

#endif
