/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of communicators, for tools. */
#ifndef WEFT_OBJECT_COMM_EVENTS_H
#define WEFT_OBJECT_COMM_EVENTS_H

#include "object/comm.h"
#include "tool/event.h"

/** The program gets a communicator. */
typedef struct weft_comm_created_event {
    unsigned long long handle; /* the MPI_Comm */
    int rank, size;
    int remote_size; /* 0: an intracommunicator */
} weft_comm_created_event_t;

/** A communicator is gone: the program has freed it, and nothing uses it any more. */
typedef struct weft_comm_freed_event {
    unsigned long long handle; /* what the MPI_Comm was */
} weft_comm_freed_event_t;

extern weft_event_type_t weft_comm_created_event, weft_comm_freed_event;

/** The handle of a communicator that the program gets now; raises the event. */
MPI_Comm weft_comm_show(weft_comm_t *comm);

#endif
