/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx server of a job on one host, as mpirun or the host's daemon sees it: a process of its
 * own, since the library reads from whatever process connects to it, and may crash or wait there.
 * Neither takes mpirun and its verdict along.
 *
 *   ranks --PMIx--> server process (pmix_service.h) <--messages on a socket pair--> mpirun's loop
 *
 * It tells the ranks who they are and lets them exchange addresses. While only ranks of this host
 * take part, the PMIx library completes fences and gets by itself.
 *
 * Messages                      body
 *   to mpirun   ENVIRONMENT     u32 index of a rank of this host, texts NAME=VALUE
 *               READY
 *               FAILED          u32 error class, text
 *               EVENT           wl_rank_event_t
 *               FENCE           u64 call, u32 purpose, u64 limit in s, u32 count, ranks; data
 *               GET             u64 call, u32 rank, u64 limit in s, text key
 *               LOOKED_UP       u64 call, u32 PMIx status, data
 *   to it       ANSWER          u64 call, u32 PMIx status, data
 *               LOOK_UP         u64 call, u32 rank, text key
 *               LOSE            u32 rank
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_SERVER_H
#define WEFT_LAUNCH_NODE_PMIX_SERVER_H

#include "launch/loop/connection.h"
#include "launch/node/pmix_request.h"
#include "launch/node/rank_event.h"
#include "launch/node/scratch.h"
#include "launch/plan/job_plan.h"

#include <stdbool.h>
#include <sys/types.h>

typedef enum wl_pmix_message {
    WL_PMIX_ENVIRONMENT = 1,
    WL_PMIX_READY,
    WL_PMIX_FAILED,
    WL_PMIX_EVENT,
    WL_PMIX_FENCE,
    WL_PMIX_GET,
    WL_PMIX_LOOKED_UP,
    WL_PMIX_ANSWER,
    WL_PMIX_LOOK_UP,
    WL_PMIX_LOSE,
} wl_pmix_message_t;

typedef struct wl_pmix_server {
    pid_t pid; /* 0: none */
    wl_connection_t connection;
    const wl_placed_host_t *ours;
    wl_variables_t
        *environments;      /* [ours->count] what PMIx wants in the environment of each rank */
    weft_list_t looking_up; /* requests that the server has not answered yet */
    uint64_t next_call;
    bool has_told_end;
    /* Takes requests, which belong to it then. NULL: the job has one host. */
    void (*on_request)(void *owner, wl_pmix_request_t *request);
    void *owner;
} wl_pmix_server_t;

/**
 * Start the server for the host with that index. To be called while there is one thread, with the
 * signals blocked that the caller handles. on_request and owner are set before; `server` is to be
 * closed in any case, and its address may not change.
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN; MPI_ERR_SERVICE; MPI_ERR_NO_MEM
 */
int wl_pmix_server_open(wl_pmix_server_t *server, const wl_job_plan_t *plan, int host,
                        const wl_scratch_t *scratch);

/** Wait until the server knows the job. MPI_ERR_SERVICE; MPI_ERR_NO_MEM. */
int wl_pmix_server_await(wl_pmix_server_t *server, wl_loop_t *loop);

/** Add to a rank's environment what its PMIx client needs; `index` is its place on the host. */
int wl_pmix_server_extend_environment(const wl_pmix_server_t *server, int index,
                                      wl_variables_t *environment);

/** The environments are not needed any more. */
void wl_pmix_server_forget_environments(wl_pmix_server_t *server);

/** Read what has come, now and not when the loop finds it. Never blocks. */
void wl_pmix_server_read(wl_pmix_server_t *server);

/** Take the next event: connected, finalized, aborted, or, once, the server's end; false when there
 *  is none now. Hands requests to on_request. Never blocks. */
bool wl_pmix_server_next_event(wl_pmix_server_t *server, wl_rank_event_t *out);

/** Answer a fence or a get with a copy of `data` and a status of PMIx; the request is released. */
void wl_pmix_answer(wl_pmix_request_t *request, int status, const char *data, size_t bytes);

/**
 * Ask the server for what request->rank, a rank of this host, has committed; the server waits for
 * the first commit. The request (kind WL_REQUEST_LOOKED_UP; rank, asker, number and key set) comes
 * back with data or with a status; PMIX_ERR_NOT_FOUND: there are data, but not the key.
 */
void wl_pmix_look_up(wl_pmix_server_t *server, wl_pmix_request_t *request);

/** A rank of this host is lost: fences go on without it. */
void wl_pmix_server_lose(wl_pmix_server_t *server, int rank);

/** Kill the process, and do not tell of its end. */
void wl_pmix_server_end(wl_pmix_server_t *server);

/** Kill the process if that has not been done, and wait for its end. */
void wl_pmix_server_close(wl_pmix_server_t *server);

#endif
