/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream.h"

#include "stream/conduit.h"
#include "stream/stream_private.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "mpi.h"

#include <string.h>

static weft_pool_t streams = WEFT_POOL(weft_stream_t);
static int stream_slot; /* the slot of communicators that holds their stream */
weft_list_t wefti_streams = {&wefti_streams, &wefti_streams};

weft_stream_t *weft_stream_of(const void *handle)
{
    weft_stream_t *stream = (weft_stream_t *)handle;
    if (weft_is_predefined(handle) || stream->object.kind != WEFT_KIND_STREAM || stream->is_freed)
        return NULL;
    return stream;
}

/* ---- making ---- */

static int open_device(weft_stream_t *stream, const void *handle, size_t bytes)
{
    if (handle == NULL)
        return MPI_SUCCESS;
    if (weft_device == NULL)
        return weft_fail(MPI_ERR_OTHER, "info key \"type\" is \"cudaStream_t\", but the use of "
                                        "devices is switched off (WEFT_DEVICE=no)");
    int err = weft_device->streams->open(handle, bytes, &stream->users);
    if (err != MPI_SUCCESS)
        return err;
    err = wefti_stream_thread_start();
    if (err != MPI_SUCCESS)
        weft_device->streams->close(stream->users);
    return err;
}

int weft_stream_create(const void *handle, size_t bytes, weft_stream_t **out)
{
    weft_stream_t *stream = weft_pool_take(&streams);
    if (stream == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a stream");
    memset(stream, 0, sizeof(*stream));
    int err = open_device(stream, handle, bytes);
    if (err != MPI_SUCCESS) {
        weft_pool_give(&streams, stream);
        return err;
    }
    weft_object_init(&stream->object, WEFT_KIND_STREAM);
    weft_list_init(&stream->waiting);
    weft_list_append(&wefti_streams, &stream->link);
    *out = stream;
    return MPI_SUCCESS;
}

/* ---- references ---- */

/* An error that no call has returned is logged, so that it is not lost. */
static void close_handle(weft_stream_t *stream)
{
    if (stream->error != MPI_SUCCESS)
        WEFT_LOG(WEFT_WARN, "stream",
                 "an operation in a stream that was freed since has failed: %s",
                 stream->why == NULL ? "no memory to say why" : stream->why);
    weft_free(stream->why);
    if (stream->users != NULL)
        weft_device->streams->close(stream->users);
    weft_list_remove(&stream->link);
    stream->object.kind = WEFT_FREED;
    weft_pool_give(&streams, stream);
}

void weft_stream_retain(weft_stream_t *stream)
{
    weft_object_retain(&stream->object);
}

void weft_stream_release(weft_stream_t *stream)
{
    if (weft_object_drop(&stream->object))
        close_handle(stream);
}

void weft_stream_free(weft_stream_t *stream)
{
    stream->is_freed = true;
    weft_stream_release(stream);
}

static void detach_stream(weft_comm_t *comm, void *state)
{
    (void)comm;
    weft_stream_release(state);
}

int weft_streams_open(void)
{
    stream_slot = weft_comm_slot_register("stream", detach_stream);
    return stream_slot < 0 ? MPI_ERR_INTERN : weft_conduits_open();
}

void weft_stream_attach(weft_stream_t *stream, weft_comm_t *comm)
{
    weft_stream_t *before = comm->slot[stream_slot];
    weft_stream_retain(stream);
    comm->slot[stream_slot] = stream;
    if (before != NULL)
        weft_stream_release(before);
}

weft_stream_t *weft_stream_of_comm(const weft_comm_t *comm)
{
    return comm->slot[stream_slot];
}

/* ---- the end ---- */

/* The library learns that a graph was launched only when the stream reaches the graph's first
 * operation, and does not hear of kernels at all, so it waits for all work in the streams. */
static void await_graphs(void)
{
    weft_link_t *link = wefti_streams.next;
    while (link != &wefti_streams) {
        weft_stream_t *stream = WEFT_ELEMENT(link, weft_stream_t, link);
        weft_stream_retain(stream);
        if (stream->is_captured || stream->has_kernels) {
            weft_unlock();
            weft_device->streams->drain(stream->users);
            weft_lock();
        }
        link = link->next;
        weft_stream_release(stream);
    }
}

void weft_streams_end(void)
{
    if (!wefti_stream_thread_runs())
        return;
    await_graphs();
    while (!wefti_enqueued_is_idle()) {
        wefti_all_is_over = false;
        wefti_stream_await(&wefti_all_is_over);
    }
    wefti_stream_thread_end();
    wefti_tickets_collect();
    wefti_enqueued_end();
    weft_conduits_end();
}

/* Communicators that the program has not freed have held their streams until now. */
void weft_streams_close(void)
{
    while (!weft_list_is_empty(&wefti_streams))
        close_handle(WEFT_ELEMENT(wefti_streams.next, weft_stream_t, link));
    wefti_enqueued_close();
    weft_conduits_close();
    weft_pool_close(&streams);
}
