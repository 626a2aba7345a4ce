/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's plan as a message to its daemons. */
#ifndef WEFT_LAUNCH_TREE_PLAN_MESSAGE_H
#define WEFT_LAUNCH_TREE_PLAN_MESSAGE_H

#include "launch/plan/job_plan.h"
#include "launch/tree/daemon_message.h"

/** Append a completed plan. `directory` is where ranks start that were not given one, `agent` what
 *  daemons start others with (NULL: ssh). */
void wl_plan_write(const wl_job_plan_t *plan, const char *directory, const char *agent,
                   wl_writer_t *out);

/** A plan that was received. Its texts live in the message's copy that it holds. */
typedef struct wl_received_plan {
    wl_job_plan_t plan;
    wl_byte_queue_t text;
} wl_received_plan_t;

/**
 * returns  MPI_SUCCESS; MPI_ERR_OTHER: the message makes no sense (other versions of Weft on the
 *          hosts are told apart by the greeting); MPI_ERR_NO_MEM
 */
int wl_plan_read(const wl_message_t *message, wl_received_plan_t *out);

#endif
