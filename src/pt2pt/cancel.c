/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/pt2pt_private.h"

#include "runtime/progress.h"
#include "base/log.h"
#include "base/pool.h"

#include <string.h>

enum { SENT_LOG = 1024, PREPARED_AT_ONCE = 16 };

typedef struct sent_entry {
    weft_endpoint_t *endpoint; /* NULL: it was cancelled */
    uint32_t context;
    int32_t tag;
} sent_entry_t;

weft_cancellable_count_t weft_cancellable[WEFT_VCIS];

/* Of each VCI; with its lock, if it is not VCI 0. */
typedef struct sent_log {
    _Alignas(128) uint64_t last_number;
    struct sent *prepared; /* released requests, set up for the next message: all say the same */
    sent_entry_t entries[SENT_LOG];
} sent_log_t;

static sent_log_t logs[WEFT_VCIS];

/* The request of a small message that went out at once: complete, unless it is being cancelled. */
typedef struct sent {
    weft_request_t request; /* first */
    weft_cancellable_t cancel;
    bool was_cancelled; /* MPI_Cancel was called: what it says may have changed */
    struct sent *next;  /* in sent_log_t.prepared */
} sent_t;

static weft_pool_t sents = WEFT_POOL(sent_t);

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
    sent_log_t *log = &logs[weft_vci_of(context)];
    log->entries[++log->last_number % SENT_LOG] = (sent_entry_t){endpoint, context, tag};
    return log->last_number;
}

void wefti_unlog_message(uint32_t context, uint64_t number)
{
    sent_log_t *log = &logs[weft_vci_of(context)];
    if (number == log->last_number)
        log->last_number--;
    else
        log->entries[number % SENT_LOG].endpoint = NULL;
}

static sent_entry_t *find_logged(const weft_cancellable_t *cancel)
{
    sent_log_t *log = &logs[cancel->vci];
    bool is_there = cancel->number != 0 && log->last_number - cancel->number < SENT_LOG;
    return is_there ? &log->entries[cancel->number % SENT_LOG] : NULL;
}

static uint32_t count_later(const weft_cancellable_t *cancel)
{
    const sent_log_t *log = &logs[cancel->vci];
    const sent_entry_t *own = &log->entries[cancel->number % SENT_LOG];
    uint32_t count = 0;
    for (uint64_t i = cancel->number + 1; i <= log->last_number; i++) {
        const sent_entry_t *entry = &log->entries[i % SENT_LOG];
        count += entry->endpoint == own->endpoint && entry->context == own->context &&
                 entry->tag == own->tag;
    }
    return count;
}

void wefti_cancel_count(weft_cancellable_t *cancel)
{
    bool has_entered = weft_vci_enter(cancel->vci);
    cancel->is_counted = true;
    weft_cancellable[cancel->vci].sends++;
    weft_vci_leave(cancel->vci, has_entered);
}

void wefti_cancel_forget(weft_cancellable_t *cancel)
{
    bool has_entered = weft_vci_enter(cancel->vci);
    if (cancel->is_counted)
        weft_cancellable[cancel->vci].sends--;
    weft_vci_leave(cancel->vci, has_entered);
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
    bool has_entered = weft_vci_enter(cancel->vci);
    sent_entry_t *entry = find_logged(cancel);
    cancel->is_under_way = false;
    if (is_cancelled && entry != NULL)
        entry->endpoint = NULL;
    weft_vci_leave(cancel->vci, has_entered);
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
    const sent_entry_t *entry = find_logged(cancel);
    return (weft_cancel_t){
        .context = entry->context, .tag = entry->tag, .later = count_later(cancel)};
}

static weft_cancel_t name_announced(const weft_cancellable_t *cancel)
{
    const weft_send_t *send = (const weft_send_t *)cancel->request;
    return (weft_cancel_t){
        .request = (uint64_t)(uintptr_t)send, .context = send->args.context, .tag = send->args.tag};
}

/* The CANCEL goes by the VCI of the message, and so comes after it. */
static bool ask_in_vci(weft_cancellable_t *cancel)
{
    static uint64_t last_asked;
    bool is_eager = cancel_is_eager(cancel);
    weft_endpoint_t *endpoint = cancel->endpoint;
    weft_cancel_t packet;
    if (endpoint->is_lost || (is_eager && find_logged(cancel) == NULL)) {
        end_cancel(cancel, false);
        return true;
    }
    packet = is_eager ? name_eager(cancel) : name_announced(cancel);
    asked.number = ++last_asked;
    asked.endpoint = endpoint;
    asked.of = cancel;
    endpoint->asked++;
    weft_header_t header = weft_header_for(WEFT_PACKET_CANCEL, asked.number, sizeof(packet));
    weft_endpoint_t *through = weft_endpoint_of_vci(endpoint, cancel->vci);
    if (through->link->send(through, header, &packet))
        return true;
    endpoint->asked--;
    asked.number = 0;
    asked.of = NULL;
    return false;
}

/* Ask for one. The answer of the process itself comes before this returns. False: no room. */
static bool cancel_ask(weft_cancellable_t *cancel)
{
    int vci = cancel->vci; /* its request may be gone before it is left */
    bool has_entered = weft_vci_enter(vci), is_asked = ask_in_vci(cancel);
    weft_vci_leave(vci, has_entered);
    return is_asked;
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
    bool has_entered = weft_vci_enter(cancel->vci);
    const sent_entry_t *entry = find_logged(cancel);
    weft_endpoint_t *logged = entry == NULL ? NULL : entry->endpoint;
    weft_vci_leave(cancel->vci, has_entered);
    if (cancel->is_under_way || (cancel_is_eager(cancel) && logged == NULL))
        return false;
    cancel->is_under_way = true;
    cancel->request = request;
    cancel->endpoint = endpoint;
    if (cancel_is_eager(cancel)) {
        cancel->endpoint = logged;
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
        int vci = weft_vci_of(send->args.context);
        bool has_entered = weft_vci_enter(vci);
        wefti_send_dequeue(send);
        weft_vci_leave(vci, has_entered);
        weft_status_set_cancelled(&request->status, true);
        wefti_send_stop(send);
    }
}

/* ---- requests of messages that went out at once ---- */

static inline void give_sent(sent_t *sent)
{
    sent_log_t *log = &logs[sent->cancel.vci];
    weft_cancellable[sent->cancel.vci].sends--;
    sent->next = log->prepared;
    log->prepared = sent;
}

static void sent_release(weft_request_t *request)
{
    sent_t *sent = (sent_t *)request;
    if (__builtin_expect(sent->was_cancelled, 0)) {
        wefti_cancel_forget(&sent->cancel);
        weft_pool_give(&sents, sent);
        return;
    }
    int vci = sent->cancel.vci;
    bool has_entered = weft_vci_enter(vci);
    give_sent(sent);
    weft_vci_leave(vci, has_entered);
}

static void sent_cancel(weft_request_t *request)
{
    sent_t *sent = (sent_t *)request;
    sent->was_cancelled = true;
    wefti_cancel_begin(&sent->cancel, request, NULL);
}

static const weft_request_ops_t sent_ops = {
    .name = "send", .release = sent_release, .cancel = sent_cancel};

static sent_t *make_sent(void)
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

weft_request_t *weft_sent_take(weft_endpoint_t *endpoint, uint32_t context, int tag)
{
    int vci = weft_vci_of(context);
    sent_t *sent = logs[vci].prepared;
    if (__builtin_expect(sent == NULL, 0))
        return NULL;
    logs[vci].prepared = sent->next;
    sent->request.object.kind = WEFT_KIND_REQUEST;
    sent->cancel.number = weft_sent_log(endpoint, context, tag);
    weft_cancellable[vci].sends++;
    return &sent->request;
}

/* For the next messages of a VCI. */
static __attribute__((noinline)) void prepare_some(int vci)
{
    for (int i = 0; i < PREPARED_AT_ONCE; i++) {
        sent_t *sent = make_sent();
        if (sent == NULL)
            return;
        sent->cancel.vci = vci;
        sent->next = logs[vci].prepared;
        logs[vci].prepared = sent;
    }
}

weft_request_t *weft_sent_create(weft_endpoint_t *endpoint, uint32_t context, int tag)
{
    int vci = weft_vci_of(context);
    bool has_entered = weft_vci_enter(vci);
    if (__builtin_expect(logs[vci].prepared == NULL, 0))
        prepare_some(vci);
    weft_request_t *request = weft_sent_take(endpoint, context, tag);
    weft_vci_leave(vci, has_entered);
    return request != NULL ? request : &weft_request_done;
}

bool wefti_sent_is_prepared(int vci)
{
    return logs[vci].prepared != NULL;
}

int wefti_sent_vci(const weft_request_t *request)
{
    return request->ops == &sent_ops ? ((const sent_t *)request)->cancel.vci : 0;
}

bool wefti_sent_end(weft_request_t *request)
{
    sent_t *sent = (sent_t *)request;
    if (sent->was_cancelled)
        return false;
    request->object.kind = WEFT_FREED;
    give_sent(sent);
    return true;
}

void wefti_cancels_close(void)
{
    weft_list_init(&cancels);
    asked.number = 0;
    asked.of = NULL;
    is_blocked = false;
    for (int vci = 0; vci < WEFT_VCIS; vci++) {
        weft_cancellable[vci].sends = 0;
        logs[vci].prepared = NULL;
    }
    weft_pool_close(&sents);
}
