/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of PMIx's key-value space across hosts (direct modex): the host that wants data of a rank
 * asks the host of that rank, which waits until the rank has committed something. */
#ifndef WEFT_LAUNCH_TREE_REMOTE_DATA_H
#define WEFT_LAUNCH_TREE_REMOTE_DATA_H

#include "base/list.h"
#include "launch/node/pmix_server.h"
#include "launch/plan/placement.h"
#include "launch/tree/router.h"

typedef struct wl_remote_data {
    wl_timer_t timer; /* for time limits, and to look again */
    const wl_placement_t *placement;
    wl_router_t *router;
    wl_pmix_server_t *pmix;
    weft_list_t asked; /* get requests of this host's server, sent to other hosts */
    /* what other hosts want and the ranks of this one have not committed yet */
    weft_list_t to_come;
    uint64_t next_number;
    bool *is_lost; /* [size] ranks that give no data any more; NULL: no memory, or none yet */
} wl_remote_data_t;

/** Time limits run on the router's loop; the address of `out` may not change. */
void wl_remote_data_open(const wl_placement_t *placement, wl_router_t *router,
                         wl_pmix_server_t *pmix, wl_remote_data_t *out);

/** Stop the time limits, and give up the requests. `data` was opened, or is zeros. */
void wl_remote_data_close(wl_remote_data_t *data);

/** The server of this host wants data (WL_REQUEST_GET), or has data that another host wants
 *  (WL_REQUEST_LOOKED_UP). The request belongs to `data` now. */
void wl_remote_data_enter(wl_remote_data_t *data, wl_pmix_request_t *request);

/** A rank is lost: requests for its data fail. */
void wl_remote_data_lose(wl_remote_data_t *data, int rank);

/** A message of kind WL_MSG_GET or WL_MSG_GOT. */
void wl_remote_data_take(wl_remote_data_t *data, const wl_message_t *message);

#endif
