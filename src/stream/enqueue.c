/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/enqueue.h"

#include "stream/conduit.h"
#include "stream/enqueued_private.h"
#include "base/fail.h"
#include "base/memory.h"

/* ---- the stream ---- */

/* The error that an earlier operation has left to be returned; the call that returns it enqueues
 * nothing. */
static int old_error(weft_stream_t *stream)
{
    int error = stream->error;
    if (error == MPI_SUCCESS)
        return MPI_SUCCESS;
    weft_fail(error, "nothing was enqueued, as an operation that was before has failed: %s",
              stream->why == NULL ? "no memory to say why" : stream->why);
    weft_free(stream->why);
    stream->why = NULL;
    stream->error = MPI_SUCCESS;
    return error;
}

static int find_stream(const weft_comm_t *comm, weft_stream_t **out)
{
    weft_stream_t *stream = weft_stream_of_comm(comm);
    if (stream == NULL)
        return weft_fail(MPI_ERR_COMM, "comm has no stream: it must be made by "
                                       "MPIX_Stream_comm_create");
    if (stream->is_freed)
        return weft_fail(MPI_ERR_COMM, "the stream of comm was freed (MPIX_Stream_free)");
    if (stream->users == NULL)
        return weft_fail(MPI_ERR_COMM, "the stream of comm is no device's: MPIX_Stream_create was "
                                       "not given the info keys \"type\" and \"value\"");
    int err = old_error(stream);
    if (err == MPI_SUCCESS)
        *out = stream;
    return err;
}

static int create_record(const char *name, weft_comm_t *comm, enqueued_t **out)
{
    weft_stream_t *stream = NULL;
    int err = find_stream(comm, &stream);
    if (err != MPI_SUCCESS)
        return err;
    *out = wefti_enqueued_create(name, comm, stream);
    return *out == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* If the program gets a request, it holds a reference. */
static int enqueue_record(enqueued_t *record, weft_request_t **out)
{
    if (out == NULL)
        return wefti_enqueued_put(record, true);
    weft_object_retain(&record->request.object);
    int err = wefti_enqueued_put(record, false);
    if (err == MPI_SUCCESS)
        *out = &record->request;
    else
        wefti_enqueued_release(record);
    return err;
}

/* ---- what runs ---- */

static void stream_running_is_over(weft_request_t *running, void *owner)
{
    enqueued_t *record = owner;
    int err = weft_request_result(running);
    record->request.status = running->status;
    weft_request_release(running);
    wefti_enqueued_over(record, err);
}

static int watch_request(enqueued_t *record, weft_request_t *running, int err)
{
    if (err == MPI_SUCCESS)
        weft_request_watch(running, stream_running_is_over, record);
    return err;
}

static void stream_awaits_nothing(enqueued_t *record)
{
    (void)record;
}

/* ---- sends ---- */

static int stream_begin_send(enqueued_t *record)
{
    weft_request_t *running = NULL;
    int err = weft_send_begin(&record->of.send, &running);
    return watch_request(record, running, err);
}

static void stream_drop_send(enqueued_t *record)
{
    weft_type_release(record->of.send.type);
}

static const enqueued_ops_t send_ops = {stream_begin_send, stream_awaits_nothing, stream_drop_send};

int weft_enqueue_send(const char *name, const weft_send_args_t *args, weft_request_t **out)
{
    enqueued_t *record;
    int err = create_record(name, args->comm, &record);
    if (err != MPI_SUCCESS)
        return err;
    record->ops = &send_ops;
    record->of.send = *args;
    weft_type_retain(args->type);
    return enqueue_record(record, out);
}

/* ---- receives ---- */

static int stream_begin_recv(enqueued_t *record)
{
    weft_request_t *running = NULL;
    int err = weft_recv_begin(&record->of.recv, &running);
    return watch_request(record, running, err);
}

static void stream_drop_recv(enqueued_t *record)
{
    weft_type_release(record->of.recv.type);
}

static const enqueued_ops_t recv_ops = {stream_begin_recv, stream_awaits_nothing, stream_drop_recv};

int weft_enqueue_recv(const char *name, const weft_recv_args_t *args, MPI_Status *status,
                      weft_request_t **out)
{
    enqueued_t *record;
    int err = create_record(name, args->comm, &record);
    if (err != MPI_SUCCESS)
        return err;
    record->ops = &recv_ops;
    record->of.recv = *args;
    record->status = status;
    record->has_status = status != MPI_STATUS_IGNORE;
    weft_type_retain(args->type);
    return enqueue_record(record, out);
}

/* ---- collectives ---- */

static int stream_begin_coll(enqueued_t *record)
{
    weft_request_t *running = NULL;
    int err = weft_coll_begin(record->of.coll.coll, &record->of.coll.args, &running);
    return watch_request(record, running, err);
}

static void stream_drop_coll(enqueued_t *record)
{
    const weft_coll_args_t *args = &record->of.coll.args;
    if (args->send_type != NULL)
        weft_type_release(args->send_type);
    if (args->recv_type != NULL)
        weft_type_release(args->recv_type);
    if (args->op != NULL)
        weft_op_release(args->op);
    weft_free(record->of.coll.counts);
}

static const enqueued_ops_t coll_ops = {stream_begin_coll, stream_awaits_nothing, stream_drop_coll};

static void retain(const weft_coll_args_t *args)
{
    if (args->send_type != NULL)
        weft_type_retain(args->send_type);
    if (args->recv_type != NULL)
        weft_type_retain(args->recv_type);
    if (args->op != NULL)
        weft_op_retain(args->op);
}

/* The array of counts is copied, as the program may change it when the call returns. */
static int copy_counts(const weft_coll_args_t *args, MPI_Count **out)
{
    size_t size = (size_t)args->comm->size;
    *out = NULL;
    if (args->recv_counts.at == NULL)
        return MPI_SUCCESS;
    MPI_Count *counts = weft_alloc_array(size, sizeof(*counts));
    if (counts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %zu counts", size);
    for (size_t i = 0; i < size; i++)
        counts[i] = weft_count_at(args->recv_counts, i);
    *out = counts;
    return MPI_SUCCESS;
}

static int enqueue_coll_record(const char *name, weft_coll_t coll, const weft_coll_args_t *args,
                               weft_stream_t *stream, weft_request_t **out)
{
    MPI_Count *counts;
    int err = copy_counts(args, &counts);
    if (err != MPI_SUCCESS)
        return err;
    enqueued_t *record = wefti_enqueued_create(name, args->comm, stream);
    if (record == NULL) {
        weft_free(counts);
        return MPI_ERR_NO_MEM;
    }
    record->ops = &coll_ops;
    record->of.coll.coll = coll;
    record->of.coll.args = *args;
    record->of.coll.counts = counts;
    if (counts != NULL)
        record->of.coll.args.recv_counts = weft_counts_wide(counts);
    retain(args);
    return enqueue_record(record, out);
}

int weft_enqueue_coll(const char *name, weft_coll_t coll, const weft_coll_args_t *args,
                      weft_request_t **out)
{
    weft_stream_t *stream;
    int err = find_stream(args->comm, &stream);
    if (out != NULL)
        *out = NULL;
    if (err != MPI_SUCCESS || weft_conduit_put(stream, coll, args, &err))
        return err;
    return enqueue_coll_record(name, coll, args, stream, out);
}

/* ---- waits ---- */

static MPI_Status *enqueued_status_at(const enqueued_t *record, int i)
{
    MPI_Status *statuses = record->of.wait.statuses;
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* The first error. If there are several requests, the statuses tell which of them failed. */
static int collect_result(enqueued_t *record)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < record->of.wait.count; i++) {
        const enqueued_t *target = record->of.wait.targets[i];
        MPI_Status status = target == NULL ? weft_status_empty() : target->request.status;
        if (enqueued_status_at(record, i) != MPI_STATUS_IGNORE)
            *enqueued_status_at(record, i) = status;
        if (err == MPI_SUCCESS && status.MPI_ERROR != MPI_SUCCESS) {
            err = weft_request_result(&target->request);
            err = record->of.wait.count > 1 ? MPI_ERR_IN_STATUS : err;
        }
    }
    return err;
}

static void stream_target_is_over(enqueued_t *record)
{
    if (--record->of.wait.missing == 0)
        wefti_enqueued_over(record, collect_result(record));
}

static int stream_begin_wait(enqueued_t *record)
{
    /* one is added so that the record is not over before all requests were looked at */
    record->of.wait.missing = 1;
    for (int i = 0; i < record->of.wait.count; i++) {
        enqueued_t *target = record->of.wait.targets[i];
        if (target == NULL || target->request.is_complete)
            continue;
        target->waiter = record;
        record->of.wait.missing++;
    }
    stream_target_is_over(record);
    return MPI_SUCCESS;
}

static void stream_drop_wait(enqueued_t *record)
{
    for (int i = 0; i < record->of.wait.count; i++) {
        if (record->of.wait.targets[i] != NULL)
            wefti_enqueued_release(record->of.wait.targets[i]);
    }
    weft_free(record->of.wait.targets);
}

static const enqueued_ops_t wait_ops = {stream_begin_wait, stream_target_is_over, stream_drop_wait};

static int check_target(const enqueued_t *target, const enqueued_t *first, uint64_t capture)
{
    if (target->stream != first->stream)
        return weft_fail(MPI_ERR_REQUEST, "the requests are of two streams, but must be of one: "
                                          "wait for those of each stream by a call of its own");
    if (target->capture == capture)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_REQUEST,
                     capture == 0
                         ? "the request is of an operation that was captured into a graph: "
                           "it must be waited for in the same capture"
                         : "the request is of an operation that is not part of the capture "
                           "in which it is waited for");
}

static int find_targets(const weft_enqueue_wait_t *args, enqueued_t **targets,
                        enqueued_t **first_out)
{
    enqueued_t *first = NULL;
    for (int i = 0; i < args->count; i++) {
        weft_request_t *request = weft_request_of(args->handles[i]);
        targets[i] = (enqueued_t *)request;
        if (request != NULL && !wefti_is_enqueued(request))
            return weft_fail(MPI_ERR_REQUEST,
                             "the request is of a %s, but must come from "
                             "MPIX_Isend_enqueue or another MPIX_I..._enqueue",
                             request->ops->name);
        if (first == NULL)
            first = targets[i];
    }
    *first_out = first;
    return MPI_SUCCESS;
}

static int check_targets(int count, enqueued_t *const *targets, const enqueued_t *first)
{
    uint64_t capture;
    int err = wefti_capture_of(first->stream, &capture);
    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        if (targets[i] != NULL)
            err = check_target(targets[i], first, capture);
    }
    return err;
}

/* Puts a wait into the stream. Its record holds references of its own to the targets. */
static int put_wait(const weft_enqueue_wait_t *args, enqueued_t **targets, enqueued_t *first)
{
    enqueued_t *record = wefti_enqueued_create(args->name, first->request.comm, first->stream);
    if (record == NULL) {
        weft_free(targets);
        return MPI_ERR_NO_MEM;
    }
    record->ops = &wait_ops;
    record->of.wait.count = args->count;
    record->of.wait.targets = targets;
    record->of.wait.statuses = args->statuses;
    record->has_status = args->statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; i < args->count; i++) {
        if (targets[i] != NULL)
            weft_object_retain(&targets[i]->request.object);
    }
    return enqueue_record(record, NULL);
}

static void give_handles_up(const weft_enqueue_wait_t *args)
{
    for (int i = 0; i < args->count; i++) {
        weft_request_t *request = weft_request_of(args->handles[i]);
        if (request == NULL)
            continue;
        request->object.kind = WEFT_FREED;
        wefti_enqueued_release((enqueued_t *)request);
    }
}

static void give_empty_request(const weft_enqueue_wait_t *args)
{
    for (int i = 0; i < args->count && args->statuses != MPI_STATUSES_IGNORE; i++)
        args->statuses[i] = weft_status_empty();
}

int weft_enqueue_wait(weft_enqueue_wait_t *args)
{
    enqueued_t *first = NULL;
    enqueued_t **targets = weft_alloc_array((size_t)args->count, sizeof(*targets));
    if (targets == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d requests", args->count);
    int err = find_targets(args, targets, &first);
    args->comm = err == MPI_SUCCESS && first != NULL ? first->request.comm : NULL;
    if (err == MPI_SUCCESS && first != NULL)
        err = check_targets(args->count, targets, first);
    if (err == MPI_SUCCESS && first != NULL)
        err = old_error(first->stream);
    if (err != MPI_SUCCESS || first == NULL) {
        weft_free(targets);
        give_empty_request(err == MPI_SUCCESS ? args : &(weft_enqueue_wait_t){.count = 0});
        return err;
    }
    err = put_wait(args, targets, first);
    if (err == MPI_SUCCESS)
        give_handles_up(args);
    return err;
}
