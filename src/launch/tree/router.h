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

typedef enum weft_branch_state {
    WEFT_BRANCH_STARTING, /* its agent runs */
    WEFT_BRANCH_JOINED,
    WEFT_BRANCH_DONE, /* has left in good order */
    WEFT_BRANCH_LOST,
} weft_branch_state_t;

struct weft_relay;

typedef struct weft_branch {
    struct weft_relay *relay; /* that it is part of */
    int node;
    weft_branch_state_t state;
    pid_t agent; /* 0: has ended, or was not started */
    weft_wire_t wire;
} weft_branch_t;

/** Somebody who has connected and has yet to show that he knows the secret. */
typedef struct weft_guest {
    struct weft_relay *relay;
    int fd; /* -1: free */
    weft_greeting_t greeting;
    size_t got; /* bytes of the reply */
} weft_guest_t;

enum { WEFT_GUESTS = 64 };

/** What the owner does with what comes; called from the loop, and from weft_relay_start(),
 *  weft_relay_read_on() and weft_relay_send(). */
typedef struct weft_relay_ops {
    /* A message for this node; it may be answered at once. */
    void (*deliver)(void *context, const weft_message_t *message);
    /* A child has joined, and is to be told the job. */
    void (*joined)(void *context, int node);
    /* A child is gone, and with it all below it; once a child. */
    void (*lost)(void *context, int node, const char *why);
} weft_relay_ops_t;

typedef struct weft_relay {
    wl_loop_t *loop;
    wl_child_watch_t agents;
    weft_host_tree_t tree;
    int self;         /* our node */
    weft_call_t call; /* what children are told, but for their node */
    int lost_after_s; /* how long a child may not answer at all */
    const weft_relay_ops_t *ops;
    void *context;
    weft_wire_t up;          /* not of node 0 */
    weft_branch_t *branches; /* [branch_count] */
    int branch_count;
    int listener; /* -1: none */
    weft_guest_t guests[WEFT_GUESTS];
} weft_relay_t;

/**
 * Make a node, without children yet.
 * up        connection to the parent, which is ours from now on; NULL at node 0
 * out       its address may not change; `ops` and `context` are to be set before the next turn
 * returns   MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int weft_relay_open(const weft_host_tree_t *tree, int self, const weft_wire_t *up, wl_loop_t *loop,
                    weft_relay_t *out);

/**
 * Listen and start the agents of all children; those that cannot be started are reported as lost.
 * placement  of the job: has the names of the hosts
 * interface  where to listen; NULL: on all
 * returns    MPI_SUCCESS; MPI_ERR_PORT or MPI_ERR_ARG: nobody can call us
 */
int weft_relay_start(weft_relay_t *relay, const weft_agent_plan_t *agent,
                     const weft_placement_t *placement, const char *interface);

/** Send to a node, over as many others as it takes, or to all below us (WEFT_TO_ALL). What cannot
 * be delivered is lost. */
void weft_relay_send(weft_relay_t *relay, int kind, int to, const weft_writer_t *body);

/** Deliver what had come from the parent before the loop watched it. */
void weft_relay_read_on(weft_relay_t *relay);

/** Is the way to mpirun cut? */
bool weft_relay_is_orphaned(const weft_relay_t *relay);

/** No more children may join; those that have not are given up. */
void weft_relay_stop_listening(weft_relay_t *relay);

/** Have all children left or been lost? */
bool weft_relay_is_alone(const weft_relay_t *relay);

/** Has all been sent that can be? */
bool weft_relay_is_flushed(const weft_relay_t *relay);

/** Close all connections and kill the agents that still run. */
void weft_relay_close(weft_relay_t *relay);

#endif
