/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx server of a job, inside mpirun: tells ranks who they are and lets them exchange
 * addresses. All ranks are on one host, so the PMIx library completes fences and gets by itself;
 * what reaches us are connections, orderly ends and aborts. They come on a thread of PMIx and are
 * handed to mpirun's loop through a pipe.
 *
 * There is no close: PMIx 4.2 can hang for ever in its finalize after a client died while
 * connecting. Nothing of the server outlives the process but files in the scratch directory.
 */
#ifndef WEFT_LAUNCH_PMIX_HOST_H
#define WEFT_LAUNCH_PMIX_HOST_H

#include "launch/job_plan.h"
#include "launch/scratch.h"

#include <stdbool.h>

typedef enum weft_host_event_kind {
    WEFT_RANK_CONNECTED, /* has called MPI_Init */
    WEFT_RANK_FINALIZED,
    WEFT_RANK_ABORTED,
} weft_host_event_kind_t;

typedef struct weft_host_event {
    weft_host_event_kind_t kind;
    int rank;
    int code;       /* of an abort */
    char text[480]; /* of an abort */
} weft_host_event_t;

/**
 * Start the server and register the job. Changes this process's environment; starts threads, which
 * inherit the signal mask. Once in a process.
 * pipe_out  readable when there is an event
 * returns   MPI_SUCCESS; MPI_ERR_SERVICE; MPI_ERR_NO_MEM
 */
int weft_host_open(const weft_job_plan_t *plan, const weft_scratch_t *scratch, int *pipe_out);

/** Add to a rank's environment what its PMIx client needs. */
int weft_host_extend_environment(int rank, weft_variables_t *environment);

/** Take the next event; false when there is none now. Never blocks. */
bool weft_host_next_event(weft_host_event_t *out);

#endif
