/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks have put on PMIx's board, asked for across hosts (direct modex): the host that wants
 * it asks the one that has it, which waits until the rank has committed something. */
#ifndef WEFT_LAUNCH_TREE_REMOTE_DATA_H
#define WEFT_LAUNCH_TREE_REMOTE_DATA_H

#include "base/list.h"
#include "launch/plan/placement.h"
#include "launch/node/pmix_exchange.h"
#include "launch/tree/router.h"

typedef struct weft_remote_data {
    wl_timer_t timer; /* to answer in time, and to look again */
    const weft_placement_t *placement;
    weft_relay_t *relay;
    weft_list_t asked;   /* requests of our server */
    weft_list_t to_come; /* what others want and our ranks have not committed yet */
    uint64_t next_number;
} weft_remote_data_t;

/** The relay's loop keeps the time; the address of `out` may not change. */
void weft_remote_data_open(const weft_placement_t *placement, weft_relay_t *relay,
                           weft_remote_data_t *out);

/** Nothing more is looked for or answered by the clock. */
void weft_remote_data_close(weft_remote_data_t *data);

/** Our server wants data (WEFT_FETCH), or has data that another one wants (WEFT_LOOKED_UP). The
 *  request is ours now. */
void weft_remote_data_enter(weft_remote_data_t *data, weft_request_t *request);

/** A message of kind WEFT_MSG_FETCH or WEFT_MSG_FETCHED. */
void weft_remote_data_take(weft_remote_data_t *data, const weft_message_t *message);

#endif
