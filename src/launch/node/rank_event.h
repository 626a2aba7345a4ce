/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun is told about its ranks, on whatever host they run. */
#ifndef WEFT_LAUNCH_NODE_RANK_EVENT_H
#define WEFT_LAUNCH_NODE_RANK_EVENT_H

#include <stdbool.h>

typedef enum wl_rank_event_kind {
    WL_RANK_CONNECTED, /* has called MPI_Init */
    WL_RANK_FINALIZED, /* has called MPI_Finalize */
    WL_RANK_ABORTED,   /* has called MPI_Abort */
    WL_RANK_LOST_PEER, /* the same, after it had lost another rank (base/abort_mark.h) */
    WL_RANK_ENDED,
    WL_SERVER_LOST, /* the PMIx server of a host has ended */
    WL_HOST_LOST,   /* its ranks cannot be reached any more; its daemon kills them when it finds its
                   * parent gone */
} wl_rank_event_kind_t;

typedef struct wl_rank_event {
    wl_rank_event_kind_t kind;
    int rank;       /* for WL_SERVER_LOST and WL_HOST_LOST: the first rank of the host */
    int pid;        /* process id on its host; 0: unknown */
    int code;       /* of an abort; or of an end, as a shell gives it: 128 + n after signal n */
    int signal;     /* that ended it; 0: none */
    bool has_core;  /* the core was dumped */
    bool has_notes; /* of an end: the rank has written notes (base/rank_note.h), so what it has not
                     * told has not happened */
    char text[480]; /* the text of an abort; or how the server or the host was lost */
} wl_rank_event_t;

#endif
