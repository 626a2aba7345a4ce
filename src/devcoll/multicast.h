/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large allreduces of ranks that have a device each, through multicast memory: an object in which each device has a
 * part. A load at its address gives the sum of all parts, a store goes to all; the switch between the devices does
 * both. Kernels of all ranks take the operands through it (cuda/kernels/multicast.cuh).
 *
 * How a communicator comes to it: by steps that each rank takes at meetings which are held together, once the posts
 * show that all others have got there:
 *
 *   ABLE     the device and the driver can                   member 0 makes the object, once all are
 *   JOINED   the object is known, the device belongs to it   each joins when member 0 has
 *   BOUND    and has memory in it, which is cleared          each binds when all have joined: the driver waits for that
 *
 * Once all are bound a meeting's allreduce goes so. Whoever cannot says so, and the others give up as well.
 */
#ifndef WEFT_DEVCOLL_MULTICAST_H
#define WEFT_DEVCOLL_MULTICAST_H

#include "devcoll/meeting_post.h"

/** Can such a collective ever be done so in this communicator, as far as is known? */
bool weft_multicast_is_possible(const weft_comm_t *comm, weft_coll_t coll);

/** How far this rank is, into its post: it would have this call done so. True: it is bound, and has a kernel for it. */
bool weft_multicast_offer(const weft_coll_args_t *args, const weft_loan_t loans[WEFT_SIDES], uint32_t number,
                          weft_post_t *post);

/** It would not; but what the others have to know is said all the same. */
void weft_multicast_decline(const weft_comm_t *comm, weft_post_t *post);

/** At a meeting whose posts are all there, and which is held together: take a step. */
void weft_multicast_learn(weft_comm_t *comm, const weft_meeting_t *meeting, weft_device_t *device);

/** Can the collective of this meeting be done so? All posts are there; the answer is alike for all. */
bool weft_multicast_fits(const weft_meeting_t *meeting);

/** Put this rank's kernel into the queue. When it fails no kernel runs. */
int weft_multicast_begin(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                         const weft_loan_t loans[WEFT_SIDES], weft_queue_t **queue_out);

/** As weft_flags_call_off() and weft_flags_end(). */
void weft_multicast_call_off(weft_comm_t *comm, const weft_meeting_t *meeting);
int weft_multicast_end(weft_comm_t *comm, const weft_meeting_t *meeting, int err);

#endif
