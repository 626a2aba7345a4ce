/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process and its place among the others: set at start-up, read everywhere.
 */
#ifndef WEFT_RUNTIME_WORLD_H
#define WEFT_RUNTIME_WORLD_H

#include "runtime/process.h"
#include "runtime/transport.h"
#include "base/own_symbol.h"

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

/** What ranks log once a host: something that costs speed, and that the user may change. */
typedef enum weft_warning {
    WEFT_WARNING_NO_READING, /* of each other's memory */
    WEFT_WARNING_OLD_DRIVER,
    WEFT_WARNING_NO_KERNELS,
    WEFT_WARNING_NO_PINNED,
    WEFT_WARNING_NO_HMEM, /* the network does not reach device memory */
    WEFT_WARNING_NO_BAR,
    WEFT_WARNING_HELD_QUEUE,
    WEFT_WARNING_NO_SHELF,
    WEFT_WARNING_MANAGED, /* this and the rest: device memory is staged between processes */
    WEFT_WARNING_POOL,
    WEFT_WARNING_NO_HANDLE,
    WEFT_WARNING_NOT_VISIBLE,
    WEFT_WARNING_NO_PEERS,
    WEFT_WARNING_CONTEXTS,
    WEFT_WARNING_PEERS_LIE,
    WEFT_WARNING_NO_DESCRIPTORS,
    WEFT_WARNING_REFUSED,
} weft_warning_t;

/** The link of a simulated host: when its two directions are free, in ns of weft_clock_ns(). */
typedef struct weft_host_link {
    atomic_llong out_free_ns, in_free_ns;
} weft_host_link_t;

struct weft_world {
    /* Of the library: RUNNING while anybody uses it. This and the next three are changed by the
     * functions below. */
    weft_stage_t stage;
    bool is_threaded;      /* calls take the lock (runtime/lock.h) */
    bool has_many_callers; /* operations may be begun while the program waits for another one: by
                            * its other threads, or in its streams (src/stream) */
    bool is_watchful;      /* calls that communicate look first: weft_pt2pt_look() */
    bool is_plain; /* the library runs, not threaded nor watchful: short ways need no lock */
    weft_stage_t world_model; /* of MPI_Init and MPI_Finalize; sessions need neither */
    bool begins_alone; /* started by a session: other processes may have ended theirs already */
    int thread_level;  /* granted, an MPI_THREAD_ constant */
    int rank, size;    /* in MPI_COMM_WORLD */
    int local_size;    /* ranks on this host */
    const int *local_ranks; /* [local_size] their world ranks, ascending */
    int local_rank;         /* index of `rank` in local_ranks */
    const char *host;
    const char *machine;       /* on which the hosts are simulated; "": they are real */
    const char *job_id;        /* names the job on this host; fit for file names */
    int appnum, universe_size; /* negative: not known */
    /* Of the transport within the host, the same on all its ranks. */
    bool is_oversubscribed;         /* ranks of this host outnumber the cores they may use; */
    int ranks_per_core;             /* by so much, rounded up; 0: not known */
    bool has_asymmetric_fence;      /* of base/futex.h, opened by all ranks of this host */
    int vcis;                       /* of runtime/vci.h; 1: there is VCI 0 alone */
    atomic_uint *senders_fence;     /* where they share weft_senders_fence; NULL: alone */
    struct weft_doorbell *doorbell; /* where peers wake this process; NULL: nowhere */
    atomic_uint *shown_leaving;     /* where peers see `leaving`; NULL: nowhere */
    atomic_uint *noted; /* shared by the host: a bit for each weft_warning_t logged; NULL: alone */
    weft_host_link_t *host_link; /* shared by a simulated host; NULL: alone */
    atomic_uint leaving;         /* weft_leaving_t; weft_world_leave() sets it */
    const weft_wireup_t *wireup;
    const char *fabric; /* the libfabric provider between hosts; "" where there is none */
    /* A rank is lost or could not be reached: a later failure is probably a consequence. */
    bool has_lost;
    /* This rank has too few file descriptors: what fails later is its own failure all the same. */
    bool lacks_files;
    /** Make the endpoint of a process that has none and enter it in the table; NULL, with a text of
     *  weft_fail, when it cannot be reached. Set by start-up. */
    weft_endpoint_t *(*reach)(int process);
    /** Has the host of a process said where on the network it is? Waits a second at most, where
     *  `reach` would wait for long. Set by networks; NULL: there is none. */
    bool (*is_published)(int process);
    /** A transport asks, before the payload of a packet is there, where the payload is to go. NULL:
     *  into memory of the transport. Otherwise the transport writes `bytes` of the header there,
     *  and then gives the sink the header as this function has changed it, and that place as the
     *  payload. Set by start-up; NULL: never asked. */
    void *(*land)(int source_process, weft_header_t *header);
    /** With the lock: is a packet wanted at this moment? False: it is a message, or the first part
     * of one, that no receive waits for, so that it would be copied once more. Set by start-up. */
    bool (*awaits)(int source_process, const weft_header_t *header);
    /** A transport calls this when a rank cannot be reached any more, and says why: what waits for
     * the rank ends with an error. Set by start-up. */
    void (*peer_lost)(int process, const char *why);
    /** The same for all ranks of other hosts, also those that were never reached. */
    void (*network_lost)(const char *why);
    /** Called, with the lock, where a thread has waited for `flag` for half of
     * WEFT_UNRECEIVED_AFTER and nothing has happened at all, and then again. Set by start-up;
     * NULL: never. */
    void (*waited_long)(const bool *flag);
    /** The process id of a rank of this host; 0: it cannot be seen from here. Set by the transport
     * within the host; NULL: there is none. */
    int (*pid_of)(int local_rank);
    /** Others have told that a process is dead, peer_lost() comes next: touch its gets no more. Set
     * by networks; NULL: there is nothing to do. */
    void (*abandon)(int process);
    /** End the job: the launcher's abort, then _exit. Set by start-up. */
    void (*abort)(int code, const char *why) __attribute__((noreturn));
};

extern WEFT_OWN_SYMBOL weft_world_t weft_world;

void weft_world_set_stage(weft_stage_t stage);
/** Are there several threads that call MPI, or begin operations? */
void weft_world_set_threaded(bool is_threaded);
/** Calls take the lock from now on, though one thread alone begins operations. */
void weft_world_set_locked(void);
void weft_world_set_watchful(bool is_watchful);

/** May threads of this process use VCIs (runtime/vci.h), if other ranks of the host may? */
bool weft_world_wants_vcis(void);

/** Do two ranks alone share this host, with a core each? */
static inline bool weft_world_has_one_pair(void)
{
    return weft_world.local_size == 2 && !weft_world.is_oversubscribed;
}

/** This process has come so far in MPI_Finalize: packets that it sent before are seen before. */
void weft_world_leave(weft_leaving_t how);

/** Is this the process that logs the warning? True once for each warning and host. */
bool weft_world_may_warn(weft_warning_t note);

/** The index of a rank in weft_world.local_ranks; -1: it is not on this host. */
int weft_world_local_rank_of(int world_rank);

/** The same of a process, which may be of another job: then it is -1. */
int weft_process_local_rank(int process);

/** The endpoint of a process, made when there is none; NULL, with a text of weft_fail, when it
 *  cannot be reached. */
static inline weft_endpoint_t *weft_process_endpoint(int process)
{
    weft_endpoint_t *endpoint = weft_process_reached(process);
    return __builtin_expect(endpoint != NULL, 1) ? endpoint : weft_world.reach(process);
}

#endif
