/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/meeting_post.h"

#include <string.h>

bool weft_post_fits(const weft_loan_t loans[WEFT_SIDES])
{
    size_t rows = (size_t)loans[WEFT_GIVES].regions.count + (size_t)loans[WEFT_GETS].regions.count;
    size_t most = weft_post_bytes(weft_meeting_place.ranks);
    return sizeof(weft_post_t) + rows * sizeof(weft_loan_row_t) <= most;
}

weft_post_t *weft_post_write(const weft_meeting_t *meeting, const weft_together_call_t *call,
                             const weft_loan_t loans[WEFT_SIDES])
{
    weft_post_t *post = weft_post_of(meeting, meeting->member);
    const weft_coll_args_t *args = call->args;
    weft_loan_row_t *row = post->row;
    post->coll = (int32_t)call->coll;
    post->root = call->root;
    post->radix = call->radix;
    post->op = args->op == NULL ? -1 : args->op->kind;
    post->machine = args->op == NULL ? -1 : args->recv_type->machine;
    post->goes_together = false;
    post->readiness = WEFT_NOT_READY;
    post->multicast = WEFT_MULTICAST_NONE;
    post->is_multicast_ready = false;
    for (int side = 0; side < WEFT_SIDES; side++) {
        const weft_loan_t *loan = &loans[side];
        post->rows[side] = (uint32_t)loan->regions.count;
        post->has_data[side] = loan->device != NULL;
        post->share[side] = loan->share;
        weft_loan_rows(loan, row);
        row += loan->regions.count;
    }
    return post;
}

bool weft_post_is_same_call(const weft_post_t *a, const weft_post_t *b)
{
    return a->coll == b->coll && a->root == b->root && a->op == b->op && a->machine == b->machine &&
           a->radix == b->radix;
}

bool weft_posts_go_together(const weft_meeting_t *meeting)
{
    bool is_agreed = true;
    for (int i = 0; i < meeting->members; i++)
        is_agreed &= weft_post_of(meeting, i)->goes_together != 0;
    return is_agreed;
}

static const weft_share_t *any_share(const weft_post_t *post)
{
    return post->has_data[WEFT_GIVES] ? &post->share[WEFT_GIVES]
           : post->has_data[WEFT_GETS] ? &post->share[WEFT_GETS]
                                       : NULL;
}

bool weft_posts_have_devices_each(const weft_meeting_t *meeting)
{
    for (int i = 0; i < meeting->members; i++) {
        const weft_share_t *own = any_share(weft_post_of(meeting, i));
        for (int j = 0; j < i; j++) {
            const weft_share_t *other = any_share(weft_post_of(meeting, j));
            if (own == NULL || memcmp(own->uuid, other->uuid, sizeof(own->uuid)) == 0)
                return false;
        }
    }
    return any_share(weft_post_of(meeting, 0)) != NULL;
}
