/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun learns of its ranks, wherever they run. */
#ifndef WEFT_LAUNCH_NODE_RANK_EVENT_H
#define WEFT_LAUNCH_NODE_RANK_EVENT_H

#include <stdbool.h>

typedef enum wl_rank_event_kind {
    WL_RANK_CONNECTED, /* has called MPI_Init */
    WL_RANK_FINALIZED, /* has called MPI_Finalize */
    WL_RANK_ABORTED,   /* has called MPI_Abort */
    WL_RANK_LOST_PEER, /* the same, after it had lost another rank (base/abort_mark.h) */
    WL_RANK_ENDED,
    WL_HOST_LOST, /* its ranks are out of our reach, and dead as soon as it knows */
} wl_rank_event_kind_t;

typedef struct wl_rank_event {
    wl_rank_event_kind_t kind;
    int rank;       /* of WL_HOST_LOST: the host's first */
    int pid;        /* its process, on its host; 0: unknown */
    int code;       /* of an abort; of an end as a shell gives it: 128 + n after signal n */
    int signal;     /* that ended it; 0: none */
    bool has_core;  /* dumped */
    char text[480]; /* of an abort; how a host was lost */
} wl_rank_event_t;

#endif
