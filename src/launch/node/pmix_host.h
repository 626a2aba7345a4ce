/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx inside the server's process: the job is registered, and upcalls tell mpirun of connections,
 * orderly ends and aborts. They run on a thread of PMIx. What concerns other hosts goes through
 * pmix_exchange.h.
 *
 * There is no close: PMIx 4.2 can hang in its finalize after a client died while connecting.
 * Nothing of the server outlives the process but files in the scratch directory.
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_HOST_H
#define WEFT_LAUNCH_NODE_PMIX_HOST_H

#include "launch/loop/launch_message.h"
#include "launch/node/scratch.h"
#include "launch/plan/job_plan.h"

/**
 * Where the loopback interface is down PMIx cannot work: there is no server then, ranks start
 * without one, and those of MPI programs find the reason in WEFT_NO_SERVER.
 *
 * Start the server for the host with that index and register the job. Changes this process's
 * environment; starts threads, which inherit the signal mask. To be called once in a process.
 * returns  MPI_SUCCESS; MPI_ERR_SERVICE; MPI_ERR_NO_MEM
 */
int wl_pmix_host_open(const wl_job_plan_t *plan, int index, const wl_scratch_t *scratch);

/** A rank of this host is lost (WL_PMIX_LOSE): no fence that begins from now on waits for it. */
void wl_pmix_host_take_loss(const wl_message_t *message);

/** Add to a rank's environment what its PMIx client needs. */
int wl_pmix_host_extend_environment(int rank, wl_variables_t *environment);

#endif
