/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank brings to a meeting: the call, the methods by which it would do the call, and the
 * memory that it exports. */
#ifndef WEFT_DEVCOLL_MEETING_OFFER_H
#define WEFT_DEVCOLL_MEETING_OFFER_H

#include "devcoll/export.h"
#include "devcoll/method.h"
#include "runtime/meeting.h"

/** The call, which is the same on all members. */
typedef struct weft_offer_call {
    weft_coll_t coll;
    int tag;   /* of the call's messages */
    int root;  /* the number of a member */
    int radix; /* the radix of the tree whose order of operands is taken; 0: from the left */
    const weft_coll_args_t *args; /* here for their operation and type */
} weft_offer_call_t;

/** How far a member is with binding a buffer (bound_buffers.h). */
typedef struct weft_bound_offer {
    uint32_t stage, place;
    weft_multicast_share_t object;
} weft_bound_offer_t;

static inline bool wefti_is_same_object(const weft_multicast_share_t *a,
                                        const weft_multicast_share_t *b)
{
    return a->owner == b->owner && a->ticket == b->ticket;
}

/** Plain data in shared memory. */
struct weft_offer {
    int32_t coll, tag, root;
    int32_t op, machine, radix; /* where an operation is applied */
    uint32_t keeps_operands;    /* else results may be written where they were */
    uint32_t ready;             /* a bit for each method by which this member would do the call */
    /* how far this member is in the stages of each method (kernel_method.h) */
    uint32_t stage[WEFT_METHODS];
    uint32_t rows[WEFT_SIDES];
    uint32_t has_data[WEFT_SIDES];
    weft_share_t share[WEFT_SIDES];
    weft_share_t inbox; /* for method ll; this and the next two belong to ll.c */
    uint32_t inbox_index;
    uint8_t mapped[WEFT_EXCHANGE_MOST_MEMBERS];
    /* for method multicast: the object, offered by member 0 once it has joined */
    weft_multicast_share_t object;
    weft_bound_offer_t bound[WEFT_SIDES]; /* for method multicast; of bound_buffers.c */
    weft_export_row_t row[];              /* [rows[WEFT_GIVES] + rows[WEFT_GETS]] */
};

/** Is there room on this host for the offer of such a call? Offers have no room for the rows of
 * many ranks. */
bool wefti_offer_fits(const weft_export_t exports[WEFT_SIDES]);

/** Write the call and the exports of this rank. All other fields are 0; the caller sets them before
 * it arrives. */
weft_offer_t *wefti_offer_write(const weft_meeting_t *meeting, const weft_offer_call_t *call,
                                const weft_export_t exports[WEFT_SIDES]);

static inline weft_offer_t *wefti_offer_of(const weft_meeting_t *meeting, int member)
{
    return weft_meeting_offer(meeting, member);
}

/** Row `index` of a side with a row for each rank, or the only row of a side; NULL where a rank
 * takes no part. */
static inline const weft_export_row_t *wefti_offer_row(const weft_offer_t *offer, weft_side_t side,
                                                       int index)
{
    const weft_export_row_t *first = offer->row + (side == WEFT_GETS ? offer->rows[WEFT_GIVES] : 0);
    return offer->rows[side] == 0 ? NULL : &first[offer->rows[side] == 1 ? 0 : index];
}

/** The address in this rank's own memory of row `index` of a side; NULL where it takes no part. */
static inline char *wefti_export_place(const weft_meeting_t *meeting,
                                       const weft_export_t exports[WEFT_SIDES], weft_side_t side,
                                       int index)
{
    const weft_export_row_t *row =
        wefti_offer_row(wefti_offer_of(meeting, meeting->member), side, index);
    return row == NULL ? NULL : (char *)(uintptr_t)(exports[side].share.address + row->offset);
}

/** Is this a collective in which only the root gives data, and all others get them? */
static inline bool wefti_offer_is_from_root(const weft_offer_t *offer)
{
    return offer->coll == WEFT_BCAST || offer->coll == WEFT_SCATTER || offer->coll == WEFT_SCATTERV;
}

/** The bytes that member `from` sends to `to`, as the offer of `to` has them. */
size_t wefti_offer_block_bytes(const weft_meeting_t *meeting, int from, int to);

/** Do sender and receiver have the same size for every block? *most_out is that of the longest. */
bool wefti_offers_measure(const weft_meeting_t *meeting, size_t *most_out);

bool wefti_offer_is_same_call(const weft_offer_t *a, const weft_offer_t *b);

/** Are all members ready to have a method do this call? All offers must be there. */
bool wefti_offers_are_ready(const weft_meeting_t *meeting, weft_method_index_t method);

/** How many members have data on the device that has most of them; 0: a member has brought none.
 * 1: all have different devices. A kernel that waits for one of another rank on the same device
 * would wait for a whole time slice, or for ever, where ranks take turns on it: then
 * weft_device->is_shared() is true, also because of ranks that are no members. */
int wefti_offers_crowd(const weft_meeting_t *meeting);

#endif
