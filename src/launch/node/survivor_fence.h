/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences of ranks that survive losses (base/fence_members.h), inside the PMIx server's process: the
 * ranks of this host come one by one, and lost ones are not waited for. */
#ifndef WEFT_LAUNCH_NODE_SURVIVOR_FENCE_H
#define WEFT_LAUNCH_NODE_SURVIVOR_FENCE_H

#include "launch/plan/placement.h"

#include <pmix_server.h>
#include <stdbool.h>

/** Serve the host with that index; placement outlives the process. MPI_ERR_NO_MEM. */
int wl_survivor_fences_open(const wl_placement_t *placement, int host);

/** What PMIx hands to the entry fence_nb of the server's table. */
typedef struct wl_fence_call {
    const pmix_proc_t *processes;
    size_t count;
    const pmix_info_t *infos;
    size_t info_count;
    char *data; /* [bytes] of malloc(); belongs to the fence once it is taken */
    size_t bytes;
    pmix_modex_cbfunc_t answer;
    void *cookie;
} wl_fence_call_t;

/** Take the call if it is of such a fence; false: it is a fence that PMIx has counted. */
bool wl_survivor_fence_take(const wl_fence_call_t *call, pmix_status_t *status_out);

/** A rank of this host is lost. */
void wl_survivor_fences_lose(int rank);

#endif
