/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank brings to a meeting: what it calls, how it would do it, and the memory that it
 * exports. */
#ifndef WEFT_DEVCOLL_MEETING_OFFER_H
#define WEFT_DEVCOLL_MEETING_OFFER_H

#include "devcoll/export.h"
#include "devcoll/method.h"
#include "runtime/meeting.h"

/** The call, which is the same on all members. */
typedef struct weft_offer_call {
    weft_coll_t coll;
    int root;  /* a member */
    int radix; /* operands are bracketed as a tree of this radix does; 0: from the left */
    const weft_coll_args_t *args; /* for operation and type */
} weft_offer_call_t;

/** Plain data, in shared memory. */
struct weft_offer {
    int32_t coll, root;
    int32_t op, machine, radix;   /* where an operation is applied */
    uint32_t ready;               /* methods by which the member would have this call done: bits */
    uint32_t stage[WEFT_METHODS]; /* how far it is on the way to each (kernel_method.h) */
    uint32_t rows[WEFT_SIDES];
    uint32_t has_data[WEFT_SIDES];
    weft_share_t share[WEFT_SIDES];
    weft_share_t inbox;            /* of method ll */
    weft_multicast_share_t object; /* of method multicast: of member 0, once it has joined */
    weft_export_row_t row[];       /* [rows[WEFT_GIVES] + rows[WEFT_GETS]] */
};

/** Can the offer of such a call be written on this host? Offers have no room for rows of many
 * ranks. */
bool wefti_offer_fits(const weft_export_t exports[WEFT_SIDES]);

/** Write what this rank calls and exports. All else is 0; the caller sets it before it arrives. */
weft_offer_t *wefti_offer_write(const weft_meeting_t *meeting, const weft_offer_call_t *call,
                                const weft_export_t exports[WEFT_SIDES]);

static inline weft_offer_t *wefti_offer_of(const weft_meeting_t *meeting, int member)
{
    return weft_meeting_offer(meeting, member);
}

/** Row `index` of a side that has a row a rank, or the side's only row; NULL where a rank takes no
 * part. */
static inline const weft_export_row_t *wefti_offer_row(const weft_offer_t *offer, weft_side_t side,
                                                       int index)
{
    const weft_export_row_t *first = offer->row + (side == WEFT_GETS ? offer->rows[WEFT_GIVES] : 0);
    return offer->rows[side] == 0 ? NULL : &first[offer->rows[side] == 1 ? 0 : index];
}

/** Where in this rank's own memory row `index` of a side lies; NULL where it takes no part. */
static inline char *wefti_export_place(const weft_meeting_t *meeting,
                                       const weft_export_t exports[WEFT_SIDES], weft_side_t side,
                                       int index)
{
    const weft_export_row_t *row =
        wefti_offer_row(wefti_offer_of(meeting, meeting->member), side, index);
    return row == NULL ? NULL : (char *)(uintptr_t)(exports[side].share.address + row->offset);
}

/** Does only the root give anything in this collective, to all the others? */
static inline bool wefti_offer_is_from_root(const weft_offer_t *offer)
{
    return offer->coll == WEFT_BCAST || offer->coll == WEFT_SCATTER || offer->coll == WEFT_SCATTERV;
}

bool wefti_offer_is_same_call(const weft_offer_t *a, const weft_offer_t *b);

/** Are all members ready to have this call done by a method? All offers are there. */
bool wefti_offers_are_ready(const weft_meeting_t *meeting, weft_method_index_t method);

/** Has each member brought data, and all to different devices? A kernel that waits for another
 * rank's kernel on the same device would wait for a whole time slice, or for ever. */
bool wefti_offers_have_devices_each(const weft_meeting_t *meeting);

#endif
