/* SPDX-License-Identifier: BSD-3-Clause */
/* Between a remote job's life (remote_job.c) and the messages of its daemons (remote_service.c). */
#ifndef WEFT_LAUNCH_MPIRUN_REMOTE_JOB_PRIVATE_H
#define WEFT_LAUNCH_MPIRUN_REMOTE_JOB_PRIVATE_H

#include "launch/mpirun/job.h"
#include "launch/tree/fence_tree.h"
#include "launch/tree/remote_input.h"
#include "launch/tree/router.h"

#include <limits.h>

/** What is known of a host of the job. */
typedef struct wli_host_state {
    int running; /* ranks that have not ended */
    bool is_lost, is_output_closed;
    uint64_t owed; /* bytes of its output that were written, but not yet credited */
} wli_host_state_t;

typedef struct wli_remote_job {
    wl_job_t base; /* first, so that a pointer to it is one to the whole */
    wl_router_t router;
    wl_fences_t fences;
    wl_writer_t job_text;
    wli_host_state_t *hosts; /* [host_count] */
    int ready;               /* number of hosts that have sent READY */
    bool is_oversubscribed;  /* on one of them ranks outnumber the cores */
    bool is_started, is_cancelled, is_finishing;
    int without_mps;        /* number of hosts that could not start an MPS; the first of them, */
    int first_without_mps;  /* its index, */
    char mps_missing[192];  /* and why */
    wl_byte_queue_t events; /* of wl_rank_event_t */
    wl_input_source_t input;
    int start_error; /* why nothing was started; MPI_SUCCESS: no reason */
    char start_text[640];
    char daemon[PATH_MAX], agent_words[2 * PATH_MAX];
    wl_agent_plan_t agent;
} wli_remote_job_t;

static inline const wl_placement_t *wli_remote_placement(const wli_remote_job_t *remote)
{
    return &remote->base.plan->placement;
}

/** What the router calls, with the remote job as context. */
extern const wl_router_ops_t wli_remote_router_ops;

#endif
