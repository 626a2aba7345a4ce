/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank does a collective for all ranks of its host, in one context: it maps what the others have
 * lent and copies or reduces straight from everybody's memory to everybody's memory. Where ranks share
 * a device this is the fast way: their contexts take turns on it, and each change of turn costs more
 * than a small collective.
 *
 * Each rank brings a post to a meeting (core/meeting.h); whoever comes last works.
 */
#ifndef WEFT_COLL_DEVICE_TOGETHER_H
#define WEFT_COLL_DEVICE_TOGETHER_H

#include "coll/device/loan.h"
#include "core/meeting.h"

/** Can the post of such a call be written on this host? Posts have no room for rows of many ranks. */
bool weft_together_fits(const weft_loan_t loans[WEFT_SIDES]);

/** Write this rank's post: what it calls and what it lends. */
void weft_together_post(const weft_meeting_t *meeting, weft_coll_t coll, const weft_coll_args_t *args,
                        const weft_loan_t loans[WEFT_SIDES]);

/** The work of the one who came last. */
typedef struct weft_together {
    weft_meeting_t meeting;
    const weft_coll_args_t *args; /* of the rank that works */
    weft_device_t *device;
    weft_queue_t *queue;
    weft_mapping_t *mappings; /* [members][WEFT_SIDES] */
} weft_together_t;

/**
 * Map what all have lent and put the work into a queue; weft_queue_mark(work->queue, ...) tells when it
 * is over, and then comes weft_together_end(), also after an error.
 * device   where to work; NULL: where any of the data are
 * returns  MPI_SUCCESS; MPI_ERR_UNSUPPORTED_OPERATION: it cannot be done so (something cannot be
 *          mapped, or the ranks do not call the same): everybody on his own may do better; else what
 *          the device says
 */
int weft_together_begin(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                        weft_device_t *device, weft_together_t *work);
void weft_together_end(weft_together_t *work);

#endif
