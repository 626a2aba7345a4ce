/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun, as the root, and each daemon do as a node of the host tree: start the daemons below,
 * and pass messages up and down. */
#ifndef WEFT_LAUNCH_TREE_ROUTER_H
#define WEFT_LAUNCH_TREE_ROUTER_H

#include "base/handshake.h"
#include "launch/loop/event_loop.h"
#include "launch/plan/placement.h"
#include "launch/tree/agent.h"
#include "launch/loop/connection.h"
#include "launch/tree/daemon_message.h"
#include "launch/tree/host_tree.h"
#include "launch/tree/parent_link.h"

#include <stdbool.h>

typedef enum wl_child_state {
    WL_CHILD_STARTING, /* its agent runs */
    WL_CHILD_JOINED,
    WL_CHILD_DONE, /* has sent DONE */
    WL_CHILD_LOST,
} wl_child_state_t;

struct wl_router;

typedef struct wl_child {
    struct wl_router *router; /* that it is part of */
    int node;
    wl_child_state_t state;
    pid_t agent; /* 0: it has ended, or was not started */
    wl_connection_t connection;
} wl_child_t;

/** A connection whose other end has not yet proved that it knows the secret. */
typedef struct wl_pending {
    struct wl_router *router;
    int fd; /* -1: free */
    weft_handshake_t handshake;
    size_t got;       /* bytes of the reply */
    int64_t until_ms; /* when it is dismissed */
} wl_pending_t;

/* A daemon answers in an instant. Connections that say nothing take places from each other, the
 * oldest first, and leave after a few seconds. */
enum { WL_PENDING_MOST = 64, WL_PENDING_MS = 5000 };

/** The owner's functions; called from the loop, and from wl_router_start(), wl_router_read_on() and
 *  wl_router_send(). */
typedef struct wl_router_ops {
    /* A message for this node; the function may send messages. */
    void (*deliver)(void *context, const wl_message_t *message);
    /* A child has joined: the owner sends it the plan. */
    void (*joined)(void *context, int node);
    /* A child is lost, and with it all daemons below it; called once for each child. */
    void (*lost)(void *context, int node, const char *why);
} wl_router_ops_t;

typedef struct wl_router {
    wl_loop_t *loop;
    wl_child_watch_t agents;
    wl_host_tree_t tree;
    int self;                     /* our node */
    wl_parent_link_t parent_link; /* what children are told, except for their node */
    int lost_after_s;             /* after so much silence a child is lost */
    const wl_router_ops_t *ops;
    void *context;
    wl_connection_t up;   /* to the parent; node 0 has none */
    wl_child_t *children; /* [child_count] */
    int child_count;
    bool listens_everywhere; /* not at the address of one interface alone */
    int listener;            /* -1: none; it is closed when all children have joined */
    wl_pending_t pending[WL_PENDING_MOST];
    wl_timer_t pending_end; /* when the oldest of them is dismissed */
} wl_router_t;

/**
 * Make a node; no child is started yet.
 * up       connection to the parent, which belongs to the router from now on; NULL at node 0
 * out      its address may not change; `ops` and `context` are to be set before the next turn
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int wl_router_open(const wl_host_tree_t *tree, int self, const wl_connection_t *up, wl_loop_t *loop,
                   wl_router_t *out);

/**
 * Listen, and start the agents of all children; those that cannot be started are reported as lost.
 * placement  has the names of the hosts
 * interface  the one to listen on, at its first address; NULL: all
 * returns    MPI_SUCCESS; MPI_ERR_PORT or MPI_ERR_ARG: children could not connect to this node
 */
int wl_router_start(wl_router_t *router, const wl_agent_plan_t *agent,
                    const wl_placement_t *placement, const char *interface);

/** Send to a node, through other nodes if need be, or to all below this one (WL_TO_ALL). A message
 *  for a lost node is dropped. */
void wl_router_send(wl_router_t *router, int kind, int to, const wl_writer_t *body);

/** Deliver what had come from the parent before the loop watched the connection. */
void wl_router_read_on(wl_router_t *router);

/** Is the connection to the parent lost? */
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
