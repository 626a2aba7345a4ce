/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank does a collective for all ranks of its host, in one context: it maps what the others
 * have exported, and copies or reduces straight from the memory of all to the memory of all. Where
 * ranks share a device this is fast: their contexts take turns on it, and each change of context
 * costs more than a small collective.
 *
 * Each rank brings an offer to a meeting (runtime/meeting.h). The rank that comes last does the
 * work. Where there are several devices, each rank does a part: a slice of a result that all get,
 * or its own result.
 */
#ifndef WEFT_DEVCOLL_DIRECT_WORK_H
#define WEFT_DEVCOLL_DIRECT_WORK_H

#include "devcoll/meeting_offer.h"

/** The work of one member. */
typedef struct weft_direct_work {
    weft_meeting_t meeting;
    const weft_coll_args_t *args; /* the arguments of this rank */
    weft_device_t *device;
    weft_queue_t *queue;
    weft_mapping_t *mappings; /* [members][WEFT_SIDES] */
    char *sums;               /* of the branches of a tree, in scratch memory of the device */
} weft_direct_work_t;

/** Is the work to be shared by all members? It is shared where they brought several devices. All
 * offers must be there. */
bool wefti_direct_is_shared(const weft_meeting_t *meeting);

/** Are all operands still there when the results have been written? They may not be where a member
 * works in place. All offers must be there. */
bool wefti_direct_keeps_operands(const weft_meeting_t *meeting);

/**
 * Map what all have exported. wefti_direct_unmap() must follow, also after an error.
 * device   where to work; NULL: on a device that has some of the data
 * returns  MPI_SUCCESS; MPI_ERR_UNSUPPORTED_OPERATION: something cannot be mapped, or the ranks do
 *          not call the same collective, so each rank goes on solo; MPI_ERR_NO_MEM;
 *          MPI_ERR_PENDING: other ranks were asked for descriptors, so try again
 */
int wefti_direct_map(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                     weft_device_t *device, weft_direct_work_t *work);

/** Put the work into work->queue: all of it, or (is_shared) this member's part. It is over when an
 * event recorded behind it is reached. Returns MPI_ERR_UNSUPPORTED_OPERATION if nothing was
 * written, else what the device reports. */
int wefti_direct_queue(weft_direct_work_t *work, bool is_shared);
void wefti_direct_unmap(weft_direct_work_t *work);

#endif
