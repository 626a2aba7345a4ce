/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/meeting_offer.h"

#include "runtime/host_devices.h"

#include <string.h>

bool wefti_offer_fits(const weft_export_t exports[WEFT_SIDES])
{
    size_t rows =
        (size_t)exports[WEFT_GIVES].regions.count + (size_t)exports[WEFT_GETS].regions.count;
    size_t most = weft_meeting_offer_bytes(weft_meeting_place.ranks);
    return sizeof(weft_offer_t) + rows * sizeof(weft_export_row_t) <= most;
}

weft_offer_t *wefti_offer_write(const weft_meeting_t *meeting, const weft_offer_call_t *call,
                                const weft_export_t exports[WEFT_SIDES])
{
    weft_offer_t *offer = wefti_offer_of(meeting, meeting->member);
    const weft_coll_args_t *args = call->args;
    weft_export_row_t *row = offer->row;
    offer->coll = (int32_t)call->coll;
    offer->tag = call->tag;
    offer->root = call->root;
    offer->radix = call->radix;
    offer->op = args->op == NULL ? -1 : args->op->kind;
    offer->machine = args->op == NULL ? -1 : args->recv_type->machine;
    offer->keeps_operands = wefti_exports_keep_operands(exports);
    offer->ready = 0;
    memset(offer->stage, 0, sizeof(offer->stage));
    memset(offer->bound, 0, sizeof(offer->bound));
    for (int side = 0; side < WEFT_SIDES; side++) {
        const weft_export_t *export = &exports[side];
        offer->rows[side] = (uint32_t) export->regions.count;
        offer->has_data[side] = export->device != NULL;
        offer->share[side] = export->share;
        wefti_export_rows(export, row);
        row += export->regions.count;
    }
    return offer;
}

size_t wefti_offer_block_bytes(const weft_meeting_t *meeting, int from, int to)
{
    const weft_offer_t *offer = wefti_offer_of(meeting, to);
    bool is_from_nobody = wefti_offer_is_from_root(offer) && from != offer->root;
    const weft_export_row_t *row = wefti_offer_row(offer, WEFT_GETS, from);
    return row == NULL || is_from_nobody ? 0 : row->bytes;
}

bool wefti_offers_measure(const weft_meeting_t *meeting, size_t *most_out)
{
    *most_out = 0;
    for (int from = 0; from < meeting->members; from++) {
        for (int to = 0; to < meeting->members; to++) {
            size_t bytes = wefti_offer_block_bytes(meeting, from, to);
            const weft_export_row_t *given =
                wefti_offer_row(wefti_offer_of(meeting, from), WEFT_GIVES, to);
            if (bytes > 0 && (given == NULL || given->bytes != bytes))
                return false;
            *most_out = bytes > *most_out ? bytes : *most_out;
        }
    }
    return true;
}

bool wefti_offer_is_same_call(const weft_offer_t *a, const weft_offer_t *b)
{
    return a->coll == b->coll && a->tag == b->tag && a->root == b->root && a->op == b->op &&
           a->machine == b->machine && a->radix == b->radix;
}

bool wefti_offers_are_ready(const weft_meeting_t *meeting, weft_method_index_t method)
{
    bool are_ready = true;
    for (int i = 0; i < meeting->members; i++)
        are_ready &= (wefti_offer_of(meeting, i)->ready & 1u << method) != 0;
    return are_ready;
}

static const weft_share_t *any_share(const weft_offer_t *offer)
{
    return offer->has_data[WEFT_GIVES]  ? &offer->share[WEFT_GIVES]
           : offer->has_data[WEFT_GETS] ? &offer->share[WEFT_GETS]
                                        : NULL;
}

int wefti_offers_crowd(const weft_meeting_t *meeting)
{
    const weft_share_t *shares[WEFT_EXCHANGE_MOST_MEMBERS];
    if (meeting->members > WEFT_EXCHANGE_MOST_MEMBERS)
        return 0;
    for (int i = 0; i < meeting->members; i++) {
        shares[i] = any_share(wefti_offer_of(meeting, i));
        if (shares[i] == NULL)
            return 0;
    }
    return weft_host_device_crowd(shares, meeting->members);
}
