/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of ranks that have a device each: every rank launches a kernel of its own, and the kernels send each other
 * the data through inboxes (cuda/kernels/kernel_args.h). An inbox has a part for each meeting of a board that can be
 * held at a time, so one is written again only when all have left that meeting, and with it ended their
 * kernels; in a part are two rows for each member, for blocks and for results of an allreduce in two shots:
 *
 *   inbox   | part of meetings 0, 4, 8 ... | of 1, 5, 9 ... | of 2, 6, 10 ... | of 3, 7, 11 ... |
 *   part    | blocks of member 0 | of 1 | ... | results of member 0 | of 1 | ... |
 *
 * How a communicator comes to it: at a meeting whose posts show that all devices differ each makes an inbox;
 * at the next one all offer theirs and map those of the others; these two are held together. From then on each is ready.
 */
#ifndef WEFT_DEVCOLL_FLAGS_H
#define WEFT_DEVCOLL_FLAGS_H

#include "devcoll/meeting_post.h"

/** Of a communicator; what this rank knows of it. */
typedef struct weft_flags weft_flags_t;

/** Can such a collective ever be done so in this communicator, as far as is known? */
bool weft_flags_are_possible(const weft_comm_t *comm, weft_coll_t coll);

/** What this rank can do, into its post. `number` is the meeting's. */
weft_readiness_t weft_flags_offer(weft_comm_t *comm, const weft_loan_t loans[WEFT_SIDES], uint32_t number,
                                  weft_post_t *post);

/** At a meeting whose posts are all there, and which is held together: take a step towards being ready. */
void weft_flags_learn(weft_comm_t *comm, const weft_meeting_t *meeting, weft_device_t *device);

/** Can the collective of this meeting be done so? All posts are there; the answer is alike for all. */
bool weft_flags_fit(const weft_meeting_t *meeting);

/** Put this rank's kernel into the queue. When it fails no kernel runs. */
int weft_flags_begin(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                     const weft_loan_t loans[WEFT_SIDES], weft_queue_t **queue_out);

/** Have this rank's kernel of the meeting end soon, if it waits. */
void weft_flags_call_off(weft_comm_t *comm, const weft_meeting_t *meeting);

/** The kernel has ended: did it end well? MPI_ERR_OTHER: it was called off, or has waited too long. After that, and
 *  when weft_flags_begin() has failed (`err`), this rank is not ready any more. */
int weft_flags_end(weft_comm_t *comm, const weft_meeting_t *meeting, int err);

#endif
