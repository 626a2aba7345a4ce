/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving a short message straight from the slot that it comes in (runtime/slots.h): the call
 * that waits for it looks there itself. A receive that is under way is found by its message as
 * always. A blocking one begins no request: it matches the next message of its sender if
 * that has its context and tag, as long as no message and no receive has come before. All else is
 * left to a receive with a request: what is behind another message, what is longer, what comes
 * later. So is each message whose slot must be told of, one in sixteen: a program which only
 * receives so makes progress all the same. A probe finds such a message, and leaves it there.
 */
#include "pt2pt/dense.h"
#include "pt2pt/pt2pt_private.h"

#include "runtime/progress.h"
#include "runtime/wait_pvars.h"
#include "base/cpu.h"

/* Would a receive be the first, and is nobody interested in how it finds its message? */
static inline bool is_undisturbed(void)
{
    return *weft_device_news == 0 && wefti_pt2pt.vcis[0].messages.count == 0 &&
           wefti_pt2pt.vcis[0].receives.count == 0 && wefti_is_unobserved() &&
           weft_waits.watched == 0;
}

/* The slot with the next packet; NULL: it was not there within some looks. Who has passed the baton
 * waits for an answer. */
static __attribute__((noinline)) const weft_slot_t *await_slot(const weft_slots_t *slots,
                                                               uint64_t *first)
{
    weft_looks_t looks = weft_progress_looks();
    const weft_slot_t *slot;
    int between = wefti_pauses_between(&wefti_pt2pt.vcis[0], looks);
    weft_cpu_pause(slots->has_baton ? 0 : looks.first);
    for (int i = 0; (slot = weft_slots_next(slots, first)) == NULL && i < looks.most; i++)
        weft_cpu_pause(between);
    return slot;
}

/* Is the next packet an eager message whose data are in its slot, and not one that the transport
 * has to take? */
static inline bool is_message(const weft_slots_t *slots, const weft_slot_t *slot, uint64_t first)
{
    weft_header_t header = weft_slots_header(slots, slot, first);
    return header.kind == WEFT_PACKET_EAGER && (first & slots->heeds) == 0 &&
           weft_slots_hold(slots, slot, header.bytes) && !weft_slots_must_tell(slots);
}

/* The next packet of a peer with slots, if it is such a message, and it comes soon. NULL: it is for
 * the transport, or is not there. `has_looked`: it was not there just now. */
static const weft_slot_t *next_message(const weft_slots_t *slots, bool has_looked,
                                       weft_header_t *header)
{
    uint64_t first;
    const weft_slot_t *slot = has_looked ? NULL : weft_slots_next(slots, &first);
    if (slot == NULL)
        slot = await_slot(slots, &first);
    if (slot == NULL || !is_message(slots, slot, first))
        return NULL;
    *header = weft_slots_header(slots, slot, first);
    return slot;
}

static inline void set_status(MPI_Status *status, int source, weft_header_t header)
{
    MPI_Status own = {.MPI_SOURCE = source, .MPI_TAG = header.tag};
    weft_status_set_bytes(&own, header.bytes);
    weft_status_copy(status, &own);
}

/* ---- without a request ---- */

/* A message in its slot, and the rank that has sent it. */
typedef struct arrived {
    weft_slots_t *slots;
    const weft_slot_t *slot;
    weft_header_t header;
    int source;
} arrived_t;

static weft_slots_t *slots_from(const weft_comm_t *comm, int rank)
{
    weft_endpoint_t *endpoint = weft_process_reached(weft_comm_process(comm, rank));
    return endpoint == NULL || endpoint->slots.to == NULL ? NULL : &endpoint->slots;
}

/* Is the next packet of this rank there, and the message that such a receive gets? */
static bool is_there(weft_dense_message_t message, int source, int tag, arrived_t *out)
{
    uint64_t first;
    out->source = source;
    out->slots = slots_from(message.comm, source);
    out->slot = out->slots == NULL ? NULL : weft_slots_next(out->slots, &first);
    if (out->slot == NULL || !is_message(out->slots, out->slot, first))
        return false;
    out->header = weft_slots_header(out->slots, out->slot, first);
    return wefti_is_taken_so(out->header, message, tag);
}

/* The same from any rank, where there are a few: first from those behind the last one. */
static bool is_there_from_any(weft_dense_message_t message, int tag, arrived_t *out)
{
    enum { RANKS_MOST = 8 };
    static int last;
    int ranks = message.comm->peers->size;
    for (int i = 1; i <= ranks && ranks <= RANKS_MOST; i++) {
        int rank = (last + i) % ranks;
        if (is_there(message, rank, tag, out)) {
            last = rank;
            return true;
        }
    }
    return false;
}

/* The same from this rank, also if it comes soon. */
static bool comes_soon(weft_dense_message_t message, int source, int tag, arrived_t *out)
{
    out->source = source;
    out->slots = slots_from(message.comm, source);
    if (out->slots == NULL)
        return false;
    out->slot = next_message(out->slots, false, &out->header);
    return out->slot != NULL && wefti_is_taken_so(out->header, message, tag);
}

bool weft_recv_slot(void *buf, weft_dense_message_t message, int source, int tag,
                    MPI_Status *status)
{
    arrived_t arrived;
    if (weft_vci_of(message.comm->context) != 0 || !is_undisturbed())
        return false;
    if (source == MPI_ANY_SOURCE ? !is_there_from_any(message, tag, &arrived)
                                 : !comes_soon(message, source, tag, &arrived))
        return false;
    weft_slot_read(arrived.slot, buf, arrived.header.bytes);
    weft_slots_take(arrived.slots, arrived.slot, arrived.header.bytes);
    set_status(status, arrived.source, arrived.header);
    weft_progress_let_go();
    return true;
}

bool weft_probe_slot(weft_comm_t *comm, int source, int tag, MPI_Status *status)
{
    weft_dense_message_t any_length = {comm, SIZE_MAX};
    arrived_t arrived;
    if (!weft_world.is_plain || weft_vci_of(comm->context) != 0 || !is_undisturbed())
        return false;
    if (source == MPI_ANY_SOURCE ? !is_there_from_any(any_length, tag, &arrived)
                                 : !is_there(any_length, source, tag, &arrived))
        return false;
    set_status(status, arrived.source, arrived.header);
    return true;
}

/* ---- at the end of a request ---- */

static inline bool is_first(const weft_recv_t *recv)
{
    return wefti_recv_is_first(&wefti_pt2pt.vcis[0], recv) && wefti_is_unobserved();
}

/* As the message goes to the program at once, the request does not become complete before. */
static inline void end_first(weft_recv_t *recv, weft_header_t header, MPI_Status *status)
{
    weft_match_unlink(&wefti_pt2pt.vcis[0].receives, &recv->entry);
    recv->is_queued = false;
    set_status(status, recv->args.source, header);
    recv->request.object.kind = WEFT_FREED;
    wefti_dense_recv_give(recv);
}

/* The same, whatever comes, and also if it comes soon. `has_looked`: nothing was there just now. */
static __attribute__((noinline)) bool end_slowly(weft_recv_t *recv, weft_slots_t *slots,
                                                 bool has_looked, MPI_Status *status)
{
    weft_dense_message_t message = {recv->args.comm, recv->capacity};
    weft_header_t header;
    const weft_slot_t *slot;
    while (recv->is_queued && (slot = next_message(slots, has_looked, &header)) != NULL) {
        bool is_own = is_first(recv) && wefti_is_taken_so(header, message, recv->args.tag);
        if (is_own) {
            weft_slot_read(slot, recv->args.buf, header.bytes);
            end_first(recv, header, status);
        } else {
            wefti_recv_eager(recv->entry.key.source, header, slot->payload);
        }
        weft_slots_take(slots, slot, header.bytes);
        if (is_own) {
            weft_progress_let_go();
            return true;
        }
        has_looked = false;
    }
    return false;
}

/* The slots that the message of a receive of the short way may come in now; NULL: all is to be done
 * as always. */
static inline weft_slots_t *slots_of(const weft_recv_t *recv)
{
    if (recv == NULL || *weft_device_news != 0 || weft_waits.watched != 0)
        return NULL;
    int source = recv->entry.key.source;
    weft_endpoint_t *endpoint = source < 0 ? NULL : weft_process_reached(source);
    if (endpoint == NULL || !endpoint->slots.holds_last) /* else it will probably not be there */
        return NULL;
    return &endpoint->slots;
}

typedef enum look { IS_OVER, IS_NOT_THERE, IS_OTHERWISE } look_t;

/* If the next packet is the message of this receive, and a small one, all is done. */
static inline look_t __attribute__((always_inline))
end_now(weft_recv_t *recv, weft_slots_t *slots, MPI_Status *status)
{
    uint64_t first;
    const weft_slot_t *slot = weft_slots_next(slots, &first);
    if (slot == NULL)
        return IS_NOT_THERE;
    if (!is_message(slots, slot, first) || !is_first(recv) || weft_progress_holds())
        return IS_OTHERWISE;
    weft_dense_message_t message = {recv->args.comm, recv->capacity};
    weft_header_t header = weft_slots_header(slots, slot, first);
    if (!wefti_is_taken_so(header, message, recv->args.tag) || header.bytes > WEFT_COPY_SMALL)
        return IS_OTHERWISE;
    weft_copy_small(recv->args.buf, slot->payload, header.bytes);
    end_first(recv, header, status);
    weft_slots_take(slots, slot, header.bytes);
    return IS_OVER;
}

bool weft_recv_end(weft_request_t *request, MPI_Status *status)
{
    weft_recv_t *recv = wefti_dense_recv_of(request);
    weft_slots_t *slots = slots_of(recv);
    if (slots == NULL)
        return false;
    look_t seen = end_now(recv, slots, status);
    return seen == IS_OVER || end_slowly(recv, slots, seen == IS_NOT_THERE, status);
}

bool weft_recv_try(weft_request_t *request, MPI_Status *status)
{
    weft_recv_t *recv = wefti_dense_recv_of(request);
    weft_slots_t *slots = slots_of(recv);
    return slots != NULL && end_now(recv, slots, status) == IS_OVER;
}
