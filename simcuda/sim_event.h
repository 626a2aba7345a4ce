/* SPDX-License-Identifier: BSD-3-Clause */
/* Events. An event that other processes may open keeps its state in a page that they share: how
 * often it was recorded, and which of the records was the last to complete. */
#ifndef SIMCUDA_SIM_EVENT_H
#define SIMCUDA_SIM_EVENT_H

#include "sim_stream.h"

#include <stdatomic.h>

typedef struct sim_event_page {
    _Atomic uint64_t recorded, completed;
} sim_event_page_t;

typedef struct sim_shared_event {
    unsigned references; /* of the event, and of work that it is in */
    int fd;
    sim_event_page_t *page;
} sim_shared_event_t;

typedef struct sim_event {
    sim_object_t object;
    sim_context_t *context;
    unsigned flags;
    sim_op_t *op; /* of its last record; NULL: never recorded, or in another process */
    sim_shared_event_t *shared; /* NULL: not for other processes */
    bool is_imported;
    uint64_t capture_id;        /* the capture in which it was last recorded; 0: none */
    struct sim_node **captured; /* the nodes that it stands for there */
    size_t captured_count;
} sim_event_t;

sim_event_t *sim_event_of(CUevent handle);
sim_event_t *sim_event_create(sim_context_t *context, unsigned flags);
/** Maps a new page (fd -1) or that of another process; NULL: impossible, `fd` is closed. */
sim_shared_event_t *sim_shared_event_open(int fd);
void sim_shared_event_release(sim_shared_event_t *shared);
/** Detaches the event from the capture in which it was recorded. */
void sim_event_forget_capture(sim_event_t *event);
/** Records an event, or lets a stream wait for its last record. The stream must not be captured. */
void sim_event_record(sim_stream_t *stream, sim_event_t *event);
void sim_event_await(sim_stream_t *stream, sim_event_t *event);

#endif
