/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the PMIx server's process asks mpirun, or the daemon, to get from other hosts
 * (pmix_request.h), and what it is asked by it.
 *
 *   upcall fence_nb, direct_modex --FENCE, GET--> mpirun --ANSWER--> wl_exchange_take_answer
 *   mpirun --LOOK_UP--> wl_exchange_take_look_up --LOOKED_UP--> mpirun
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_EXCHANGE_H
#define WEFT_LAUNCH_NODE_PMIX_EXCHANGE_H

#include "launch/loop/launch_message.h"

#include <pmix_server.h>

/** Serve a job whose ranks are on several hosts: fill in entries of the server's table.
 *  job  its namespace */
void wl_exchange_open(const char *job, pmix_server_module_t *upcalls);

/** A fence whose ranks are known as numbers. */
typedef struct wl_exchange_fence {
    const int *ranks; /* [count] ascending; count 0: all ranks of the job */
    int count;
    const char *data; /* [bytes] what the ranks of this host bring */
    size_t bytes;
} wl_exchange_fence_t;

/** Ask mpirun for a fence; if this returns PMIX_SUCCESS, the answer is called in the end. */
pmix_status_t wl_exchange_fence_ranks(const wl_exchange_fence_t *fence, pmix_modex_cbfunc_t answer,
                                      void *cookie);

/** mpirun answers a fence or a get. */
void wl_exchange_take_answer(const wl_message_t *message);

/** mpirun wants what a rank of this host has committed. */
void wl_exchange_take_look_up(const wl_message_t *message);

#endif
