/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that few programs see: what goes with device memory, and errors in place of data. */
#include "pt2pt/device_private.h"

#include "base/log.h"

#include <string.h>

static void deliver_share(const weft_match_key_t *key, const weft_header_t *header,
                          const char *payload)
{
    weft_rts_t rts = {0};
    weft_share_t share;
    if (header->bytes == WEFT_RTS_SHARE_BYTES)
        memcpy(&rts, payload, WEFT_RTS_BYTES);
    if (rts.request == 0) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed packet of rank %d", key->source);
        return;
    }
    memcpy(&share, payload + WEFT_RTS_BYTES, sizeof(share));
    rts.kind = header->kind;
    rts.extra = &share;
    wefti_deliver(key, &rts, NULL);
}

static void deliver_error(const weft_match_key_t *key, const weft_header_t *header,
                          const void *payload)
{
    if (header->bytes == sizeof(weft_packet_error_t))
        wefti_deliver(key, &(weft_rts_t){.kind = WEFT_PACKET_ERROR, .extra = payload}, NULL);
    else
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed packet of rank %d", key->source);
}

void wefti_unusual_packet(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = {header->context, source, header->tag};
    switch (header->kind) {
    case WEFT_PACKET_RTS_SHARE:
    case WEFT_PACKET_RTS_SHARE_SYNC:
        deliver_share(&key, header, payload);
        break;
    case WEFT_PACKET_ERROR:
        deliver_error(&key, header, payload);
        break;
    case WEFT_PACKET_NACK:
        wefti_send_nack(source, header, payload);
        break;
    case WEFT_PACKET_DATA_ERROR:
        wefti_recv_data_error(source, header, payload);
        break;
    case WEFT_PACKET_SHARE_FREED:
        if (weft_device != NULL)
            weft_device->forget(source, weft_header_number(header));
        break;
    default:
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a packet of unknown kind %d", header->kind);
    }
}
