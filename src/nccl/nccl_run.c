/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls go into streams. The calls of a group are put there together:
 *
 *   lead     .. wait for the group's other streams, and for the communicator's last operation
 *            .. sends and receives begin | collectives, one after the other | wait for the sends
 *               and receives
 *   others   .. wait for the lead
 *
 * The lead is the first stream that the group's calls on a communicator name. All operations of a
 * communicator are in order, whatever their streams, because each stream waits for a mark behind
 * the operation before. What belongs to different captures (or to one and to none) cannot wait for
 * each other; there the program orders its launches.
 */
#include "nccl/nccl_private.h"

#include "stream/enqueue.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

static nccl_call_t *call_at(weft_link_t *link)
{
    return WEFT_ELEMENT(link, nccl_call_t, link);
}

static bool is_message(const nccl_call_t *call)
{
    return call->kind == NCCL_SEND || call->kind == NCCL_RECV;
}

static int note_first(int err, int more)
{
    return err == MPI_SUCCESS ? more : err;
}

/* ---- marks; the lock is released meanwhile ---- */

static int put_mark(weft_stream_t *stream, void **mark)
{
    weft_unlock();
    int err = weft_device->streams->put_mark(stream->users, mark);
    weft_lock();
    return err;
}

static int follow(weft_stream_t *stream, void *mark)
{
    weft_unlock();
    int err = weft_device->streams->follow(stream->users, mark);
    weft_lock();
    return err;
}

static int capture_of(weft_stream_t *stream, uint64_t *out)
{
    return weft_device->streams->capture(stream->users, out);
}

/* ---- before and after the operations of a communicator ---- */

static int check_same_capture(const nccl_call_t *call)
{
    uint64_t own, lead;
    int err = capture_of(call->stream, &own);
    if (err == MPI_SUCCESS)
        err = capture_of(call->comm->lead, &lead);
    if (err == MPI_SUCCESS && own != lead)
        err = weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                        "%s names stream %p, which is not part of the same capture as the first "
                        "stream of the group: expected is that all streams are captured into one "
                        "graph, or none is",
                        call->name, (void *)call->handle);
    return err;
}

static int choose_leads(weft_list_t *calls)
{
    int err = MPI_SUCCESS;
    for (weft_link_t *link = calls->next; link != calls && err == MPI_SUCCESS; link = link->next) {
        err = wefti_nccl_check_usable(call_at(link)->comm);
        if (err == MPI_SUCCESS)
            call_at(link)->comm->lead = NULL;
    }
    for (weft_link_t *link = calls->next; link != calls && err == MPI_SUCCESS; link = link->next) {
        nccl_call_t *call = call_at(link);
        if (call->comm->lead == NULL)
            call->comm->lead = call->stream;
        else if (call->comm->lead != call->stream)
            err = check_same_capture(call);
    }
    return err;
}

/* The first call of the list on its communicator, and in its stream? */
static bool is_first(weft_list_t *calls, const nccl_call_t *call, bool in_stream)
{
    weft_link_t *link = calls->next;
    while (call_at(link)->comm != call->comm ||
           (in_stream && call_at(link)->stream != call->stream))
        link = link->next;
    return call_at(link) == call;
}

static int join_stream(const nccl_call_t *call)
{
    void *mark = NULL;
    int err = put_mark(call->stream, &mark);
    if (err == MPI_SUCCESS)
        err = follow(call->comm->lead, mark);
    weft_device->streams->drop_mark(call->stream->users, mark);
    return err;
}

/* What went wrong before stands in the way of nothing. */
static int begin_comm(ncclComm_t comm)
{
    uint64_t capture;
    int err = capture_of(comm->lead, &capture);
    weft_stream_attach(comm->lead, comm->mpi);
    if (err != MPI_SUCCESS)
        return err;
    nccl_place_t *place = &comm->latest[capture != 0];
    comm->place = place;
    if (place->stream != NULL && place->stream != comm->lead && place->capture == capture)
        err = follow(comm->lead, place->mark);
    place->capture = capture;
    return err;
}

static int begin_streams(weft_list_t *calls)
{
    int err = MPI_SUCCESS;
    for (weft_link_t *link = calls->next; link != calls && err == MPI_SUCCESS; link = link->next) {
        nccl_call_t *call = call_at(link);
        if (call->stream != call->comm->lead && is_first(calls, call, true))
            err = join_stream(call);
        if (err == MPI_SUCCESS && is_first(calls, call, false))
            err = begin_comm(call->comm);
    }
    return err;
}

static int end_comm_run(ncclComm_t comm)
{
    int err = put_mark(comm->lead, &comm->place->mark);
    comm->place->stream = err == MPI_SUCCESS ? comm->lead : NULL;
    return err;
}

static int end_streams(weft_list_t *calls)
{
    int err = MPI_SUCCESS;
    for (weft_link_t *link = calls->next; link != calls; link = link->next) {
        nccl_call_t *call = call_at(link);
        if (is_first(calls, call, false))
            err = note_first(err, end_comm_run(call->comm));
        const nccl_place_t *place = call->comm->place;
        if (call->stream != call->comm->lead && place->stream != NULL &&
            is_first(calls, call, true))
            err = note_first(err, follow(call->stream, place->mark));
    }
    return err;
}

/* ---- sends and receives ---- */

/* `out` NULL: the stream waits. */
static int enqueue_message(const nccl_call_t *call, weft_request_t **out)
{
    weft_comm_t *mpi = call->comm->mpi;
    weft_send_args_t send = {.buf = call->send,
                             .count = call->count,
                             .type = call->type,
                             .comm = mpi,
                             .context = mpi->context,
                             .dest = call->peer};
    weft_recv_args_t recv = {.buf = call->recv,
                             .count = call->count,
                             .type = call->type,
                             .comm = mpi,
                             .context = mpi->context,
                             .source = call->peer};
    return call->kind == NCCL_SEND ? weft_enqueue_send(call->name, &send, out)
                                   : weft_enqueue_recv(call->name, &recv, MPI_STATUS_IGNORE, out);
}

static int begin_messages(weft_list_t *calls, MPI_Request *requests)
{
    int err = MPI_SUCCESS, i = 0;
    for (weft_link_t *link = calls->next; link != calls; link = link->next, i++) {
        weft_request_t *request = NULL;
        requests[i] = MPI_REQUEST_NULL;
        if (!is_message(call_at(link)))
            continue;
        err = note_first(err, enqueue_message(call_at(link), &request));
        if (request != NULL)
            requests[i] = weft_request_handle(request);
    }
    return err;
}

static int await_messages_of(weft_list_t *calls, ncclComm_t comm, const MPI_Request *requests,
                             MPI_Request *own)
{
    int count = 0, i = 0;
    for (weft_link_t *link = calls->next; link != calls; link = link->next, i++) {
        if (call_at(link)->comm == comm && requests[i] != MPI_REQUEST_NULL)
            own[count++] = requests[i];
    }
    weft_enqueue_wait_t args = {
        .name = "ncclGroupEnd", .count = count, .handles = own, .statuses = MPI_STATUSES_IGNORE};
    return count == 0 ? MPI_SUCCESS : weft_enqueue_wait(&args);
}

static int await_messages(weft_list_t *calls, const MPI_Request *requests, MPI_Request *own)
{
    int err = MPI_SUCCESS;
    for (weft_link_t *link = calls->next; link != calls; link = link->next) {
        if (is_first(calls, call_at(link), false))
            err = note_first(err, await_messages_of(calls, call_at(link)->comm, requests, own));
    }
    return err;
}

/* How many more sends to itself than receives from itself the calls have on a communicator. */
static int excess_of_own_sends(weft_list_t *calls, const struct ncclComm *comm)
{
    int excess = 0;
    for (weft_link_t *link = calls->next; link != calls; link = link->next) {
        const nccl_call_t *call = call_at(link);
        if (call->comm == comm && is_message(call) && call->peer == comm->mpi->rank)
            excess += call->kind == NCCL_SEND ? 1 : -1;
    }
    return excess;
}

static int check_own_messages(weft_list_t *calls)
{
    for (weft_link_t *link = calls->next; link != calls; link = link->next) {
        const nccl_call_t *call = call_at(link);
        int excess = is_message(call) ? excess_of_own_sends(calls, call->comm) : 0;
        if (excess != 0 && call->peer == call->comm->mpi->rank)
            return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                             "peer is %d, this rank itself, but there are %d more %s than %s: "
                             "expected are as many of both, in one group",
                             call->peer, excess > 0 ? excess : -excess,
                             excess > 0 ? "sends" : "receives", excess > 0 ? "receives" : "sends");
    }
    return MPI_SUCCESS;
}

/* ---- all of it ---- */

static int run_colls(weft_list_t *calls)
{
    int err = MPI_SUCCESS;
    for (weft_link_t *link = calls->next; link != calls; link = link->next) {
        if (!is_message(call_at(link)))
            err = note_first(err, wefti_nccl_run_coll(call_at(link)));
    }
    return err;
}

static int run_many(weft_list_t *calls)
{
    size_t count = 0;
    for (weft_link_t *link = calls->next; link != calls; link = link->next)
        count++;
    MPI_Request *requests = weft_alloc_array(2 * count, sizeof(*requests));
    if (requests == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %zu calls", count);
    int err = begin_messages(calls, requests);
    err = note_first(err, run_colls(calls));
    err = note_first(err, await_messages(calls, requests, requests + count));
    weft_free(requests);
    return err;
}

static int run_one(nccl_call_t *call)
{
    return is_message(call) ? enqueue_message(call, NULL) : wefti_nccl_run_coll(call);
}

int wefti_nccl_run(weft_list_t *calls)
{
    int err = choose_leads(calls);
    if (err == MPI_SUCCESS)
        err = check_own_messages(calls);
    if (err == MPI_SUCCESS)
        err = begin_streams(calls);
    if (err != MPI_SUCCESS)
        return err;
    bool is_one = calls->next->next == calls;
    err = is_one ? run_one(call_at(calls->next)) : run_many(calls);
    return note_first(err, end_streams(calls));
}
