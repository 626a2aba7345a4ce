/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/pt2pt_private.h"

#include "runtime/progress.h"
#include "base/log.h"
#include "base/pool.h"

#include <string.h>

enum { SENT_LOG = 1024 };

typedef struct sent_entry {
    weft_endpoint_t *endpoint; /* NULL: it was cancelled */
    uint32_t context;
    int32_t tag;
} sent_entry_t;

size_t weft_cancellable_sends;

static sent_entry_t sent_log[SENT_LOG];
static uint64_t last_number;

/* The request of a small message that went out at once: complete, unless it is being cancelled. */
typedef struct sent {
    weft_request_t request; /* first */
    weft_cancellable_t cancel;
    bool was_cancelled; /* MPI_Cancel was called: what it says may have changed */
    struct sent *next;  /* in `prepared` */
} sent_t;

static weft_pool_t sents = WEFT_POOL(sent_t);
/* Released ones. They are set up for the next message, since all say the same. */
static sent_t *prepared;

static weft_list_t cancels = {&cancels, &cancels}; /* that have not been asked for */
static bool is_blocked;                            /* there was no room for a CANCEL */

/* The CANCEL under way. */
static struct {
    uint64_t number; /* 0: none */
    weft_endpoint_t *endpoint;
    weft_cancellable_t *of; /* NULL: its request is gone */
} asked;

/* ---- the log ---- */

uint64_t weft_sent_log(weft_endpoint_t *endpoint, uint32_t context, int tag)
{
    sent_log[++last_number % SENT_LOG] = (sent_entry_t){endpoint, context, tag};
    return last_number;
}

void wefti_unlog_message(uint64_t number)
{
    if (number == last_number)
        last_number--;
    else
        sent_log[number % SENT_LOG].endpoint = NULL;
}

static sent_entry_t *find_logged(uint64_t number)
{
    bool is_there = number != 0 && last_number - number < SENT_LOG;
    return is_there ? &sent_log[number % SENT_LOG] : NULL;
}

static uint32_t count_later(uint64_t number)
{
    const sent_entry_t *own = &sent_log[number % SENT_LOG];
    uint32_t count = 0;
    for (uint64_t i = number + 1; i <= last_number; i++) {
        const sent_entry_t *entry = &sent_log[i % SENT_LOG];
        count += entry->endpoint == own->endpoint && entry->context == own->context &&
                 entry->tag == own->tag;
    }
    return count;
}

void wefti_cancel_count(weft_cancellable_t *cancel)
{
    cancel->is_counted = true;
    weft_cancellable_sends++;
}

void wefti_cancel_forget(weft_cancellable_t *cancel)
{
    if (cancel->is_counted)
        weft_cancellable_sends--;
    if (asked.of == cancel)
        asked.of = NULL;
    else if (cancel->is_under_way)
        weft_list_remove(&cancel->link);
    cancel->is_counted = cancel->is_announced = cancel->is_under_way = false;
    cancel->number = 0;
}

/* ---- asking ---- */

static bool cancel_is_eager(const weft_cancellable_t *cancel)
{
    return cancel->is_counted;
}

/* The receiver has dropped the message that a send has announced. */
static void send_is_cancelled(weft_send_t *send)
{
    if (send->stage != WEFT_SEND_RTS_OUT)
        return;
    send->endpoint->asked--;
    send->stage = WEFT_SEND_FIRST; /* no answer is expected any more */
    weft_status_set_cancelled(&send->request.status, true);
    wefti_send_stop(send);
}

static void end_cancel(weft_cancellable_t *cancel, bool is_cancelled)
{
    sent_entry_t *entry = find_logged(cancel->number);
    cancel->is_under_way = false;
    if (is_cancelled && entry != NULL)
        entry->endpoint = NULL;
    if (!cancel_is_eager(cancel) || cancel->is_announced) {
        if (is_cancelled)
            send_is_cancelled(WEFT_ELEMENT(cancel, weft_send_t, cancel));
        return;
    }
    weft_status_set_cancelled(&cancel->request->status, is_cancelled);
    weft_request_complete(cancel->request);
}

static weft_cancel_t name_eager(const weft_cancellable_t *cancel)
{
    const sent_entry_t *entry = find_logged(cancel->number);
    return (weft_cancel_t){
        .context = entry->context, .tag = entry->tag, .later = count_later(cancel->number)};
}

static weft_cancel_t name_announced(const weft_cancellable_t *cancel)
{
    const weft_send_t *send = (const weft_send_t *)cancel->request;
    return (weft_cancel_t){
        .request = (uint64_t)(uintptr_t)send, .context = send->args.context, .tag = send->args.tag};
}

/* Ask for one. The answer of the process itself comes before this returns. False: no room. */
static bool cancel_ask(weft_cancellable_t *cancel)
{
    static uint64_t last_asked;
    bool is_eager = cancel_is_eager(cancel);
    weft_endpoint_t *endpoint = cancel->endpoint;
    weft_cancel_t packet;
    if (endpoint->is_lost || (is_eager && find_logged(cancel->number) == NULL)) {
        end_cancel(cancel, false);
        return true;
    }
    packet = is_eager ? name_eager(cancel) : name_announced(cancel);
    asked.number = ++last_asked;
    asked.endpoint = endpoint;
    asked.of = cancel;
    endpoint->asked++;
    weft_header_t header = weft_header_for(WEFT_PACKET_CANCEL, asked.number, sizeof(packet));
    if (endpoint->link->send(endpoint, header, &packet))
        return true;
    endpoint->asked--;
    asked.number = 0;
    asked.of = NULL;
    return false;
}

static int cancel_push(bool everything);

static void cancel_next(void)
{
    is_blocked = false;
    while (asked.number == 0 && !is_blocked) {
        weft_link_t *link = weft_list_pop(&cancels);
        if (link == NULL)
            return;
        weft_cancellable_t *cancel = WEFT_ELEMENT(link, weft_cancellable_t, link);
        if (cancel_ask(cancel))
            continue;
        weft_list_append(cancels.next, link); /* in front of all others */
        is_blocked = true;
        weft_progress_need(cancel_push);
    }
}

static int cancel_push(bool everything)
{
    (void)everything;
    cancel_next();
    if (!is_blocked)
        weft_progress_remove(cancel_push);
    return !is_blocked;
}

bool wefti_cancel_begin(weft_cancellable_t *cancel, weft_request_t *request,
                        weft_endpoint_t *endpoint)
{
    const sent_entry_t *entry = find_logged(cancel->number);
    if (cancel->is_under_way || (cancel_is_eager(cancel) && (entry == NULL || !entry->endpoint)))
        return false;
    cancel->is_under_way = true;
    cancel->request = request;
    cancel->endpoint = endpoint;
    if (cancel_is_eager(cancel)) {
        cancel->endpoint = entry->endpoint;
        request->is_complete = false; /* until the answer comes */
    }
    weft_list_append(&cancels, &cancel->link);
    if (!is_blocked)
        cancel_next();
    return true;
}

/* The CANCEL under way has its answer, or will never have one. */
static void end_asked(bool is_cancelled)
{
    weft_cancellable_t *cancel = asked.of;
    asked.endpoint->asked--;
    asked.number = 0;
    asked.of = NULL;
    if (cancel != NULL)
        end_cancel(cancel, is_cancelled);
    cancel_next();
}

void wefti_cancel_is_answered(int source, const weft_header_t *header, const void *payload)
{
    (void)payload;
    if (asked.number != 0 && asked.number == weft_header_number(header) &&
        asked.endpoint == weft_process_reached(source))
        end_asked(header->kind == WEFT_PACKET_CANCELLED);
    else
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped an answer that belongs to no MPI_Cancel");
}

void wefti_cancels_lose(weft_endpoint_t *endpoint)
{
    if (asked.number != 0 && asked.endpoint == endpoint)
        end_asked(false);
}

/* ---- being asked ---- */

/* In order: the FIN of a dropped message that had been fetched may still wait for room. It has to
 * be there first, since CANCELLED ends the send that it names. */
void wefti_cancel_is_asked(int source, const weft_header_t *header, const void *payload)
{
    weft_cancel_t cancel;
    memcpy(&cancel, payload, sizeof(cancel));
    bool is_dropped = wefti_message_drop(source, &cancel);
    weft_endpoint_t *endpoint = weft_process_endpoint(source);
    if (endpoint == NULL)
        return;
    uint8_t kind = is_dropped ? WEFT_PACKET_CANCELLED : WEFT_PACKET_NOT_CANCELLED;
    weft_header_t answer = weft_header_for(kind, weft_header_number(header), 0);
    wefti_send_in_order(endpoint, &answer, NULL);
}

/* ---- requests with a send behind them ---- */

/* What has not gone out is cancelled here, the rest by the receiver. */
void wefti_send_cancel(weft_request_t *request)
{
    weft_send_t *send = (weft_send_t *)request;
    if (send->cancel.is_counted || (!request->is_complete && send->stage == WEFT_SEND_RTS_OUT)) {
        wefti_cancel_begin(&send->cancel, request, send->endpoint);
    } else if (!request->is_complete && send->stage == WEFT_SEND_SPLIT) {
        send->is_unwanted = true;
    } else if (!request->is_complete && send->stage == WEFT_SEND_FIRST && send->is_queued) {
        wefti_send_dequeue(send);
        weft_status_set_cancelled(&request->status, true);
        wefti_send_stop(send);
    }
}

/* ---- requests of messages that went out at once ---- */

static void sent_release(weft_request_t *request)
{
    sent_t *sent = (sent_t *)request;
    if (__builtin_expect(sent->was_cancelled, 0)) {
        wefti_cancel_forget(&sent->cancel);
        weft_pool_give(&sents, sent);
        return;
    }
    weft_cancellable_sends--;
    sent->next = prepared;
    prepared = sent;
}

static void sent_cancel(weft_request_t *request)
{
    sent_t *sent = (sent_t *)request;
    sent->was_cancelled = true;
    wefti_cancel_begin(&sent->cancel, request, NULL);
}

static const weft_request_ops_t sent_ops = {
    .name = "send", .release = sent_release, .cancel = sent_cancel};

static __attribute__((noinline)) sent_t *make_sent(void)
{
    sent_t *sent = weft_pool_take(&sents);
    if (sent == NULL)
        return NULL;
    weft_request_init(&sent->request, &sent_ops, NULL);
    sent->request.is_complete = true;
    sent->cancel.is_counted = true;
    sent->cancel.is_announced = sent->cancel.is_under_way = false;
    sent->was_cancelled = false;
    return sent;
}

weft_request_t *weft_sent_create(weft_endpoint_t *endpoint, uint32_t context, int tag)
{
    sent_t *sent = prepared;
    if (__builtin_expect(sent != NULL, 1))
        prepared = sent->next;
    else if ((sent = make_sent()) == NULL)
        return &weft_request_done;
    sent->request.object.kind = WEFT_KIND_REQUEST;
    sent->cancel.number = weft_sent_log(endpoint, context, tag);
    weft_cancellable_sends++;
    return &sent->request;
}

void wefti_cancels_close(void)
{
    weft_list_init(&cancels);
    asked.number = 0;
    asked.of = NULL;
    is_blocked = false;
    weft_cancellable_sends = 0;
    prepared = NULL;
    weft_pool_close(&sents);
}
