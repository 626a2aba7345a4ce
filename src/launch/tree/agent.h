/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start a daemon on a host: by `ssh HOST /path/of/weftd`, or any program that is used like ssh; on
 * this host, directly. The secret goes through its stdin, since command lines can be seen by
 * others.
 */
#ifndef WEFT_LAUNCH_TREE_AGENT_H
#define WEFT_LAUNCH_TREE_AGENT_H

#include <signal.h>
#include <sys/types.h>

typedef struct wl_agent_plan {
    const char *words;  /* "ssh -p 2222": the program and its arguments; NULL: ssh */
    const char *daemon; /* the daemon's path on all hosts */
    sigset_t signals; /* blocked in the agent: those that were blocked when this process started */
} wl_agent_plan_t;

/**
 * Start the daemon; `call` (of less than 4 KiB) becomes its stdin. The agent ends when the daemon
 * does, or when this process dies; the output of both goes to our stderr.
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN
 */
int wl_agent_start(const wl_agent_plan_t *plan, const char *host, const char *call, pid_t *pid_out);

#endif
