/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process and its place among the others: set at start-up, read everywhere.
 */
#ifndef WEFT_RUNTIME_WORLD_H
#define WEFT_RUNTIME_WORLD_H

#include "runtime/process.h"
#include "runtime/transport.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef enum weft_stage {
    WEFT_BEFORE_INIT,
    WEFT_RUNNING,
    WEFT_AFTER_FINALIZE,
} weft_stage_t;

/** What start-up lends to the transports so that they find each other. Blocking. */
typedef struct weft_wireup {
    /** Make `bytes` bytes readable by the ranks of this host under `key` after the next fence. */
    int (*put)(const char *key, const void *data, size_t bytes);
    /** Wait for all ranks of this host. */
    int (*fence)(void);
    /** What `rank` of this host put before the fence; the caller frees *out with weft_free. */
    int (*get)(int rank, const char *key, void **out, size_t *bytes_out);
    /** Make `bytes` bytes readable by all ranks of all hosts, without a fence. */
    int (*publish)(const char *key, const void *data, size_t bytes);
    /** What `rank`, on whatever host, publishes; waits for it, `limit_s` seconds at most. */
    int (*await)(int rank, const char *key, int limit_s, void **out, size_t *bytes_out);
    /** node_of[size]: the hosts of all ranks, as numbers. */
    int (*find_nodes)(int *node_of);
} weft_wireup_t;

/** What ranks say once a host: it costs speed, and the user may change it. */
typedef enum weft_warning {
    WEFT_WARNING_NO_READING, /* of each other's memory */
    WEFT_WARNING_OLD_DRIVER,
    WEFT_WARNING_NO_KERNELS,
    WEFT_WARNING_NO_PINNED,
    WEFT_WARNING_NO_HMEM, /* the network does not reach device memory */
    WEFT_WARNING_NO_BAR,
    WEFT_WARNING_MANAGED, /* and the rest: device memory goes between processes by a detour */
    WEFT_WARNING_POOL,
    WEFT_WARNING_NO_HANDLE,
    WEFT_WARNING_NOT_VISIBLE,
    WEFT_WARNING_NO_PEERS,
    WEFT_WARNING_REFUSED,
} weft_warning_t;

struct weft_world {
    weft_stage_t stage;
    bool is_threaded; /* calls take the lock: MPI_THREAD_MULTIPLE, or a thread of src/stream */
    int thread_level; /* granted, an MPI_THREAD_ constant */
    int rank, size;   /* in MPI_COMM_WORLD */
    int local_size;   /* ranks on this host */
    const int *local_ranks; /* [local_size] their world ranks, ascending */
    int local_rank;         /* index of `rank` in local_ranks */
    const char *host;
    const char *job_id;        /* names the job on this host; fit for file names */
    int appnum, universe_size; /* negative: not known */
    /* Of the transport within the host, the same on all its ranks. */
    bool is_oversubscribed;         /* ranks of this host outnumber the cores they may use */
    bool has_asymmetric_fence;      /* of base/futex.h, opened by all ranks of this host */
    struct weft_doorbell *doorbell; /* where peers wake this process; NULL: nowhere */
    atomic_uint *noted; /* of this host: a bit for each weft_warning_t that was said; NULL: alone */
    const weft_wireup_t *wireup;
    const char *fabric; /* the libfabric provider between hosts; "" where there is none */
    /* Some rank is lost or could not be reached: what fails later is probably a consequence. */
    bool has_lost;
    /** Make the endpoint of a process that has none and enter it in the table; NULL, with a text of
     *  weft_fail, when it cannot be reached. Set by start-up. */
    weft_endpoint_t *(*reach)(int process);
    /** Asked by a transport before the payload of a packet is there: where shall it go? NULL: into
     *  memory of the transport. Else `bytes` of the header are written there, and the sink is then
     *  given the header as this function has changed it, and that place as the payload. Set by
     *  start-up; NULL: never. */
    void *(*land)(int source_process, weft_header_t *header);
    /** Told by a transport that a rank cannot be reached any more, and why: whatever waits for it
     * ends with an error. Set by start-up. */
    void (*peer_lost)(int process, const char *why);
    /** The same of all ranks of other hosts, those that were never talked to as well. */
    void (*network_lost)(const char *why);
    /** End the job: the launcher's abort, then _exit. Set by start-up. */
    void (*abort)(int code, const char *why) __attribute__((noreturn));
};

extern weft_world_t weft_world;

/** Is it for this process to say it? Once for a host. */
bool weft_world_may_warn(weft_warning_t note);

/** The endpoint of a process, made when there is none; NULL, with a text of weft_fail, when it
 *  cannot be reached. */
static inline weft_endpoint_t *weft_process_endpoint(int process)
{
    weft_endpoint_t *endpoint = weft_process_reached(process);
    return __builtin_expect(endpoint != NULL, 1) ? endpoint : weft_world.reach(process);
}

#endif
