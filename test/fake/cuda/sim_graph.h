/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: what was captured, and what is launched of it. */
#ifndef WEFT_FAKE_CUDA_SIM_GRAPH_H
#define WEFT_FAKE_CUDA_SIM_GRAPH_H

#include "sim_event.h"

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
