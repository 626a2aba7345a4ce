/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of the ranks: started in process groups of their own, watched, killed. A rank that
 * has ended stays a zombie until wl_ranks_release(), so that no other process can get its process
 * id, the number of its group, while signals may still be sent to it.
 */
#ifndef WEFT_LAUNCH_NODE_RANK_PROCESS_H
#define WEFT_LAUNCH_NODE_RANK_PROCESS_H

#include "base/cpu.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { WL_KILL_PATIENCE_MS = 10000 /* after SIGKILL, for processes that are slow to die */ };

typedef struct wl_rank_process {
    pid_t pid;
    bool has_ended;
    int exit_code; /* as a shell gives it: 128 + n after signal n; once has_ended */
    int signal;    /* that ended it; 0: none */
    bool has_core;
} wl_rank_process_t;

typedef struct wl_ranks {
    wl_rank_process_t *processes; /* [number of ranks] */
    int count, running;           /* how many were started; how many of these still run */
    sigset_t signals;             /* blocked in the ranks: those that were blocked when mpirun
                                   * started */
    struct rlimit open_files;     /* of the ranks */
    int64_t killed_at_ms;         /* when they were first sent SIGKILL; 0: they were not */
    bool ignores_sigpipe, ignores_sigxfsz; /* ranks ignore it too, since mpirun was started so */
} wl_ranks_t;

/** How to start one rank. in, out and err may not be 0, 1 or 2, except in == 0, which the rank
 *  inherits. */
typedef struct wl_rank_start {
    const char *path, *directory; /* directory NULL: mpirun's */
    char *const *arguments, *const *environment;
    int in, out, err;
    int notes;                /* a descriptor that the program inherits under its number */
    const weft_cpus_t *cores; /* to be bound to; NULL: not bound */
    /* Linux shares processors out among sessions first (sched_autogroup(7)): alone in one, a rank
     * gets as much of its core as each other session there. Ranks that share a core take turns,
     * which is slow between sessions: on two cores with two such strangers 8 ranks had a barrier in
     * 34 to 65 us together, and in 700 us alone. */
    bool has_session;
} wl_rank_start_t;

/** Room for `count` ranks. Call it before mpirun changes its own signals and limits.
 * MPI_ERR_NO_MEM. */
int wl_ranks_open(int count, wl_ranks_t *out);

/**
 * Start the next rank; returns when it executes its program.
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE or MPI_ERR_ACCESS: the program could not be executed;
 *          MPI_ERR_SPAWN: no process
 */
int wl_ranks_start(wl_ranks_t *ranks, const wl_rank_start_t *start);

/** Start one again whose end was seen. Errors of wl_ranks_start(). */
int wl_ranks_restart(wl_ranks_t *ranks, int rank, const wl_rank_start_t *start);

/** Has `rank` ended since the last call? If so, stores how; exit code 1 if that cannot be known. */
bool wl_ranks_poll(wl_ranks_t *ranks, int rank);

/** The rank whose process is `pid`; -1 when there is none. */
int wl_ranks_find(const wl_ranks_t *ranks, pid_t pid);

/** Send a signal to all process groups, whether or not their first process still runs. */
void wl_ranks_signal(wl_ranks_t *ranks, int signal_number);

/** Kill the process group of one rank. */
void wl_ranks_kill(const wl_ranks_t *ranks, int rank);

/** Reap all. A process that has not ended WL_KILL_PATIENCE_MS after SIGKILL is left to the init
 *  process: a file system or a driver that hangs may hold it for ever, and so may a debugger. */
void wl_ranks_release(wl_ranks_t *ranks);

#endif
