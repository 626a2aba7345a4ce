/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx server of a job on one host, inside mpirun or the host's daemon: it tells ranks who they
 * are and lets them exchange addresses. While only ranks of this host take part, the PMIx library
 * completes fences and gets by itself; this module hears of connections, orderly ends and aborts.
 * They come on a thread of PMIx and are handed to the caller's loop through a pipe. What concerns
 * other hosts goes through pmix_exchange.h.
 *
 * There is no close: PMIx 4.2 can hang in its finalize after a client died while connecting.
 * Nothing of the server outlives the process but files in the scratch directory.
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_HOST_H
#define WEFT_LAUNCH_NODE_PMIX_HOST_H

#include "launch/node/rank_event.h"
#include "launch/node/scratch.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>

/**
 * Start the server for the host with that index and register the job. Changes this process's
 * environment; starts threads, which inherit the signal mask. To be called once in a process; with
 * several hosts after wl_exchange_open().
 * pipe_out  readable when there is an event
 * returns   MPI_SUCCESS; MPI_ERR_SERVICE; MPI_ERR_NO_MEM
 */
int wl_pmix_host_open(const wl_job_plan_t *plan, int index, const wl_scratch_t *scratch,
                      int *pipe_out);

/** Add to a rank's environment what its PMIx client needs. */
int wl_pmix_host_extend_environment(int rank, wl_variables_t *environment);

/** Take the next event: connected, finalized or aborted; false when there is none now. Never
 * blocks. */
bool wl_pmix_host_next_event(wl_rank_event_t *out);

#endif
