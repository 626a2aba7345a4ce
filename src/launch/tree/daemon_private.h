/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the daemon's life (daemon.c) and the messages that it takes and sends (daemon_service.c).
 */
#ifndef WEFT_LAUNCH_TREE_DAEMON_PRIVATE_H
#define WEFT_LAUNCH_TREE_DAEMON_PRIVATE_H

#include "launch/node/node_ranks.h"
#include "launch/tree/fence_tree.h"
#include "launch/tree/plan_message.h"
#include "launch/tree/remote_data.h"
#include "launch/tree/remote_input.h"
#include "launch/tree/remote_output.h"
#include "launch/tree/router.h"

/** A daemon; there is one in a process. */
typedef struct wli_daemon {
    wl_loop_t loop;
    wl_parent_link_t parent_link;
    wl_received_plan_t job;
    wl_writer_t job_text; /* as received, for our children */
    wl_router_t router;
    wl_node_ranks_t node;
    wl_fences_t fences;
    wl_remote_data_t remote_data;
    wl_remote_output_t output;
    wl_input_drain_t input;
    sigset_t old_signals;
    bool shows_prompts[2]; /* mpirun's stdout and stderr are a terminal */
    bool is_started, is_told_to_end, is_finishing, has_told_end_of_output;
} wli_daemon_t;

/** What the router calls, with the daemon as context. */
extern const wl_router_ops_t wli_daemon_router_ops;

/** The ranks can be started: tell mpirun. */
void wli_daemon_tell_ready(wli_daemon_t *daemon);

/** They cannot: tell mpirun the error, and the text of weft_fail_text(). */
void wli_daemon_send_failure(wli_daemon_t *daemon, int err);

/** Tell mpirun what has happened to the ranks, each event after the output before it. */
void wli_daemon_tell_events(wli_daemon_t *daemon);

/** Tell mpirun, once, when all output of the ranks has ended. */
void wli_daemon_tell_end_of_output(wli_daemon_t *daemon);

/** The PMIx server has a request, which belongs to the daemon now. */
void wli_daemon_take_request(void *owner, wl_pmix_request_t *request);

#endif
