/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending. The first half is the path of a small message: no request, no queue, one call of the
 * transport. Whatever cannot go out at once becomes a weft_send_t and goes on in progress.
 */
#include "pt2pt/device_private.h"

#include "runtime/failures.h"
#include "runtime/progress.h"
#include "datatype/pack.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/pool.h"

#include <stdio.h>
#include <string.h>

static weft_pool_t sends = WEFT_POOL(weft_send_t);

/* ---- requests ---- */

static void send_release(weft_request_t *request)
{
    weft_send_t *send = (weft_send_t *)request;
    wefti_cancel_forget(&send->cancel);
    weft_type_release(send->args.type);
    weft_comm_release(send->args.comm);
    weft_pool_give(&sends, send);
}

static int send_start(weft_request_t *request);

static const weft_request_ops_t send_ops = {
    .name = "send", .release = send_release, .start = send_start, .cancel = wefti_send_cancel};

static int create_send(const weft_send_args_t *args, weft_send_t **out)
{
    weft_send_t *send = weft_pool_take(&sends);
    if (send == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a send request");
    weft_request_init(&send->request, &send_ops, args->comm);
    send->args = *args;
    send->device = NULL;
    send->cancel = (weft_cancellable_t){0};
    weft_type_retain(args->type);
    weft_comm_retain(args->comm);
    *out = send;
    return MPI_SUCCESS;
}

static void deregister(weft_send_t *send)
{
    if (__builtin_expect(send->is_registered, 0))
        send->endpoint->remote->deregister_memory(send->endpoint, &send->registration);
    send->is_registered = false;
    send->announced_ns = 0;
}

/* Has an eager message gone out? */
static bool is_sent_eagerly(const weft_send_t *send)
{
    return send->stage == WEFT_SEND_FIRST && send->cancel.number != 0 &&
           send->request.status.MPI_ERROR == MPI_SUCCESS &&
           !weft_status_is_cancelled(&send->request.status);
}

/* The answer to an MPI_Cancel completes a send whose message has become an eager one meanwhile. */
static bool awaits_answer(weft_send_t *send)
{
    if (send->request.status.MPI_ERROR != MPI_SUCCESS && send->cancel.is_under_way)
        wefti_cancel_forget(&send->cancel);
    return send->cancel.is_under_way && send->cancel.is_counted;
}

static void finish_send(weft_send_t *send)
{
    wefti_pt2pt.active_sends--;
    send->cancel.is_announced = false;
    if (is_sent_eagerly(send) && !send->cancel.is_counted)
        wefti_cancel_count(&send->cancel);
    send->stage = WEFT_SEND_FIRST; /* so that a late answer is dropped */
    deregister(send);
    if (__builtin_expect(send->device != NULL, 0))
        wefti_device_send_end(send);
    bool is_over = !awaits_answer(send);
    if (__builtin_expect(send->is_unwanted && send->cancel.is_counted, 0) &&
        wefti_cancel_begin(&send->cancel, &send->request, send->endpoint))
        is_over = false;
    if (__builtin_expect(is_over, 1))
        weft_request_complete(&send->request); /* this may begin other sends */
    wefti_note_idle();
}

void wefti_send_finish(weft_send_t *send)
{
    finish_send(send);
}

/* ---- packets ---- */

static bool send_eager(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    weft_endpoint_t *endpoint = send->through;
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER, (uint32_t)send->bytes, args->context, args->tag);
    if (args->type->is_dense)
        return endpoint->link->send(endpoint, header, args->buf);
    void *room = endpoint->link->reserve(endpoint, send->bytes);
    if (room == NULL)
        return false;
    weft_pack(args->buf, args->count, args->type, 0, room, send->bytes);
    endpoint->link->commit(endpoint, header);
    return true;
}

/* May a message of up to `most` bytes go without asking the receiver? */
static bool goes_unasked(const weft_send_t *send, size_t most)
{
    return send->bytes <= most && send->args.mode == WEFT_SEND_STANDARD &&
           !send->through->is_throttled;
}

/* ---- one step ---- */

void wefti_send_give_control(weft_send_t *send)
{
    weft_free(send->payload);
    weft_pool_give(&sends, send);
}

static bool push_control(weft_send_t *send)
{
    const void *payload = send->payload != NULL ? send->payload : &send->cts;
    if (!send->endpoint->link->send(send->endpoint, send->header, payload))
        return false;
    wefti_send_give_control(send);
    return true;
}

/* Send all data that may go out so far, and end the send if that was the last of them. The next CTS
 * of a message to the process itself may come during this: since is_queued is set, it does not push
 * the send again. */
static bool push_more(weft_send_t *send)
{
    send->is_queued = true;
    if (!(send->device != NULL ? wefti_device_send_stream(send) : wefti_stream_push(send)))
        return false;
    send->is_queued = false;
    if (send->device != NULL)
        wefti_device_send_go_on(send);
    else if (send->sent == send->bytes)
        finish_send(send);
    return true;
}

static bool push_uncounted(weft_send_t *send)
{
    if (__builtin_expect(send->device != NULL, 0))
        return wefti_device_send_push(send);
    const weft_endpoint_t *endpoint = send->through;
    bool is_short = send->bytes > endpoint->at_once_max && send->bytes <= WEFT_SPLIT_MOST &&
                    goes_unasked(send, endpoint->split_max);
    bool is_read = is_short && wefti_send_is_read(send);
    size_t most = send->args.is_blocking ? endpoint->blocking_max : endpoint->eager_max;
    if (!is_read && goes_unasked(send, most)) {
        if (!send_eager(send))
            return false;
        finish_send(send);
        return true;
    }
    if (is_short && !is_read)
        return wefti_split_push(send);
    send->stage = WEFT_SEND_RTS_OUT; /* before: to the process itself the answer comes at once */
    if (is_short ? wefti_send_announce_short(send) : wefti_send_announce(send))
        return true;
    send->stage = WEFT_SEND_FIRST;
    return false;
}

/* The send may be over, and its communicator gone, when it is out. */
static bool push_message(weft_send_t *send)
{
    if (__builtin_expect(weft_traffic_watched == 0, 1))
        return push_uncounted(send);
    int process = weft_comm_process(send->args.comm, send->args.dest);
    size_t bytes = send->bytes;
    bool is_out = push_uncounted(send);
    if (is_out || send->stage == WEFT_SEND_SPLIT)
        weft_traffic_note_sent(process, bytes);
    return is_out;
}

/* One step of a send, which may end it; false when there is no room. */
bool wefti_send_push(weft_send_t *send)
{
    if (send->stage == WEFT_SEND_CONTROL)
        return push_control(send);
    if (send->stage == WEFT_SEND_STREAM)
        return push_more(send);
    if (send->stage == WEFT_SEND_SPLIT)
        return wefti_split_push(send);
    if ((send->args.context & 1) != 0)
        return push_message(send);
    uint64_t number = weft_sent_log(send->endpoint, send->args.context, send->args.tag);
    send->cancel.number = number;
    send->cancel.vci = weft_vci_of(send->args.context);
    if (push_message(send))
        return true;
    if (send->stage == WEFT_SEND_SPLIT)
        return false;
    wefti_unlog_message(send->args.context, number);
    send->cancel.number = 0;
    return false;
}

/* Send at once, or when there is room, after all that waits already. */
static void push_or_enqueue(weft_send_t *send)
{
    if (wefti_sends_to(wefti_send_next(send))->waiting_first != NULL || !wefti_send_push(send))
        wefti_send_enqueue(send);
}

/* ---- answers ---- */

/* A packet that found no room. The caller adds its payload. */
static weft_send_t *enqueue_control(weft_endpoint_t *endpoint, const weft_header_t *header)
{
    weft_send_t *send = weft_pool_take(&sends);
    if (send == NULL)
        weft_out_of_memory("the answer to a message", sizeof(*send));
    send->request.object.kind = WEFT_FREED; /* so that no answer can name it */
    send->endpoint = send->through = endpoint;
    send->stage = WEFT_SEND_CONTROL;
    send->header = *header;
    send->payload = NULL;
    wefti_send_enqueue(send);
    return send;
}

/* Answers overtake what waits in the list, since that may wait for a device, and not for room. */
static bool send_without_request(weft_endpoint_t *endpoint, const weft_header_t *header,
                                 const void *payload)
{
    return endpoint->is_lost || endpoint->link->send(endpoint, *header, payload);
}

/* A control packet that found no room; `payload` may be NULL if it is empty. */
static void enqueue_payload(weft_endpoint_t *endpoint, const weft_header_t *header,
                            const void *payload)
{
    weft_send_t *send = enqueue_control(endpoint, header);
    void *room = &send->cts;
    if (header->bytes > sizeof(send->cts))
        room = send->payload = weft_alloc(header->bytes);
    if (room == NULL)
        weft_out_of_memory("the answer to a message", header->bytes);
    if (header->bytes > 0)
        memcpy(room, payload, header->bytes);
}

static void send_or_enqueue(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    if (!send_without_request(endpoint, &header, payload))
        enqueue_payload(endpoint, &header, payload);
}

void wefti_send_answer(weft_endpoint_t *endpoint, uint8_t kind, uint64_t request,
                       const weft_cts_t *cts)
{
    send_or_enqueue(endpoint, weft_header_for(kind, request, cts == NULL ? 0 : sizeof(*cts)), cts);
}

void wefti_send_was_read(weft_endpoint_t *endpoint, uint64_t request, const weft_fin_t *fin)
{
    size_t bytes = fin == NULL ? 0 : sizeof(*fin);
    send_or_enqueue(endpoint, weft_header_for(WEFT_PACKET_FIN, request, bytes), fin);
}

void wefti_send_in_order(weft_endpoint_t *endpoint, const weft_header_t *header,
                         const void *payload)
{
    if (wefti_sends_to(endpoint)->waiting_first != NULL ||
        !send_without_request(endpoint, header, payload))
        enqueue_payload(endpoint, header, payload);
}

void wefti_send_error(weft_endpoint_t *endpoint, uint8_t kind, uint64_t request,
                      const weft_request_t *failed)
{
    weft_packet_error_t packet_error = wefti_packet_error(failed);
    send_or_enqueue(endpoint, weft_header_for(kind, request, sizeof(packet_error)), &packet_error);
}

/* Unlike an answer it has its place among the messages to this peer. */
void weft_send_failed_data(const weft_send_args_t *args, int error)
{
    weft_packet_error_t packet_error = {.error_class = error};
    weft_endpoint_t *endpoint = wefti_message_endpoint(args);
    if (endpoint == NULL)
        return;
    snprintf(packet_error.text, sizeof(packet_error.text), "%s", weft_fail_text());
    weft_header_t header =
        weft_header(WEFT_PACKET_ERROR, sizeof(packet_error), args->context, args->tag);
    bool has_entered = weft_vci_enter(endpoint->vci);
    if (wefti_sends_to(endpoint)->waiting_first != NULL ||
        !send_without_request(endpoint, &header, &packet_error))
        enqueue_payload(endpoint, &header, &packet_error);
    weft_vci_leave(endpoint->vci, has_entered);
}

/* The send that an answer names, if that is what it waits for. */
static weft_send_t *answered_send(int source, const weft_header_t *header, bool may_stream)
{
    weft_send_t *send = (weft_send_t *)(uintptr_t)weft_header_number(header);
    if (weft_pool_owns(&sends, send) && send->request.object.kind == WEFT_KIND_REQUEST &&
        send->endpoint == weft_process_reached(source)) {
        if (send->stage == WEFT_SEND_RTS_OUT) {
            send->endpoint->asked--;
            return send;
        }
        if (may_stream && send->stage == WEFT_SEND_STREAM)
            return send;
    }
    if (!weft_has_failed(source)) /* else the send has ended with that */
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped an answer that belongs to no send");
    return NULL;
}

void wefti_send_cts(int source, const weft_header_t *header, const void *payload)
{
    weft_send_t *send = answered_send(source, header, true);
    if (send == NULL)
        return;
    memcpy(&send->cts, payload, sizeof(send->cts));
    if (send->cts.cannot_map)
        wefti_sends_to(send->endpoint)->cannot_map = true;
    if (send->stage != WEFT_SEND_STREAM) {
        deregister(send);
        send->sent = 0;
        send->stage = WEFT_SEND_STREAM;
    }
    if (send->device != NULL) {
        wefti_device_send_cts(send);
        return;
    }
    if (send->cts.limit == 0 && send->cts.reads_shelf)
        wefti_send_answer(send->endpoint, WEFT_PACKET_NO_SHELF, send->cts.request, NULL);
    send->ready = send->cts.limit < send->bytes ? send->cts.limit : send->bytes;
    wefti_send_more(send);
}

void wefti_send_more(weft_send_t *send)
{
    if (!send->is_queued && send->sent < send->ready)
        push_or_enqueue(send);
}

/* The copy itself is no reason to wait for: between far cores the first one takes 20 to 90 us. */
static void note_wait(const weft_send_t *send, const weft_header_t *header, const void *payload)
{
    weft_fin_t fin;
    if (!send->args.is_blocking || header->bytes != sizeof(fin))
        return;
    memcpy(&fin, payload, sizeof(fin));
    uint64_t waited_ns = (uint64_t)fin.began_ns - (uint64_t)send->announced_ns;
    send->endpoint->remote->note_wait(send->endpoint, (int64_t)waited_ns);
}

void wefti_send_fin(int source, const weft_header_t *header, const void *payload)
{
    weft_send_t *send = answered_send(source, header, false);
    if (send == NULL)
        return;
    if (send->announced_ns != 0) {
        note_wait(send, header, payload);
        send->stage = WEFT_SEND_FIRST; /* over, as an eager message is */
    }
    finish_send(send);
}

void wefti_send_nack(int source, const weft_header_t *header, const void *payload)
{
    weft_send_t *send = answered_send(source, header, false);
    if (send == NULL)
        return;
    wefti_note_packet_error(&send->request, payload, header->bytes);
    finish_send(send);
}

/* ---- beginning ---- */

static int activate_send(weft_send_t *send)
{
    const weft_send_args_t *args = &send->args;
    if (args->dest == MPI_PROC_NULL) {
        weft_request_complete(&send->request);
        return MPI_SUCCESS;
    }
    send->endpoint = weft_comm_endpoint(args->comm, args->dest);
    send->through = wefti_message_endpoint(args);
    if (send->endpoint == NULL)
        return MPI_ERR_OTHER;
    if (send->endpoint->is_lost)
        return wefti_fail_lost(weft_comm_process(args->comm, args->dest));
    send->bytes = args->count * args->type->size;
    send->is_registered = false;
    send->is_queued = send->is_asked = send->is_unwanted = false;
    send->stage = WEFT_SEND_FIRST;
    send->sent = 0;
    send->announced_ns = 0;
    if (send->bytes > 0 && wefti_sends_device(args) && wefti_device_send_begin(send) != MPI_SUCCESS)
        return MPI_ERR_NO_MEM;
    wefti_pt2pt.active_sends++;
    int vci = weft_vci_of(args->context); /* the send may be over before it is left */
    bool has_entered = weft_vci_enter(vci);
    push_or_enqueue(send);
    weft_vci_leave(vci, has_entered);
    return MPI_SUCCESS;
}

static int send_start(weft_request_t *request)
{
    wefti_cancel_forget(&((weft_send_t *)request)->cancel);
    weft_request_restart(request);
    return activate_send((weft_send_t *)request);
}

static int begin_slowly(const weft_send_args_t *args, weft_request_t **out)
{
    weft_send_t *send;
    int err = create_send(args, &send);
    if (err != MPI_SUCCESS)
        return err;
    *out = &send->request;
    err = activate_send(send);
    if (err != MPI_SUCCESS)
        weft_request_release(&send->request);
    return err;
}

/* A message that did not go out at once, or goes to MPI_PROC_NULL. */
static int begin_otherwise(const weft_send_args_t *args, weft_request_t **out)
{
    if (args->dest != MPI_PROC_NULL)
        return begin_slowly(args, out);
    *out = &weft_request_done;
    return MPI_SUCCESS;
}

/* The process that a message goes to; NULL: none, or it cannot be reached. */
static inline weft_endpoint_t *endpoint_of(const weft_send_args_t *args)
{
    return args->dest == MPI_PROC_NULL ? NULL : weft_comm_endpoint(args->comm, args->dest);
}

static inline bool __attribute__((always_inline))
push_at_once(const weft_send_args_t *args, weft_endpoint_t *endpoint, size_t bytes)
{
    size_t most = wefti_sends_device(args) ? endpoint->eager_max : endpoint->at_once_max;
    if (!args->type->is_dense || args->mode != WEFT_SEND_STANDARD || bytes > most ||
        !weft_takes_unasked(endpoint))
        return false;
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER, (uint32_t)bytes, args->context, args->tag);
    return wefti_sends_device(args) ? wefti_device_send_at_once(endpoint, args)
                                    : endpoint->link->send(endpoint, header, args->buf);
}

/* The path of a small message: true when it was sent. `sent`: gets a request, unless it is NULL. */
static inline bool __attribute__((always_inline))
send_at_once(const weft_send_args_t *args, weft_endpoint_t *endpoint, weft_request_t **sent)
{
    if (__builtin_expect(endpoint == NULL, 0))
        return false;
    size_t bytes = args->count * args->type->size;
    int vci = weft_vci_of(args->context);
    bool has_entered = weft_vci_enter(vci);
    bool is_out = push_at_once(args, weft_endpoint_of_vci(endpoint, vci), bytes);
    if (is_out && sent != NULL)
        *sent = weft_sent_create(endpoint, args->context, args->tag);
    else if (is_out)
        weft_sent_note(endpoint, args->context, args->tag);
    weft_vci_leave(vci, has_entered);
    if (__builtin_expect(weft_traffic_watched != 0, 0) && is_out)
        weft_traffic_note_sent(weft_comm_process(args->comm, args->dest), bytes);
    return is_out;
}

int weft_send_begin(const weft_send_args_t *args, weft_request_t **out)
{
    if (__builtin_expect(!send_at_once(args, endpoint_of(args), NULL), 0))
        return begin_otherwise(args, out);
    *out = &weft_request_done;
    return MPI_SUCCESS;
}

int weft_isend_begin(const weft_send_args_t *args, weft_request_t **out)
{
    if (__builtin_expect(!send_at_once(args, endpoint_of(args), out), 0))
        return begin_otherwise(args, out);
    return MPI_SUCCESS;
}

static int send_slowly(const weft_send_args_t *args)
{
    weft_send_args_t slow = *args;
    weft_request_t *request;
    slow.is_blocking = true;
    int err = begin_otherwise(&slow, &request);
    if (err != MPI_SUCCESS)
        return err;
    return weft_request_finish(request, MPI_STATUS_IGNORE);
}

int weft_send(const weft_send_args_t *args)
{
    weft_endpoint_t *endpoint = endpoint_of(args);
    if (__builtin_expect(!send_at_once(args, endpoint, NULL), 0))
        return send_slowly(args);
    weft_endpoint_flush(endpoint); /* the program may leave MPI for long */
    return MPI_SUCCESS;
}

int weft_send_init(const weft_send_args_t *args, weft_request_t **out)
{
    weft_send_t *send;
    int err = create_send(args, &send);
    if (err != MPI_SUCCESS)
        return err;
    weft_request_make_persistent(&send->request);
    *out = &send->request;
    return MPI_SUCCESS;
}

void wefti_send_stop(weft_send_t *send)
{
    if (send->device == NULL || wefti_device_send_stop(send))
        finish_send(send);
}

typedef struct visitor {
    void (*visit)(weft_send_t *send, void *context);
    void *context;
} visitor_t;

static void visit_active(void *object, void *context)
{
    const visitor_t *visitor = context;
    weft_send_t *send = object;
    weft_request_t *request = &send->request;
    if (request->object.kind == WEFT_KIND_REQUEST && request->is_active && !request->is_complete &&
        (!send->cancel.is_counted || send->cancel.is_announced)) /* else it waits for its CANCEL */
        visitor->visit(send, visitor->context);
}

void wefti_sends_each(void (*visit)(weft_send_t *send, void *context), void *context)
{
    weft_pool_each(&sends, visit_active, &(visitor_t){visit, context});
}

void wefti_sends_close(void)
{
    wefti_send_queues_close();
    weft_pool_close(&sends);
}
