/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node of the host tree: starts the daemons below it, and passes messages up and down. mpirun is
 * the root, each daemon a node.
 */
#ifndef WEFT_LAUNCH_TREE_ROUTER_H
#define WEFT_LAUNCH_TREE_ROUTER_H

#include "launch/tree/agent.h"
#include "launch/tree/parent_link.h"
#include "launch/tree/daemon_handshake.h"
#include "launch/tree/host_tree.h"
#include "launch/loop/event_loop.h"
#include "launch/plan/placement.h"
#include "launch/tree/connection.h"

#include <stdbool.h>

typedef enum wl_child_state {
    WL_CHILD_STARTING, /* its agent runs */
    WL_CHILD_JOINED,
    WL_CHILD_DONE, /* has left in good order */
    WL_CHILD_LOST,
} wl_child_state_t;

struct wl_router;

typedef struct wl_child {
    struct wl_router *router; /* that it is part of */
    int node;
    wl_child_state_t state;
    pid_t agent; /* 0: has ended, or was not started */
    wl_connection_t connection;
} wl_child_t;

/** Somebody who has connected and has yet to show that he knows the secret. */
typedef struct wl_pending {
    struct wl_router *router;
    int fd; /* -1: free */
    wl_handshake_t handshake;
    size_t got; /* bytes of the reply */
} wl_pending_t;

enum { WL_PENDING_MOST = 64 };

/** What the owner does with what comes; called from the loop, and from wl_router_start(),
 *  wl_router_read_on() and wl_router_send(). */
typedef struct wl_router_ops {
    /* A message for this node; it may be answered at once. */
    void (*deliver)(void *context, const wl_message_t *message);
    /* A child has joined, and is to be told the job. */
    void (*joined)(void *context, int node);
    /* A child is gone, and with it all below it; once a child. */
    void (*lost)(void *context, int node, const char *why);
} wl_router_ops_t;

typedef struct wl_router {
    wl_loop_t *loop;
    wl_child_watch_t agents;
    wl_host_tree_t tree;
    int self;                     /* our node */
    wl_parent_link_t parent_link; /* what children are told, but for their node */
    int lost_after_s;             /* how long a child may not answer at all */
    const wl_router_ops_t *ops;
    void *context;
    wl_connection_t up;   /* not of node 0 */
    wl_child_t *children; /* [branch_count] */
    int child_count;
    int listener; /* -1: none */
    wl_pending_t pending[WL_PENDING_MOST];
} wl_router_t;

/**
 * Make a node, without children yet.
 * up        connection to the parent, which is ours from now on; NULL at node 0
 * out       its address may not change; `ops` and `context` are to be set before the next turn
 * returns   MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int wl_router_open(const wl_host_tree_t *tree, int self, const wl_connection_t *up, wl_loop_t *loop,
                   wl_router_t *out);

/**
 * Listen and start the agents of all children; those that cannot be started are reported as lost.
 * placement  of the job: has the names of the hosts
 * interface  where to listen; NULL: on all
 * returns    MPI_SUCCESS; MPI_ERR_PORT or MPI_ERR_ARG: nobody can call us
 */
int wl_router_start(wl_router_t *router, const wl_agent_plan_t *agent,
                    const wl_placement_t *placement, const char *interface);

/** Send to a node, over as many others as it takes, or to all below us (WL_TO_ALL). What cannot
 * be delivered is lost. */
void wl_router_send(wl_router_t *router, int kind, int to, const wl_writer_t *body);

/** Deliver what had come from the parent before the loop watched it. */
void wl_router_read_on(wl_router_t *router);

/** Is the way to mpirun cut? */
bool wl_router_is_orphaned(const wl_router_t *router);

/** No more children may join; those that have not are given up. */
void wl_router_stop_listening(wl_router_t *router);

/** Have all children left or been lost? */
bool wl_router_is_alone(const wl_router_t *router);

/** Has all been sent that can be? */
bool wl_router_is_flushed(const wl_router_t *router);

/** Close all connections and kill the agents that still run. */
void wl_router_close(wl_router_t *router);

#endif
