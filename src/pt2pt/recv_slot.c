/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving a short message straight from the slot that it comes in (runtime/slots.h): the call
 * that waits for it looks there itself. A receive that is under way is found by its message as
 * always. A blocking one begins no request: it matches the next message of its sender if
 * that has its context and tag, as long as no message and no receive has come before. All else is
 * left to a receive with a request: what is behind another message, what is longer, what comes
 * later. So is each message whose slot must be told of, one in sixteen: a program which only
 * receives so makes progress all the same.
 */
#include "pt2pt/dense.h"
#include "pt2pt/pt2pt_private.h"

#include "runtime/progress.h"
#include "runtime/wait_pvars.h"
#include "base/cpu.h"

/* Would a receive be the first, and is nobody interested in how it finds its message? */
static inline bool is_undisturbed(void)
{
    return *weft_device_news == 0 && wefti_pt2pt.messages.count == 0 &&
           wefti_pt2pt.receives.count == 0 && wefti_is_unobserved() && weft_waits.watched == 0;
}

static void pause_for(int times)
{
    for (int i = 0; i < times; i++)
        weft_cpu_relax();
}

/* The slot with the next packet; NULL: it was not there within some looks. Who has passed the baton
 * waits for an answer. */
static __attribute__((noinline)) const weft_slot_t *await_slot(const weft_slots_t *slots,
                                                               uint64_t *first)
{
    weft_looks_t looks = weft_progress_looks();
    const weft_slot_t *slot;
    pause_for(slots->has_baton ? 0 : looks.first);
    for (int i = 0; (slot = weft_slots_next(slots, first)) == NULL && i < looks.most; i++)
        pause_for(looks.between);
    return slot;
}

/* The next packet of a peer with slots, if it is an eager message whose data are in its slot, and
 * it comes soon. NULL: it is for the transport, or is not there. */
static const weft_slot_t *next_message(const weft_slots_t *slots, weft_header_t *header)
{
    uint64_t first;
    const weft_slot_t *slot = weft_slots_next(slots, &first);
    if (slot == NULL)
        slot = await_slot(slots, &first);
    if (slot == NULL || weft_slots_must_tell(slots))
        return NULL;
    *header = weft_slots_header(slots, slot, first);
    bool is_ours = header->kind == WEFT_PACKET_EAGER && (first & slots->heeds) == 0 &&
                   weft_slots_hold(slots, slot, header->bytes);
    return is_ours ? slot : NULL;
}

/* Is this the message? */
static inline bool is_taken_so(weft_header_t header, weft_dense_message_t message, int tag)
{
    return header.context == message.comm->context && (header.tag == tag || tag == MPI_ANY_TAG) &&
           header.bytes <= message.bytes;
}

static inline void set_status(MPI_Status *status, int source, weft_header_t header)
{
    MPI_Status own = {.MPI_SOURCE = source, .MPI_TAG = header.tag};
    weft_status_set_bytes(&own, header.bytes);
    weft_status_copy(status, &own);
}

bool weft_recv_slot(void *buf, weft_dense_message_t message, int source, int tag,
                    MPI_Status *status)
{
    if (source == MPI_ANY_SOURCE || !is_undisturbed())
        return false;
    weft_endpoint_t *endpoint = weft_process_reached(weft_comm_process(message.comm, source));
    if (endpoint == NULL || endpoint->slots.to == NULL)
        return false;
    weft_slots_t *slots = &endpoint->slots;
    weft_header_t header;
    const weft_slot_t *slot = next_message(slots, &header);
    if (slot == NULL || !is_taken_so(header, message, tag))
        return false;
    weft_slot_read(slot, buf, header.bytes);
    weft_slots_take(slots, slot, header.bytes);
    set_status(status, source, header);
    weft_progress_let_go();
    return true;
}

void weft_recv_look(weft_request_t *request)
{
    int source = wefti_recv_awaited(request);
    if (source < 0 || *weft_device_news != 0 || weft_waits.watched != 0)
        return;
    weft_endpoint_t *endpoint = weft_process_reached(source);
    if (endpoint == NULL || !endpoint->slots.holds_last) /* else it will probably not be there */
        return;
    weft_header_t header;
    const weft_slot_t *slot;
    while (!request->is_complete && (slot = next_message(&endpoint->slots, &header)) != NULL) {
        wefti_recv_eager(source, header, slot->payload);
        weft_slots_take(&endpoint->slots, slot, header.bytes);
    }
}
