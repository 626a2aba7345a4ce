/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's event as the body of a message. */
#ifndef WEFT_LAUNCH_TREE_RANK_MESSAGE_H
#define WEFT_LAUNCH_TREE_RANK_MESSAGE_H

#include "launch/node/rank_event.h"
#include "launch/tree/daemon_message.h"

void wl_rank_event_write(const wl_rank_event_t *event, wl_writer_t *out);

/** Read it; false: it is invalid for a job of `size` ranks. */
bool wl_rank_event_read(const wl_message_t *message, int size, wl_rank_event_t *out);

#endif
