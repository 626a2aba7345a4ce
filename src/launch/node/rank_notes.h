/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipe through which the ranks of a host tell of themselves (base/rank_note.h). */
#ifndef WEFT_LAUNCH_NODE_RANK_NOTES_H
#define WEFT_LAUNCH_NODE_RANK_NOTES_H

#include "launch/loop/event_loop.h"
#include "launch/node/rank_event.h"
#include "launch/plan/job_plan.h"

typedef struct wl_rank_notes {
    wl_loop_t *loop; /* that wakes up when notes come */
    int fd;          /* that is read; -1: none */
    int inherited;   /* that ranks inherit, under the same number; -1: none */
    const wl_placed_host_t *ours;
    const int *local_rank; /* [size of the job] the plan's */
    int size;
    bool *has_written; /* [ours->count] */
    bool has_garbage;  /* nothing more is taken from the pipe */
} wl_rank_notes_t;

/** MPI_ERR_SERVICE; MPI_ERR_NO_MEM. `out` is to be closed in any case. */
int wl_rank_notes_open(const wl_job_plan_t *plan, int host, wl_loop_t *loop, wl_rank_notes_t *out);

/** Add to a rank's environment where it writes its notes. MPI_ERR_NO_MEM. */
int wl_rank_notes_extend_environment(const wl_rank_notes_t *notes, const char *job,
                                     wl_variables_t *environment);

/** Take the next note; false: there is none. Never blocks. */
bool wl_rank_notes_next(wl_rank_notes_t *notes, wl_rank_event_t *out);

/** Has a rank written notes, and can they be read? What it does is not asked of PMIx then. */
bool wl_rank_notes_has_written(const wl_rank_notes_t *notes, int rank);

void wl_rank_notes_close(wl_rank_notes_t *notes);

#endif
