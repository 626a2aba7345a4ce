/* SPDX-License-Identifier: BSD-3-Clause */
/* Arriving packets: the table of their kinds (packet.h draws the protocol), and the handlers of
 * those that are matched. */
#include "pt2pt/device_private.h"

#include "base/log.h"

#include <string.h>

typedef void (*packet_handler_t)(int source, const weft_header_t *header, const void *payload);

typedef struct packet_kind {
    const char *name;
    uint32_t least, most; /* bytes of payload */
    packet_handler_t handler;
} packet_kind_t;

static void drop_malformed(int source, const char *name, uint32_t bytes)
{
    WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed %s packet of rank %d (%u bytes)", name,
             source, bytes);
}

static weft_match_key_t packet_key(int source, const weft_header_t *header)
{
    return (weft_match_key_t){header->context, source, header->tag};
}

static void packet_rts(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = packet_key(source, header);
    weft_rts_t rts = {0};
    size_t along = header->bytes - WEFT_RTS_BYTES;
    memcpy(&rts, payload, WEFT_RTS_BYTES);
    rts.kind = WEFT_PACKET_RTS;
    if (rts.request == 0 || (along != 0 && along != rts.bytes)) {
        drop_malformed(source, "RTS", header->bytes);
        return;
    }
    wefti_deliver(&key, &rts, along == rts.bytes ? (const char *)payload + WEFT_RTS_BYTES : NULL);
}

static void packet_rts_short(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = packet_key(source, header);
    weft_rts_t rts = {0};
    memcpy(&rts, payload, WEFT_RTS_BYTES);
    memcpy(&rts.sent_ns, (const char *)payload + WEFT_RTS_BYTES, sizeof(rts.sent_ns));
    rts.kind = WEFT_PACKET_RTS_SHORT;
    if (rts.request == 0 || rts.address == 0 || rts.bytes > WEFT_SPLIT_MOST)
        drop_malformed(source, "RTS_SHORT", header->bytes);
    else
        wefti_deliver(&key, &rts, NULL);
}

static void packet_rts_rkey(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = packet_key(source, header);
    weft_rts_t rts = {0};
    memcpy(&rts, payload, WEFT_RTS_RKEY_BYTES);
    rts.kind = WEFT_PACKET_RTS_RKEY;
    if (rts.request == 0)
        drop_malformed(source, "RTS_RKEY", header->bytes);
    else
        wefti_deliver(&key, &rts, NULL);
}

static void packet_rts_share(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = packet_key(source, header);
    weft_rts_t rts = {0};
    weft_share_t share;
    memcpy(&rts, payload, WEFT_RTS_BYTES);
    memcpy(&share, (const char *)payload + WEFT_RTS_BYTES, sizeof(share));
    rts.kind = header->kind;
    rts.extra = &share;
    if (rts.request == 0)
        drop_malformed(source, "RTS_SHARE", header->bytes);
    else
        wefti_deliver(&key, &rts, NULL);
}

static void packet_error(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = packet_key(source, header);
    wefti_deliver(&key, &(weft_rts_t){.kind = WEFT_PACKET_ERROR, .extra = payload}, NULL);
}

static void packet_share_freed(int source, const weft_header_t *header, const void *payload)
{
    (void)payload;
    if (weft_device != NULL)
        weft_device->forget(source, weft_header_number(header));
}

void (*weft_pt2pt_on_note)(int source, const void *note, size_t bytes);

static void packet_note(int source, const weft_header_t *header, const void *payload)
{
    if (weft_pt2pt_on_note != NULL)
        weft_pt2pt_on_note(source, payload, header->bytes);
}

enum {
    ANY = UINT32_MAX,
    SPLIT_END_BYTES = sizeof(weft_split_end_t),
    CTS_BYTES = sizeof(weft_cts_t),
    FIN_BYTES = sizeof(weft_fin_t),
    ERROR_BYTES = sizeof(weft_packet_error_t),
    SHORT_BYTES = WEFT_RTS_SHORT_BYTES,
    RKEY_BYTES = WEFT_RTS_RKEY_BYTES,
    SHARE_BYTES = WEFT_RTS_SHARE_BYTES,
    CANCEL_BYTES = sizeof(weft_cancel_t),
    OFFER_BYTES = sizeof(weft_offer_t),
    PLACED_BYTES = sizeof(weft_placed_t),
};

/* clang-format off */
static const packet_kind_t packet_kinds[WEFT_PACKET_KINDS] = {
    [WEFT_PACKET_EAGER_FIRST]    = {"EAGER_FIRST", SPLIT_END_BYTES, ANY, wefti_split_first},
    [WEFT_PACKET_EAGER_NEXT]     = {"EAGER_NEXT", 1, ANY, wefti_split_next},
    [WEFT_PACKET_RTS]            = {"RTS", WEFT_RTS_BYTES, ANY, packet_rts},
    [WEFT_PACKET_CTS]            = {"CTS", CTS_BYTES, CTS_BYTES, wefti_send_cts},
    [WEFT_PACKET_DATA]           = {"DATA", 0, ANY, wefti_recv_data},
    [WEFT_PACKET_FIN]            = {"FIN", 0, FIN_BYTES, wefti_send_fin},
    [WEFT_PACKET_RTS_RKEY]       = {"RTS_RKEY", RKEY_BYTES, RKEY_BYTES, packet_rts_rkey},
    [WEFT_PACKET_RTS_SHORT]      = {"RTS_SHORT", SHORT_BYTES, SHORT_BYTES, packet_rts_short},
    [WEFT_PACKET_RTS_SHARE]      = {"RTS_SHARE", SHARE_BYTES, SHARE_BYTES, packet_rts_share},
    [WEFT_PACKET_RTS_SHARE_SYNC] = {"RTS_SHARE_SYNC", SHARE_BYTES, SHARE_BYTES, packet_rts_share},
    [WEFT_PACKET_ERROR]          = {"ERROR", ERROR_BYTES, ERROR_BYTES, packet_error},
    [WEFT_PACKET_NACK]           = {"NACK", ERROR_BYTES, ERROR_BYTES, wefti_send_nack},
    [WEFT_PACKET_DATA_ERROR]     = {"DATA_ERROR", ERROR_BYTES, ERROR_BYTES, wefti_recv_data_error},
    [WEFT_PACKET_SHARE_FREED]    = {"SHARE_FREED", 0, 0, packet_share_freed},
    [WEFT_PACKET_LANDED]         = {"LANDED", 0, ANY, wefti_recv_landed},
    [WEFT_PACKET_ASK_LEAVING]    = {"ASK_LEAVING", 0, 0, wefti_leaving_is_asked},
    [WEFT_PACKET_LEAVING]        = {"LEAVING", 0, 0, wefti_leaving_is_told},
    [WEFT_PACKET_CANCEL]         = {"CANCEL", CANCEL_BYTES, CANCEL_BYTES, wefti_cancel_is_asked},
    [WEFT_PACKET_CANCELLED]      = {"CANCELLED", 0, 0, wefti_cancel_is_answered},
    [WEFT_PACKET_NOT_CANCELLED]  = {"NOT_CANCELLED", 0, 0, wefti_cancel_is_answered},
    [WEFT_PACKET_OFFER]          = {"OFFER", OFFER_BYTES, OFFER_BYTES, wefti_offer_arrived},
    [WEFT_PACKET_NOTE]           = {"NOTE", 1, ANY, packet_note},
    [WEFT_PACKET_PLACED]         = {"PLACED", PLACED_BYTES, PLACED_BYTES, wefti_shelf_placed},
    [WEFT_PACKET_TAKEN]          = {"TAKEN", 0, 0, wefti_shelf_taken},
    [WEFT_PACKET_NO_SHELF]       = {"NO_SHELF", 0, 0, wefti_shelf_refused},
};
/* clang-format on */

_Static_assert((int)WEFT_PACKET_KINDS <= (int)WEFT_SLOT_KINDS, "a slot has room for each kind");

void weft_packet_arrived(int source, weft_header_t header, const void *payload)
{
    /* The most frequent kind takes no jump through the table, and is not in it. */
    if (__builtin_expect(header.kind == WEFT_PACKET_EAGER, 1)) {
        wefti_recv_eager(source, header, payload);
        return;
    }
    const packet_kind_t *kind =
        header.kind < WEFT_PACKET_KINDS ? &packet_kinds[header.kind] : &packet_kinds[0];
    if (kind->handler == NULL)
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a packet of unknown kind %d of rank %d", header.kind,
                 source);
    else if (header.bytes < kind->least || header.bytes > kind->most)
        drop_malformed(source, kind->name, header.bytes);
    else
        kind->handler(source, &header, payload);
}

bool weft_packet_is_awaited(int source, const weft_header_t *header)
{
    bool is_message = header->kind == WEFT_PACKET_EAGER || header->kind == WEFT_PACKET_EAGER_FIRST;
    return !is_message || weft_match_find(&wefti_matching(header->context)->receives,
                                          packet_key(source, header)) != NULL;
}
