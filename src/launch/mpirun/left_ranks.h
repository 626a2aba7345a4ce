/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of which no end has been heard: those that mpirun leaves when it gives up. */
#ifndef WEFT_LAUNCH_MPIRUN_LEFT_RANKS_H
#define WEFT_LAUNCH_MPIRUN_LEFT_RANKS_H

#include "launch/node/rank_event.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wl_left_ranks {
    const wl_job_plan_t *plan;
    bool *has_ended; /* [size] or was lost with its host */
} wl_left_ranks_t;

/** MPI_ERR_NO_MEM. */
int wl_left_ranks_open(const wl_job_plan_t *plan, wl_left_ranks_t *out);

void wl_left_ranks_take(wl_left_ranks_t *left, const wl_rank_event_t *event);

/** A rank that had ended has been started again. */
void wl_left_ranks_renew(wl_left_ranks_t *left, int rank);

/** Write "rank 1 on a has", "ranks 1-2,7 on a have" or "ranks 1-2,7 on a and other hosts have". */
void wl_left_ranks_describe(const wl_left_ranks_t *left, char *out, size_t bytes);

void wl_left_ranks_release(wl_left_ranks_t *left);

#endif
