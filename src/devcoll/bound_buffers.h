/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of the program that are bound to objects of multicast memory, so that the switch reads
 * and writes them, and nothing is copied into Weft's memory and out of it. A binding belongs to a
 * communicator and has one buffer of each rank, which begin at the same place in a granule.
 *
 * The ranks agree by their offers alone, without any round of messages for it. At each call by
 * multicast a rank says how far it is with the buffer of the call:
 *
 *   NO       too small, not suitable, seen for the first time, or given up
 *   NEW      suitable, and seen before; when all ranks say so, member 0 makes an object
 *   JOINED   the device belongs to this object; the others join when member 0 has
 *   BOUND    the buffer is bound to it; each rank binds when all have joined
 *
 * Once all are bound to the same object, calls use it; before that, and where ranks bring other
 * buffers together, data are copied. A rank takes its next step in a call before it launches its
 * kernel. What others have bound is not kept: a rank may give a binding up at any time, and says
 * so by its next offer. It does when the program has freed the buffer, when the ranks have brought
 * it together with other buffers for some time, and for a newer one.
 */
#ifndef WEFT_DEVCOLL_BOUND_BUFFERS_H
#define WEFT_DEVCOLL_BOUND_BUFFERS_H

#include "devcoll/task_private.h"

enum { WEFT_BOUND_BUFFERS = 32 };

typedef struct weft_bound_buffer {
    uint64_t id, address, bytes; /* of the allocation, and of the data; id 0: this is free */
    uint32_t place;              /* where the data begin in a granule */
    uint64_t last_use;
    int uses, tries, stalled; /* stalled: calls in a row that could not use the object */
    bool is_given_up, is_bound;
    weft_multicast_t *object; /* NULL: none yet */
    weft_multicast_share_t share;
} weft_bound_buffer_t;

/** What a communicator knows of the buffers of one device; all zeros at first. */
typedef struct weft_bound_buffers {
    weft_device_t *device;
    weft_bound_buffer_t buffer[WEFT_BOUND_BUFFERS];
    uint64_t calls;
    int refusals; /* by the driver */
} weft_bound_buffers_t;

/** Write into the offer how far this rank is. No kernel of this rank may be under way. */
void wefti_bound_offer(weft_bound_buffers_t *buffers, const weft_task_t *task, weft_offer_t *offer);

/** All have agreed on the call: take the next step for its buffers. */
void wefti_bound_advance(weft_bound_buffers_t *buffers, const weft_task_t *task);

/** Fill in from_all and to_all of the call's portions, where all are bound to the same object. */
void wefti_bound_portions(const weft_bound_buffers_t *buffers, const weft_task_t *task,
                          weft_multicast_call_t *call);

/** For tools: the calls in which there was such an object. */
extern uint64_t wefti_bound_calls;

/** `is_unsafe`: kernels may still use the memory. */
void wefti_bound_close(weft_bound_buffers_t *buffers, bool is_unsafe);

#endif
