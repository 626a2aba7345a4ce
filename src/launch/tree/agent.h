/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start a daemon on a host: `ssh HOST /where/it/is/weftd`, or any program that is used like ssh; on
 * our own host, directly. What is secret goes through its stdin.
 */
#ifndef WEFT_LAUNCH_TREE_AGENT_H
#define WEFT_LAUNCH_TREE_AGENT_H

#include <signal.h>
#include <sys/types.h>

typedef struct wl_agent_plan {
    const char *words;  /* "ssh -p 2222": the program and its arguments; NULL: ssh */
    const char *daemon; /* the daemon's path on all hosts */
    sigset_t signals;   /* to be blocked in the agent: what was blocked when we started */
} wl_agent_plan_t;

/**
 * Start the daemon; `call` (of less than 4 KiB) becomes its stdin. The agent ends when the daemon
 * does, or when we die; what both print goes to our stderr.
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN
 */
int wl_agent_start(const wl_agent_plan_t *plan, const char *host, const char *call, pid_t *pid_out);

#endif
