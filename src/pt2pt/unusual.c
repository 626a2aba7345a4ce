/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that few programs see: what goes with device memory, and errors in place of data. */
#include "pt2pt/device_private.h"

#include "base/log.h"

#include <string.h>

static void deliver_share(const weft_match_key_t *key, const weft_header_t *header,
                          const char *payload)
{
    weft_ask_t ask = {0};
    weft_share_t share;
    if (header->bytes == WEFT_SHARE_BYTES)
        memcpy(&ask, payload, WEFT_ASK_BYTES);
    if (ask.request == 0) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed packet of rank %d", key->source);
        return;
    }
    memcpy(&share, payload + WEFT_ASK_BYTES, sizeof(share));
    ask.kind = header->kind;
    ask.extra = &share;
    wefti_deliver(key, &ask, NULL);
}

static void deliver_sorry(const weft_match_key_t *key, const weft_header_t *header,
                          const void *payload)
{
    if (header->bytes == sizeof(weft_trouble_t))
        wefti_deliver(key, &(weft_ask_t){.kind = WEFT_PACKET_SORRY, .extra = payload}, NULL);
    else
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed packet of rank %d", key->source);
}

void wefti_unusual_packet(int source, const weft_header_t *header, const void *payload)
{
    weft_match_key_t key = {header->context, source, header->tag};
    switch (header->kind) {
    case WEFT_PACKET_SHARE:
    case WEFT_PACKET_SHARE_LATER:
        deliver_share(&key, header, payload);
        break;
    case WEFT_PACKET_SORRY:
        deliver_sorry(&key, header, payload);
        break;
    case WEFT_PACKET_REFUSED:
        wefti_send_refused(source, header, payload);
        break;
    case WEFT_PACKET_BROKEN:
        wefti_recv_broken(source, header, payload);
        break;
    case WEFT_PACKET_FREED:
        weft_device_forget(source, weft_header_number(header));
        break;
    default:
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a packet of unknown kind %d", header->kind);
    }
}
