/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned communication (MPI 5.0 chapter 4).
 *
 *   MPI_Psend_init    -- OFFER: tag, partitions, their size, a channel -->    MPI_Precv_init
 *   MPI_Pready(i)     -- an ordinary message in that channel, with tag i -->  a receive for it
 *
 * OFFERs come in the order of the inits, and meet receives in that order by (context, source, tag)
 * in queues of their own. Nothing else has to be agreed on: each partition of the sender is a
 * message, and the receiver, which knows their sizes, begins a receive for each when it is started.
 * A message that comes before that waits, as any other does.
 *
 * The channel is a number of the sender. Its messages have an odd context, as collectives have, and
 * negative tags, which those have not; so nothing else matches them.
 *
 * Where a partition of the sender ends inside an element of the receiver that is not one run of
 * bytes, messages go to a staging buffer, and each partition of the receiver that is complete there
 * is sent on by the process to itself: this unpacks it, on a device too.
 */
#ifndef WEFT_PT2PT_PARTITIONED_H
#define WEFT_PT2PT_PARTITIONED_H

#include "pt2pt/pt2pt.h"

/** An inactive request for `partitions` times args->count elements. MPI_ERR_NO_MEM; MPI_ERR_OTHER:
 * the peer cannot be reached. */
int weft_psend_init(const weft_send_args_t *args, int partitions, weft_request_t **out);
int weft_precv_init(const weft_recv_args_t *args, int partitions, weft_request_t **out);

/** Send `count` partitions: `first` and those after it, or, if it is not NULL, those of `list`.
 * MPI_ERR_REQUEST: not an active partitioned send; MPI_ERR_ARG: there is no such partition, or it
 * is ready already, and then those before it are being sent. */
typedef struct weft_ready_args {
    int first, count;
    const int *list;
    bool is_range; /* for messages: given by its ends, of which this is the last */
    int last;
} weft_ready_args_t;
int weft_pready(weft_request_t *request, const weft_ready_args_t *args);

/** Has a partition arrived? True for all of an inactive receive. MPI_ERR_REQUEST: not a partitioned
 * receive; MPI_ERR_ARG: there is no such partition. */
int weft_parrived(const weft_request_t *request, int partition, bool *out);

#endif
