/* SPDX-License-Identifier: BSD-3-Clause */
/* Announcing messages: the kinds of RTS of host memory. */
#include "pt2pt/pt2pt_private.h"

#include "datatype/pack.h"
#include "base/clock.h"

#include <string.h>

/* The address of the data when they are one run; 0 when they are not. */
static uint64_t data_address(const weft_send_t *send)
{
    ptrdiff_t offset;
    size_t bytes;
    if (!weft_type_span(send->args.type, send->args.count, &offset, &bytes))
        return 0;
    return (uint64_t)((uintptr_t)send->args.buf + (uintptr_t)offset);
}

static void send_is_taken(weft_registration_t *registration)
{
    weft_send_t *send = registration->owner;
    if (send->stage != WEFT_SEND_RTS_OUT)
        return;
    send->endpoint->asked--;
    wefti_send_finish(send);
}

/* Let the peer read the data, where the transport can. If an earlier try found no room for the
 * packet, the data are registered already. */
static bool register_data(weft_send_t *send, uint64_t address)
{
    weft_endpoint_t *endpoint = send->endpoint;
    if (!send->is_registered && address != 0)
        send->is_registered = endpoint->remote->register_memory(
            endpoint, (const void *)(uintptr_t)address, send->bytes, NULL, &send->registration);
    send->registration.taken = send_is_taken;
    send->registration.owner = send;
    return send->is_registered;
}

static bool send_rts_rkey(weft_send_t *send, weft_rts_t *rts)
{
    const weft_send_args_t *args = &send->args;
    rts->rkey = send->registration.rkey;
    weft_header_t header =
        weft_header(WEFT_PACKET_RTS_RKEY, WEFT_RTS_RKEY_BYTES, args->context, args->tag);
    send->endpoint->asked++;
    if (send->through->link->send(send->through, header, rts))
        return true;
    send->endpoint->asked--;
    return false;
}

/* The transport counts its answers as messages: so it is asked once, though the send may be pushed
 * many times until there is room. */
bool wefti_send_is_read(weft_send_t *send)
{
    weft_endpoint_t *endpoint = send->endpoint;
    if (!send->is_asked)
        send->is_read =
            !send->args.is_buffered && data_address(send) != 0 &&
            endpoint->remote->prefers_asking(endpoint, send->bytes, send->args.is_blocking);
    send->is_asked = true;
    return send->is_read;
}

bool wefti_send_announce_short(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    weft_rts_t rts = {
        .bytes = send->bytes, .address = data_address(send), .request = (uint64_t)(uintptr_t)send};
    int64_t sent_ns = weft_clock_ns();
    weft_header_t header =
        weft_header(WEFT_PACKET_RTS_SHORT, WEFT_RTS_SHORT_BYTES, args->context, args->tag);
    char *room = send->through->link->reserve(send->through, header.bytes);
    if (room == NULL)
        return false;
    memcpy(room, &rts, WEFT_RTS_BYTES);
    memcpy(room + WEFT_RTS_BYTES, &sent_ns, sizeof(sent_ns));
    send->announced_ns = sent_ns;
    send->cancel.is_announced = true;
    if (send->cancel.number != 0 && !args->is_blocking)
        wefti_cancel_count(&send->cancel);
    send->endpoint->asked++;
    send->through->link->commit(send->through, header);
    return true;
}

bool wefti_send_announce(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    weft_endpoint_t *endpoint = send->through;
    size_t along = send->bytes <= WEFT_RTS_INLINE && !endpoint->is_throttled ? send->bytes : 0;
    weft_rts_t rts = {
        .bytes = send->bytes, .address = data_address(send), .request = (uint64_t)(uintptr_t)send};
    if (along < send->bytes && register_data(send, rts.address))
        return send_rts_rkey(send, &rts);
    weft_header_t header =
        weft_header(WEFT_PACKET_RTS, (uint32_t)(WEFT_RTS_BYTES + along), args->context, args->tag);
    char *room = endpoint->link->reserve(endpoint, header.bytes);
    if (room == NULL)
        return false;
    memcpy(room, &rts, WEFT_RTS_BYTES);
    weft_pack(args->buf, args->count, args->type, 0, room + WEFT_RTS_BYTES, along);
    send->endpoint->asked++;
    endpoint->link->commit(endpoint, header);
    return true;
}
