/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/enqueued_private.h"

#include "stream/stream_private.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/pool.h"

#include <string.h>

/* A stream holds about 1000 entries, and a driver call that finds its stream full blocks while it
 * holds the driver's locks. So at most this many operations, of two entries each, may wait in one
 * stream, and a call that would add another one waits here. */
enum { WAITING_MOST = 256 };

static weft_pool_t records = WEFT_POOL(enqueued_t);
/* Records to which a driver may still refer: captured ones, and those that were given up. */
static weft_list_t kept = {&kept, &kept};
static int unfinished;
static int with_gates; /* of these */
static int unreached;  /* operations without gates that streams have not reached */
bool wefti_all_is_over;

static const weft_device_stream_ops_t *enqueued_run(void)
{
    return weft_device->streams;
}

/* ---- records ---- */

static void stream_release_handle(weft_request_t *request)
{
    wefti_enqueued_release((enqueued_t *)request);
}

/* Cancelling does nothing: peers count on the operation, and the stream waits for it. */
static const weft_request_ops_t request_ops = {.name = "operation in a stream",
                                               .release = stream_release_handle,
                                               .cancel = weft_request_cannot_cancel};

bool wefti_is_enqueued(const weft_request_t *request)
{
    return request->ops == &request_ops;
}

enqueued_t *wefti_enqueued_create(const char *name, weft_comm_t *comm, weft_stream_t *stream)
{
    enqueued_t *record = weft_pool_take(&records);
    if (record == NULL) {
        weft_fail(MPI_ERR_NO_MEM, "no memory for an operation in a stream");
        return NULL;
    }
    memset(record, 0, sizeof(*record));
    weft_request_init(&record->request, &request_ops, comm);
    weft_comm_retain(comm);
    weft_stream_retain(stream);
    record->name = name;
    record->stream = stream;
    return record;
}

void wefti_enqueued_release(enqueued_t *record)
{
    if (!weft_object_drop(&record->request.object))
        return;
    record->request.object.kind = WEFT_FREED;
    wefti_ticket_void(record->ticket);
    if (record->capture != 0 && record->has_gate)
        enqueued_run()->remove_gate(&record->gate);
    weft_request_forget_error(&record->request);
    record->ops->drop(record);
    weft_comm_release(record->request.comm);
    weft_stream_release(record->stream);
    weft_pool_give(&records, record);
}

bool wefti_enqueued_is_idle(void)
{
    return unfinished == 0;
}

bool wefti_enqueued_may_be_lost(void)
{
    return unreached > 0 && with_gates == 0;
}

static void count_unfinished(bool has_gate, int more)
{
    unfinished += more;
    with_gates += has_gate ? more : 0;
    if (unfinished > 0)
        return;
    wefti_all_is_over = true;
    weft_progress_notify();
}

void wefti_enqueued_end(void)
{
    for (weft_link_t *link; (link = weft_list_pop(&kept)) != NULL;)
        wefti_enqueued_release(WEFT_ELEMENT(link, enqueued_t, link));
}

void wefti_enqueued_close(void)
{
    weft_pool_close(&records);
}

/* ---- its place in the stream ---- */

int wefti_capture_of(weft_stream_t *stream, uint64_t *out)
{
    return enqueued_run()->capture(stream->users, out);
}

void wefti_stream_begin_feeding(weft_stream_t *stream)
{
    while (stream->is_being_fed) {
        stream->is_free_to_feed = false;
        wefti_stream_await(&stream->is_free_to_feed);
    }
    stream->is_being_fed = true;
}

void wefti_stream_end_feeding(weft_stream_t *stream)
{
    stream->is_being_fed = false;
    stream->is_free_to_feed = true;
    weft_progress_notify();
}

static void await_room(weft_stream_t *stream)
{
    while (stream->waiting_count >= WAITING_MOST) {
        stream->has_room = false;
        wefti_stream_await(&stream->has_room);
    }
}

static void enter_stream(enqueued_t *record)
{
    if (record->capture != 0) {
        weft_list_append(&kept, &record->link);
        record->stream->is_captured = true;
        return;
    }
    weft_list_append(&record->stream->waiting, &record->link);
    record->stream->waiting_count++;
    unreached += !record->has_gate;
    if (!record->has_gate && unreached == 1)
        wefti_stream_ring(); /* the thread begins to look after them */
    count_unfinished(record->has_gate, 1);
}

static void leave_stream(enqueued_t *record)
{
    weft_list_remove(&record->link);
    if (record->capture != 0)
        return;
    record->stream->waiting_count--;
    unreached -= !record->has_gate;
    record->stream->has_room = true;
    weft_progress_notify();
}

static void take_back(enqueued_t *record)
{
    leave_stream(record);
    if (record->has_gate)
        enqueued_run()->open_gate(&record->gate);
    if (record->capture == 0)
        count_unfinished(record->has_gate, -1);
}

static int prepare(enqueued_t *record, bool has_gate)
{
    weft_stream_t *stream = record->stream;
    int err = wefti_capture_of(stream, &record->capture);
    if (err == MPI_SUCCESS && record->capture == 0)
        await_room(stream);
    else
        wefti_tickets_collect();
    if (err == MPI_SUCCESS && has_gate)
        err = enqueued_run()->make_gate(stream->users, record->capture != 0, &record->gate);
    record->has_gate = err == MPI_SUCCESS && has_gate;
    return err;
}

static void enqueued_has_no_graph(void *owner)
{
    enqueued_t *record = owner;
    record->ticket = NULL;
    wefti_enqueued_graph_gone(record);
}

/* The lock is released meanwhile: the driver may block while the stream is full of the program's
 * work, which may wait for work of the library's thread. Once the host function is in the stream,
 * the record belongs to that thread. */
static int put_record(enqueued_t *record, bool *is_there_out)
{
    weft_user_stream_t *users = record->stream->users;
    weft_gate_t gate = record->gate;
    weft_ticket_t *ticket =
        record->capture == 0 ? NULL : wefti_ticket_create(enqueued_has_no_graph, record);
    bool has_gate = record->has_gate;
    record->ticket = ticket;
    weft_unlock();
    bool is_held = ticket != NULL && enqueued_run()->put_end(users, wefti_ticket_return, ticket);
    int err = enqueued_run()->put_call(users, wefti_stream_arrived, record);
    bool is_there = err == MPI_SUCCESS;
    if (is_there && has_gate)
        err = enqueued_run()->put_gate(users, &gate);
    weft_lock();
    if (ticket != NULL && !is_held) {
        wefti_ticket_free(ticket);
        record->ticket = NULL;
    }
    *is_there_out = is_there;
    return err;
}

int wefti_enqueued_put(enqueued_t *record, bool has_gate)
{
    weft_stream_t *stream = record->stream;
    bool is_there = false;
    weft_stream_retain(stream);
    wefti_stream_begin_feeding(stream);
    int err = prepare(record, has_gate);
    if (err == MPI_SUCCESS) {
        enter_stream(record);
        err = put_record(record, &is_there);
        if (!is_there)
            take_back(record);
    }
    wefti_stream_end_feeding(stream);
    if (!is_there)
        wefti_enqueued_release(record);
    weft_stream_release(stream);
    return err;
}

/* ---- what becomes of it ---- */

void wefti_enqueued_begin(enqueued_t *record)
{
    if (record->is_given_up)
        return;
    if (record->capture == 0) {
        leave_stream(record);
    } else { /* captured: the record is used again */
        count_unfinished(record->has_gate, 1);
        weft_request_forget_error(&record->request);
        record->request.status = weft_status_empty();
        record->request.is_complete = false;
    }
    wefti_stream_under_way(1);
    enqueued_run()->adopt(record->stream->users);
    int err = record->ops->begin(record);
    if (err != MPI_SUCCESS)
        wefti_enqueued_over(record, err);
}

void wefti_enqueued_over(enqueued_t *record, int error)
{
    record->request.status.MPI_ERROR = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        weft_request_note_error(&record->request, error);
    if (error != MPI_SUCCESS && record->has_gate)
        wefti_stream_failed(record);
    else
        wefti_enqueued_finish(record);
}

static void report_enqueued(enqueued_t *record)
{
    const MPI_Status *status = &record->request.status;
    if (record->status == MPI_STATUS_IGNORE)
        return;
    weft_status_copy(record->status, status);
    if (status->MPI_ERROR != MPI_SUCCESS)
        record->status->MPI_ERROR = status->MPI_ERROR;
}

/* A gate that opens here, the record's own or its waiter's, lets the stream come to a captured
 * record again at once. It was dealt with before that: else what follows it in the next launch
 * would begin first. */
void wefti_enqueued_finish(enqueued_t *record)
{
    enqueued_t *waiter = record->waiter;
    bool is_kept = record->capture != 0 || record->is_given_up, has_gate = record->has_gate;
    report_enqueued(record);
    if (!record->is_given_up)
        wefti_stream_dealt_with(record);
    if (record->has_gate)
        enqueued_run()->open_gate(&record->gate);
    record->waiter = NULL;
    wefti_stream_under_way(-1);
    weft_object_retain(
        &record->request.object); /* completing the request may release the program's reference */
    weft_request_complete(&record->request);
    if (waiter != NULL)
        waiter->ops->target_is_over(waiter);
    wefti_enqueued_release(record);
    if (!is_kept)
        wefti_enqueued_release(record);
    else if (record->has_no_graph)
        wefti_enqueued_graph_gone(record);
    count_unfinished(has_gate, -1);
}

void wefti_enqueued_graph_gone(enqueued_t *record)
{
    record->has_no_graph = true;
    if (atomic_load(&record->arrivals) > 0)
        return;
    weft_list_remove(&record->link);
    wefti_enqueued_release(record);
}

/* The record stays allocated, as the driver may still refer to it. */
void wefti_enqueued_give_up(enqueued_t *record, int error)
{
    leave_stream(record);
    weft_list_append(&kept, &record->link);
    record->is_given_up = true;
    wefti_stream_under_way(1);
    wefti_enqueued_over(record, error);
}
