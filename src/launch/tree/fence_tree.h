/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences that cross hosts. Each node of the host tree waits for its own server and for the hosts
 * below it that have ranks in the fence, joins their data and sends one message up; the lowest node
 * that has all hosts of the fence below it sends the joined data down again.
 *
 * A fence is identified by its ranks and purpose: no host can enter the next one of the same ranks
 * before it has been told the end of this one. Hosts whose ranks in a fence are all lost are not
 * waited for.
 */
#ifndef WEFT_LAUNCH_TREE_FENCE_TREE_H
#define WEFT_LAUNCH_TREE_FENCE_TREE_H

#include "base/list.h"
#include "launch/node/pmix_server.h"
#include "launch/plan/placement.h"
#include "launch/tree/router.h"

typedef struct wl_fences {
    wl_timer_t timer; /* for time limits of the clients */
    const wl_placement_t *placement;
    wl_router_t *router;
    weft_list_t open;
    bool *is_lost;     /* [size] ranks that come to no fence any more; NULL: none is lost */
    int *lost_of_host; /* [host_count] how many of these; NULL: none */
} wl_fences_t;

/** Time limits run on the router's loop; the address of `out` may not change. */
void wl_fences_open(const wl_placement_t *placement, wl_router_t *router, wl_fences_t *out);

/** The server of this host enters the fence. The request belongs to `fences` now, and is answered
 *  when the fence ends. */
void wl_fences_enter(wl_fences_t *fences, wl_pmix_request_t *request);

/** A message of kind WL_MSG_FENCE or WL_MSG_FENCE_DONE. */
void wl_fences_take(wl_fences_t *fences, const wl_message_t *message);

/** A rank is lost: fences end without it. */
void wl_fences_lose(wl_fences_t *fences, int rank);

/** Stop the time limits, and give up the fences that are open. `fences` was opened, or is zeros. */
void wl_fences_close(wl_fences_t *fences);

#endif
