/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: what was captured, and what is launched of it. */
#ifndef SIMCUDA_SIM_GRAPH_H
#define SIMCUDA_SIM_GRAPH_H

#include "sim_event.h"

/* ---- sim_user_object.c ---- */

typedef struct sim_user_object sim_user_object_t;

/** The references to user objects that a graph, or what was instantiated from it, holds. All zeros:
 * none. */
typedef struct sim_held {
    sim_user_object_t **list; /* an entry for each reference */
    size_t count;
} sim_held_t;

/** Adds to `to` references of its own, to the objects that `from` holds. */
void sim_held_copy(sim_held_t *to, const sim_held_t *from);
/** Releases all references. Objects without references are destroyed: their destructors run in a
 * thread of the simulator, in the order of the list. */
void sim_held_release(sim_held_t *held);

/* ---- sim_graph.c ---- */

typedef struct sim_node {
    sim_object_t object;
    size_t index; /* in its graph */
    sim_work_t *work;
    struct sim_node **needs;
    size_t need_count;
} sim_node_t;

typedef struct sim_graph {
    sim_object_t object;
    sim_node_t **nodes; /* each after those that it needs */
    size_t count;
    sim_held_t held;
} sim_graph_t;

/** The event that a node of type EVENT_RECORD or WAIT_EVENT names, in its work's arguments. */
typedef struct sim_named_event {
    CUevent handle;
} sim_named_event_t;

sim_graph_t *sim_graph_of(CUgraph handle);
sim_graph_t *sim_graph_create(void);
void sim_graph_release(sim_graph_t *graph);
/** A new node, which takes the caller's reference of `work`. */
sim_node_t *sim_graph_add(sim_graph_t *graph, sim_work_t *work, sim_node_t *const *needs,
                          size_t count);

#endif
