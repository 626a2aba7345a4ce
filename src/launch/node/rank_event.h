/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpirun learns of its ranks, wherever they run. */
#ifndef WEFT_LAUNCH_NODE_RANK_EVENT_H
#define WEFT_LAUNCH_NODE_RANK_EVENT_H

#include <stdbool.h>

typedef enum weft_rank_event_kind {
    WEFT_RANK_CONNECTED, /* has called MPI_Init */
    WEFT_RANK_FINALIZED, /* has called MPI_Finalize */
    WEFT_RANK_ABORTED,   /* has called MPI_Abort */
    WEFT_RANK_BEREFT,    /* the same, after it had lost another rank (base/abort_mark.h) */
    WEFT_RANK_ENDED,
    WEFT_HOST_LOST, /* its ranks are out of our reach, and dead as soon as it knows */
} weft_rank_event_kind_t;

typedef struct weft_rank_event {
    weft_rank_event_kind_t kind;
    int rank;       /* of WEFT_HOST_LOST: the host's first */
    int pid;        /* its process, on its host; 0: unknown */
    int code;       /* of an abort; of an end as a shell gives it: 128 + n after signal n */
    int signal;     /* that ended it; 0: none */
    bool has_core;  /* dumped */
    char text[480]; /* of an abort; how a host was lost */
} weft_rank_event_t;

#endif
