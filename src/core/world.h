/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process and its place among the others: set at start-up, read everywhere. The one global of
 * the library beside the configuration.
 */
#ifndef WEFT_CORE_WORLD_H
#define WEFT_CORE_WORLD_H

#include "core/transport.h"

#include <stdbool.h>

typedef enum weft_stage {
    WEFT_BEFORE_INIT,
    WEFT_RUNNING,
    WEFT_AFTER_FINALIZE,
} weft_stage_t;

struct weft_world {
    weft_stage_t stage;
    bool is_threaded;  /* MPI_THREAD_MULTIPLE was granted: calls take the lock */
    int thread_level;  /* granted, an MPI_THREAD_ constant */
    int rank, size;    /* in MPI_COMM_WORLD */
    int local_size;    /* ranks on this host */
    const int *local_ranks; /* [local_size] their world ranks, ascending */
    int local_rank;    /* index of `rank` in local_ranks */
    const char *host;
    int appnum, universe_size; /* negative: not known */
    bool cores_are_short;      /* ranks of this host outnumber the cores they may use */
    weft_endpoint_t **endpoints; /* [size] by world rank */
    /** End the job: the launcher's abort, then _exit. Set by start-up. */
    void (*abort)(int code, const char *why) __attribute__((noreturn));
};

extern weft_world_t weft_world;

#endif
