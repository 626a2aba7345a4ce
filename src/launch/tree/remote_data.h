/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks have put on PMIx's board, asked for across hosts (direct modex): the host that wants
 * it asks the one that has it, which waits until the rank has committed something. */
#ifndef WEFT_LAUNCH_TREE_REMOTE_DATA_H
#define WEFT_LAUNCH_TREE_REMOTE_DATA_H

#include "base/list.h"
#include "launch/plan/placement.h"
#include "launch/node/pmix_exchange.h"
#include "launch/tree/router.h"

typedef struct wl_remote_data {
    wl_timer_t timer; /* to answer in time, and to look again */
    const wl_placement_t *placement;
    wl_router_t *router;
    weft_list_t asked;   /* requests of our server */
    weft_list_t to_come; /* what others want and our ranks have not committed yet */
    uint64_t next_number;
} wl_remote_data_t;

/** The relay's loop keeps the time; the address of `out` may not change. */
void wl_remote_data_open(const wl_placement_t *placement, wl_router_t *router,
                         wl_remote_data_t *out);

/** Nothing more is looked for or answered by the clock. */
void wl_remote_data_close(wl_remote_data_t *data);

/** Our server wants data (WL_REQUEST_GET), or has data that another one wants
 * (WL_REQUEST_LOOKED_UP). The request is ours now. */
void wl_remote_data_enter(wl_remote_data_t *data, wl_pmix_request_t *request);

/** A message of kind WL_MSG_GET or WL_MSG_GOT. */
void wl_remote_data_take(wl_remote_data_t *data, const wl_message_t *message);

#endif
