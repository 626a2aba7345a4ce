/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of a daemon's ranks on its way to mpirun. mpirun says how much it has written; the
 * daemon has a credit of bytes that may be under way. So ranks wait when mpirun's output is not
 * read, while other messages go on.
 */
#ifndef WEFT_LAUNCH_TREE_REMOTE_OUTPUT_H
#define WEFT_LAUNCH_TREE_REMOTE_OUTPUT_H

#include "launch/node/rank_output.h"
#include "launch/tree/router.h"

#include <stdint.h>

enum { WL_OUTPUT_CREDIT = 1 << 20 /* bytes of a host that may be under way */ };

typedef struct wl_remote_output {
    wl_router_t *router;
    wl_byte_queue_t lines[2]; /* not sent yet */
    uint64_t under_way;       /* bytes that mpirun has not written yet, unsent ones included */
} wl_remote_output_t;

/** Where the ranks' lines go; the target points to `output`. */
wl_output_target_t wl_remote_output_target(wl_remote_output_t *output);

/** Send what has been gathered, whole lines in one message. */
void wl_remote_output_send(wl_remote_output_t *output);

/** mpirun has written so many bytes. */
void wl_remote_output_take(wl_remote_output_t *output, const wl_message_t *message);

#endif
