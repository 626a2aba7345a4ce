/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that came before their receives. Their data are kept up to WEFT_UNEXPECTED_MAX bytes in
 * all; beyond that the senders are told to ask first: so a rank that sends to one that does not
 * receive waits, and does not fill the other's memory.
 */
#include "pt2pt/device_private.h"
#include "pt2pt/pt2pt_events.h"
#include "pt2pt/pt2pt_pvars.h"

#include "runtime/progress.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/pool.h"
#include "base/spares.h"

#include <stdio.h>
#include <string.h>

enum { SPARE_BYTES = 4 << 20 };

static weft_pool_t messages = WEFT_POOL(weft_message_t);
static weft_spares_t spares = {.most = SPARE_BYTES}; /* for their data */

/* ---- keeping ---- */

static void throttle_in_vci(weft_endpoint_t *peer, int vci, bool is_on)
{
    weft_endpoint_t *endpoint = weft_endpoint_of_vci(peer, vci);
    bool has_entered = weft_vci_enter(endpoint->vci);
    endpoint->link->throttle(endpoint, is_on);
    weft_vci_leave(endpoint->vci, has_entered);
}

static void throttle_senders(bool is_on)
{
    wefti_pt2pt.is_throttling = is_on;
    WEFT_LOG(WEFT_INFO, "pt2pt", "unexpected data %zu bytes: senders %s",
             wefti_pt2pt.messages_bytes, is_on ? "must ask first" : "may send again");
    WEFT_EVENT(weft_throttle_event, NULL, .is_on = is_on, .bytes = wefti_pt2pt.messages_bytes);
    for (int process = 0; process < weft_processes.count; process++) {
        weft_endpoint_t *endpoint = weft_process_reached(process);
        for (int vci = 0; endpoint != NULL && vci < weft_world.vcis; vci++)
            throttle_in_vci(endpoint, vci, is_on);
    }
}

/* Bytes that it costs to keep a message, its own structure included, so that a flood of empty
 * messages counts. */
static size_t cost_of(const weft_message_t *message)
{
    bool is_outside = message->data != NULL && message->data != message->room;
    return sizeof(*message) + (is_outside ? message->rts.bytes : 0);
}

static void count_bytes(size_t before, size_t after)
{
    wefti_pt2pt.messages_bytes += after - before;
    size_t kept = wefti_pt2pt.messages_bytes, most = weft_config.UNEXPECTED_MAX;
    weft_high_water_note(&wefti_unexpected.memory, kept);
    if (!wefti_pt2pt.is_throttling && kept > most)
        throttle_senders(true);
    else if (wefti_pt2pt.is_throttling && kept <= most / 2)
        throttle_senders(false);
}

static bool make_message_room(weft_message_t *message)
{
    size_t bytes = message->rts.bytes;
    message->data =
        bytes <= sizeof(message->room) ? message->room : weft_spare_take(&spares, bytes);
    return message->data != NULL;
}

static bool keep_data(weft_message_t *message, const void *data)
{
    if (!make_message_room(message))
        return false;
    weft_copy(message->data, data, message->rts.bytes);
    return true;
}

/* Keep what came with the message in place of data: a share, or an error. */
static bool keep_extra(weft_message_t *message)
{
    bool is_error = message->rts.kind == WEFT_PACKET_ERROR;
    size_t bytes = is_error ? sizeof(weft_packet_error_t) : sizeof(weft_share_t);
    void *extra = weft_alloc(bytes);
    if (extra == NULL)
        return false;
    memcpy(extra, message->rts.extra, bytes);
    message->rts.extra = extra;
    return true;
}

static void free_contents(weft_message_t *message)
{
    if (message->data != message->room)
        weft_spare_give(&spares, message->data, message->rts.bytes);
    if (__builtin_expect(message->rts.extra != NULL, 0))
        weft_free((void *)message->rts.extra);
}

static void free_message(weft_message_t *message)
{
    message->object.kind = WEFT_FREED;
    if (message->is_spare) {
        wefti_spare_give(wefti_matching(message->entry.key.context), message);
        return;
    }
    count_bytes(cost_of(message), 0);
    free_contents(message);
    weft_pool_give(&messages, message);
}

void wefti_spares_fill(weft_matching_t *vci, int count)
{
    for (int i = 0; i < count; i++) {
        weft_message_t *message = weft_pool_take(&messages);
        if (message == NULL)
            return;
        *message = (weft_message_t){.object.kind = WEFT_FREED, .is_spare = true};
        message->data = message->room;
        wefti_spare_give(vci, message);
    }
}

/* The receiver gets an error in place of the data. */
static void become_error(weft_message_t *message, const weft_packet_error_t *packet_error)
{
    message->rts.kind = WEFT_PACKET_ERROR;
    message->rts.extra = packet_error;
    if (!keep_extra(message))
        weft_out_of_memory("the error of a message", sizeof(*packet_error));
}

/* Are its data on their way to this process? */
static bool is_coming(const weft_message_t *message)
{
    return message->fetching != NULL || message->missing > 0;
}

/* They are here, or will never come. */
static void end_coming(weft_message_t *message)
{
    message->missing = 0;
    message->fetching = NULL;
    if (message->taker != NULL)
        wefti_message_deliver(message, message->taker);
}

/* ---- fetching ---- */

/* A short message that was announced, since it is in device memory or since reading is faster, is
 * fetched before a receive is posted, so that its sender can complete. Otherwise ranks that send to
 * each other before they receive would wait for ever, which they do not with unasked messages. Most
 * receives come soon, and read the message into their buffers: so those of host memory are fetched
 * only after some rounds of progress. */
enum { ROUNDS_UNFETCHED = 1000 };

static void message_get_is_over(weft_request_t *request, void *owner)
{
    weft_message_t *message = owner;
    weft_free((void *)message->rts.extra);
    message->rts = (weft_rts_t){.bytes = message->rts.bytes};
    if (request->status.MPI_ERROR != MPI_SUCCESS) {
        weft_packet_error_t packet_error = wefti_packet_error(request);
        become_error(message, &packet_error);
    }
    weft_request_release(request);
    end_coming(message);
}

static bool suits_fetching(const weft_message_t *message)
{
    const weft_endpoint_t *endpoint = weft_process_reached(message->entry.key.source);
    return message->rts.kind == WEFT_PACKET_RTS_SHARE && endpoint != NULL &&
           message->rts.bytes <= endpoint->eager_max && !wefti_pt2pt.is_throttling;
}

static void fetch(weft_message_t *message)
{
    if (!make_message_room(message))
        weft_out_of_memory("a message that nobody receives", message->rts.bytes);
    weft_recv_args_t args = {.buf = message->data,
                             .count = message->rts.bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_world,
                             .where = WEFT_WHERE_HOST,
                             .source = message->entry.key.source,
                             .tag = message->entry.key.tag};
    if (wefti_recv_create(&args, &message->fetching) != MPI_SUCCESS)
        weft_out_of_memory("a message that nobody receives", sizeof(weft_recv_t));
    weft_recv_t *recv = message->fetching;
    wefti_recv_matched(recv, &message->entry.key, &message->rts, NULL);
    weft_request_watch(&recv->request, message_get_is_over, message);
}

static unsigned rounds_unfetched;

static int fetch_in_vci(int vci)
{
    int fetched = 0;
    const weft_list_t *order = &wefti_pt2pt.vcis[vci].messages.order;
    for (weft_link_t *at = order->next; at != order && !wefti_pt2pt.is_throttling; at = at->next) {
        weft_message_t *message = WEFT_ELEMENT(at, weft_message_t, entry.order);
        if (message->rts.kind != WEFT_PACKET_RTS_SHORT || is_coming(message))
            continue;
        size_t before = cost_of(message);
        fetch(message);
        count_bytes(before, cost_of(message));
        fetched++;
    }
    return fetched;
}

static int fetch_late_ones(bool everything)
{
    int fetched = 0;
    if (!everything && ++rounds_unfetched < ROUNDS_UNFETCHED)
        return 0;
    weft_progress_remove(fetch_late_ones);
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        bool has_entered = weft_vci_enter(vci);
        fetched += fetch_in_vci(vci);
        weft_vci_leave(vci, has_entered);
    }
    return fetched;
}

void wefti_messages_fetch(void)
{
    fetch_late_ones(true);
}

static void fetch_later(void)
{
    rounds_unfetched = 0;
    weft_progress_need(fetch_late_ones);
}

/* NULL: it is refused. */
static weft_message_t *make_message(const weft_match_key_t *key, const weft_rts_t *rts)
{
    if (__builtin_expect(wefti_pt2pt.has_trouble, 0) && wefti_message_is_refused(key)) {
        wefti_refuse(key->source, rts);
        return NULL;
    }
    weft_message_t *message = weft_pool_take(&messages);
    if (message == NULL)
        weft_out_of_memory("a message that nobody receives", sizeof(*message));
    message->object.kind = WEFT_FREED;
    message->entry.key = *key;
    message->rts = *rts;
    message->data = NULL;
    message->missing = 0;
    message->is_spare = false;
    message->fetching = NULL;
    message->taker = NULL;
    return message;
}

static void queue_message(weft_message_t *message)
{
    const weft_match_key_t *key = &message->entry.key;
    weft_match_queue_t *queue = wefti_messages_with(message);
    count_bytes(0, cost_of(message));
    weft_match_add(queue, &message->entry);
    wefti_unexpected.arrivals++;
    weft_high_water_note(&wefti_unexpected.queue, queue->count);
    WEFT_EVENT(weft_unexpected_message_event, NULL, .source = weft_process_rank(key->source),
               .tag = key->tag, .bytes = message->rts.bytes, .queued = queue->count);
    wefti_probes_wake();
}

void wefti_message_keep(const weft_match_key_t *key, const weft_rts_t *rts, const void *data)
{
    weft_message_t *message = make_message(key, rts);
    if (message == NULL)
        return;
    if ((data != NULL && !keep_data(message, data)) || (rts->extra != NULL && !keep_extra(message)))
        weft_out_of_memory("a message that nobody receives", rts->bytes);
    if (__builtin_expect(rts->extra != NULL, 0) && suits_fetching(message))
        fetch(message);
    if (__builtin_expect(rts->kind == WEFT_PACKET_RTS_SHORT, 0))
        fetch_later();
    queue_message(message);
}

weft_message_t *wefti_message_begin(const weft_match_key_t *key, size_t bytes, weft_recv_t *taker)
{
    weft_message_t *message = make_message(key, &(weft_rts_t){.bytes = bytes});
    if (message == NULL)
        return NULL;
    message->taker = taker;
    message->missing = bytes;
    if (!make_message_room(message))
        weft_out_of_memory("a message that nobody receives", bytes);
    if (taker == NULL)
        queue_message(message);
    else
        count_bytes(0, cost_of(message));
    return message;
}

void wefti_message_more(weft_message_t *message, const void *data, size_t bytes)
{
    weft_copy((char *)message->data + message->rts.bytes - message->missing, data, bytes);
    message->missing -= bytes;
    if (message->missing == 0)
        end_coming(message);
}

void wefti_message_break(weft_message_t *message, int process)
{
    weft_packet_error_t packet_error = {.error_class = wefti_fail_lost(process)};
    snprintf(packet_error.text, sizeof(packet_error.text), "%s", weft_fail_text());
    become_error(message, &packet_error);
    end_coming(message);
}

weft_message_t *wefti_message_peek(weft_match_key_t key)
{
    weft_match_entry_t *entry = weft_match_find(&wefti_matching(key.context)->messages, key);
    return entry == NULL ? NULL : WEFT_ELEMENT(entry, weft_message_t, entry);
}

weft_message_t *wefti_message_take(weft_match_key_t key)
{
    weft_message_t *message = wefti_message_peek(key);
    if (message != NULL)
        weft_match_remove(wefti_messages_with(message), &message->entry);
    return message;
}

static void refuse_in_vci(int vci, const weft_match_key_t *key)
{
    const weft_list_t *order = &wefti_pt2pt.vcis[vci].messages.order;
    for (weft_link_t *at = order->next, *next; at != order; at = next) {
        weft_message_t *message = WEFT_ELEMENT(at, weft_message_t, entry.order);
        next = at->next;
        const weft_match_key_t *own = &message->entry.key;
        if (is_coming(message) || !wefti_message_is_refused(own) ||
            (key != NULL && (own->context != key->context || own->source != key->source)))
            continue;
        weft_match_remove(wefti_messages_with(message), &message->entry);
        wefti_refuse(message->entry.key.source, &message->rts);
        free_message(message);
    }
}

/* Messages whose data are on their way stay in the queue, where no receive looks for them. */
void wefti_messages_refuse(const weft_match_key_t *key)
{
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        bool has_entered = weft_vci_enter(vci);
        refuse_in_vci(vci, key);
        weft_vci_leave(vci, has_entered);
    }
}

/* Is it the message that a CANCEL names, after `*later` of the same kind have been passed? */
static bool message_is_named(const weft_message_t *message, const weft_cancel_t *cancel,
                             uint32_t *later)
{
    if (cancel->request != 0)
        return message->rts.request == cancel->request;
    return (*later)-- == 0;
}

/* From the end, since `later` counts from there. A message whose data are on their way is as good
 * as matched, and so is one that has become an error. */
static bool drop_message(int source, const weft_cancel_t *cancel)
{
    weft_match_key_t key = {cancel->context, source, cancel->tag};
    uint32_t later = cancel->later;
    const weft_list_t *order = &wefti_matching(cancel->context)->messages.order;
    for (weft_link_t *at = order->previous; at != order; at = at->previous) {
        weft_message_t *message = WEFT_ELEMENT(at, weft_message_t, entry.order);
        if (!weft_match_are_equal(&message->entry.key, &key) ||
            !message_is_named(message, cancel, &later))
            continue;
        bool is_as_named =
            message->rts.request == cancel->request || message->rts.kind == WEFT_PACKET_RTS_SHORT;
        if (is_coming(message) || !is_as_named || message->rts.kind == WEFT_PACKET_ERROR)
            return false;
        weft_match_remove(wefti_messages_with(message), &message->entry);
        free_message(message);
        return true;
    }
    return false;
}

bool wefti_message_drop(int source, const weft_cancel_t *cancel)
{
    int vci = weft_vci_of(cancel->context);
    bool has_entered = weft_vci_enter(vci), is_dropped = drop_message(source, cancel);
    weft_vci_leave(vci, has_entered);
    return is_dropped;
}

void wefti_message_deliver(weft_message_t *message, weft_recv_t *recv)
{
    if (__builtin_expect(is_coming(message), 0)) {
        message->taker = recv; /* it is delivered when the data are here */
        return;
    }
    wefti_recv_matched(recv, &message->entry.key, &message->rts, message->data);
    free_message(message);
}

static void visit_waiting(int vci,
                          void (*visit)(const weft_waiting_message_t *message, void *context),
                          void *context)
{
    const weft_list_t *order = &wefti_pt2pt.vcis[vci].messages.order;
    for (weft_link_t *at = order->next; at != order; at = at->next) {
        const weft_message_t *message = WEFT_ELEMENT(at, weft_message_t, entry.order);
        const weft_match_key_t *key = &message->entry.key;
        visit(&(weft_waiting_message_t){key->context, key->source, key->tag, message->rts.bytes},
              context);
    }
}

void weft_pt2pt_waiting_each(void (*visit)(const weft_waiting_message_t *message, void *context),
                             void *context)
{
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        bool has_entered = weft_vci_enter(vci);
        visit_waiting(vci, visit, context);
        weft_vci_leave(vci, has_entered);
    }
}

static void close_vci(weft_matching_t *vci)
{
    const weft_list_t *order = &vci->messages.order;
    for (weft_link_t *at = order->next; at != order; at = at->next)
        free_contents(WEFT_ELEMENT(at, weft_message_t, entry.order)); /* nobody has received it */
    weft_match_close(&vci->messages);
    vci->spares = NULL;
}

void wefti_messages_close(void)
{
    for (int vci = 0; vci < WEFT_VCIS; vci++)
        close_vci(&wefti_pt2pt.vcis[vci]);
    weft_pool_close(&messages);
    weft_spares_close(&spares);
}
