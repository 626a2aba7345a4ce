/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank brings to a meeting: what it calls, how it would do it, and the memory that it lends. */
#ifndef WEFT_DEVCOLL_MEETING_POST_H
#define WEFT_DEVCOLL_MEETING_POST_H

#include "devcoll/loan.h"
#include "runtime/meeting.h"

/** What is called, alike by all members. */
typedef struct weft_together_call {
    weft_coll_t coll;
    int root; /* a member */
    int radix; /* operands are bracketed as a tree of this radix does; 0: from the left */
    const weft_coll_args_t *args; /* for operation and type */
} weft_together_call_t;

/** How ready a member is to exchange data by kernels (flags.h). */
typedef enum weft_readiness {
    WEFT_NOT_READY,
    WEFT_INBOX_OFFERED, /* it has one, which the others may map */
    WEFT_READY,         /* and it has mapped those of all others */
} weft_readiness_t;

/** How far a member is on the way to multicast memory (multicast.h). */
typedef enum weft_multicast_step {
    WEFT_MULTICAST_NONE, /* not for this call */
    WEFT_MULTICAST_NEVER,
    WEFT_MULTICAST_ABLE,
    WEFT_MULTICAST_JOINED,
    WEFT_MULTICAST_BOUND,
} weft_multicast_step_t;

/** Plain data, in shared memory. */
typedef struct weft_post {
    int32_t coll, root;
    int32_t op, machine, radix; /* where an operation is applied */
    uint32_t goes_together;     /* would the member have it done together? */
    uint32_t readiness;
    uint32_t rows[WEFT_SIDES];
    uint32_t has_data[WEFT_SIDES];
    weft_share_t share[WEFT_SIDES];
    weft_share_t inbox;
    uint32_t multicast;     /* a weft_multicast_step_t */
    uint32_t is_multicast_ready; /* for this call */
    weft_multicast_share_t object; /* of member 0, once it has joined */
    weft_loan_row_t row[]; /* [rows[WEFT_GIVES] + rows[WEFT_GETS]] */
} weft_post_t;

/** Can the post of such a call be written on this host? Posts have no room for rows of many ranks. */
bool weft_post_fits(const weft_loan_t loans[WEFT_SIDES]);

/** Write what this rank calls and lends; all else is 0, and the caller's to set before it arrives. */
weft_post_t *weft_post_write(const weft_meeting_t *meeting, const weft_together_call_t *call,
                             const weft_loan_t loans[WEFT_SIDES]);

static inline weft_post_t *weft_post_of(const weft_meeting_t *meeting, int member)
{
    return weft_meeting_post(meeting, member);
}

/** Row `index` of a side that has a row a rank, or the only one; NULL where a rank takes no part. */
static inline const weft_loan_row_t *weft_post_row(const weft_post_t *post, weft_side_t side, int index)
{
    const weft_loan_row_t *first = post->row + (side == WEFT_GETS ? post->rows[WEFT_GIVES] : 0);
    return post->rows[side] == 0 ? NULL : &first[post->rows[side] == 1 ? 0 : index];
}

/** Where in this rank's own memory row `index` of a side lies; NULL where it takes no part. */
static inline char *weft_loan_place(const weft_meeting_t *meeting, const weft_loan_t loans[WEFT_SIDES], weft_side_t side,
                                    int index)
{
    const weft_loan_row_t *row = weft_post_row(weft_post_of(meeting, meeting->member), side, index);
    return row == NULL ? NULL : (char *)(uintptr_t)(loans[side].share.address + row->offset);
}

/** Does only the root give anything in this collective, to all the others? */
static inline bool weft_post_is_from_root(const weft_post_t *post)
{
    return post->coll == WEFT_BCAST || post->coll == WEFT_SCATTER || post->coll == WEFT_SCATTERV;
}

bool weft_post_is_same_call(const weft_post_t *a, const weft_post_t *b);

/** Would all members have it done together? All posts are there. */
bool weft_posts_go_together(const weft_meeting_t *meeting);

/** Has each member brought data, and all to different devices? A kernel that waits for another one's on the
 *  same device would wait for a whole time slice, or for ever. */
bool weft_posts_have_devices_each(const weft_meeting_t *meeting);

#endif
