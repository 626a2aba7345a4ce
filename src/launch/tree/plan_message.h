/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's plan as a message to its daemons. */
#ifndef WEFT_LAUNCH_TREE_PLAN_MESSAGE_H
#define WEFT_LAUNCH_TREE_PLAN_MESSAGE_H

#include "launch/plan/job_plan.h"
#include "launch/tree/daemon_message.h"

/** Append a completed plan. directory: where ranks start that have none of their own; agent: with
 *  which daemons start others (NULL: ssh). */
void wl_plan_write(const wl_job_plan_t *plan, const char *directory, const char *agent,
                   wl_writer_t *out);

/** A received plan. Its texts lie in `text`, a copy of the message. */
typedef struct wl_received_plan {
    wl_job_plan_t plan;
    wl_byte_queue_t text;
} wl_received_plan_t;

/**
 * Read a plan; `out` is valid until the process ends.
 * returns  MPI_SUCCESS; MPI_ERR_OTHER: the message is invalid (a different version of Weft on a
 *          host is found by the handshake); MPI_ERR_NO_MEM
 */
int wl_plan_read(const wl_message_t *message, wl_received_plan_t *out);

#endif
