/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that are captured: their work becomes nodes. Events draw further streams into a capture.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

struct sim_capture {
    sim_capture_t *next;
    uint64_t id;
    sim_graph_t *graph;
    CUstreamCaptureMode mode;
    sim_stream_t *origin; /* the stream on which it began */
    pthread_t thread;     /* that began it */
    bool is_spoilt;
};

static sim_capture_t *captures;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- frontiers ---- */

static void set_frontier(sim_stream_t *stream, sim_node_t *const *nodes, size_t count)
{
    sim_node_t **frontier = sim_alloc(count * sizeof(*frontier));
    if (count > 0)
        memcpy(frontier, nodes, count * sizeof(*frontier));
    free(stream->frontier);
    stream->frontier = frontier;
    stream->frontier_count = count;
}

static void add_to_frontier(sim_stream_t *stream, sim_node_t *const *nodes, size_t count)
{
    sim_node_t **all = sim_alloc((stream->frontier_count + count) * sizeof(*all));
    size_t total = stream->frontier_count;
    if (total > 0)
        memcpy(all, stream->frontier, total * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < total && all[k] != nodes[i])
            k++;
        if (k == total)
            all[total++] = nodes[i];
    }
    set_frontier(stream, all, total);
    free(all);
}

static void join(sim_stream_t *stream, sim_capture_t *capture)
{
    stream->capture = capture;
    set_frontier(stream, NULL, 0);
    if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0)
        stream->context->captures++;
}

static void leave(sim_stream_t *stream)
{
    if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0)
        stream->context->captures--;
    stream->capture = NULL;
    free(stream->frontier);
    stream->frontier = NULL;
    stream->frontier_count = 0;
}

/* ---- calls while streams are captured ---- */

static sim_capture_t *capture_of(uint64_t id)
{
    sim_capture_t *capture = captures;
    while (capture != NULL && capture->id != id)
        capture = capture->next;
    return capture;
}

CUresult sim_capture_add(sim_stream_t *stream, sim_work_t *work)
{
    if (stream->capture->is_spoilt) {
        sim_work_release(work);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    sim_node_t *node =
        sim_graph_add(stream->capture->graph, work, stream->frontier, stream->frontier_count);
    set_frontier(stream, &node, 1);
    return CUDA_SUCCESS;
}

CUresult sim_spoil_capture(sim_stream_t *stream)
{
    stream->capture->is_spoilt = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* A relaxed capture forbids nothing, and a relaxed thread may do everything. */
static bool forbids(const sim_capture_t *capture)
{
    bool is_own = pthread_equal(capture->thread, pthread_self()) != 0;
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return is_own || (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_unsafe_call(void)
{
    CUresult result = CUDA_SUCCESS;
    for (sim_capture_t *capture = captures; capture != NULL; capture = capture->next) {
        if (!forbids(capture))
            continue;
        capture->is_spoilt = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

void sim_spoil_blocking(const sim_context_t *context)
{
    for (const sim_stream_t *stream = context->streams; stream != NULL;
         stream = stream->next_in_context) {
        if (stream->capture != NULL && (stream->flags & CU_STREAM_NON_BLOCKING) == 0)
            stream->capture->is_spoilt = true;
    }
}

/* ---- events ---- */

static CUresult add_event_node(sim_stream_t *stream, CUgraphNodeType type, sim_event_t *event)
{
    sim_work_t *work = sim_work_create(stream->context, type, sizeof(sim_named_event_t));
    *(sim_named_event_t *)work->arguments = (sim_named_event_t){(CUevent)event};
    return sim_capture_add(stream, work);
}

CUresult sim_capture_record(sim_stream_t *stream, sim_event_t *event, unsigned flags)
{
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0)
        return add_event_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    if (stream->capture->is_spoilt)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    sim_event_forget_capture(event);
    event->capture_id = stream->capture->id;
    event->captured_count = stream->frontier_count;
    event->captured = sim_alloc(stream->frontier_count * sizeof(*event->captured));
    if (stream->frontier_count > 0)
        memcpy(event->captured, stream->frontier,
               stream->frontier_count * sizeof(*event->captured));
    return CUDA_SUCCESS;
}

/* A captured stream cannot wait for an event that was recorded outside the capture. */
static CUresult await_outside(sim_stream_t *stream, const sim_event_t *event)
{
    if (event->op == NULL && event->shared == NULL)
        return CUDA_SUCCESS;
    stream->capture->is_spoilt = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

CUresult sim_capture_wait(sim_stream_t *stream, sim_event_t *event, unsigned flags)
{
    sim_capture_t *capture = capture_of(event->capture_id);
    if (stream->capture != NULL && (flags & CU_EVENT_WAIT_EXTERNAL) != 0)
        return add_event_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    if (stream->capture != NULL && event->capture_id == 0)
        return await_outside(stream, event);
    if (capture == NULL)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (stream->is_legacy)
        capture->is_spoilt = true;
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->is_spoilt = capture->is_spoilt = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (capture->is_spoilt)
        return stream->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
                                 : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture == NULL)
        join(stream, capture);
    add_to_frontier(stream, event->captured, event->captured_count);
    return CUDA_SUCCESS;
}

CUresult sim_capture_asked(sim_event_t *event)
{
    sim_capture_t *capture = capture_of(event->capture_id);
    if (capture == NULL) /* it has ended */
        return CUDA_ERROR_INVALID_VALUE;
    capture->is_spoilt = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

/* ---- begin and end ---- */

static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->is_legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    sim_capture_t *capture = sim_alloc(sizeof(*capture));
    *capture = (sim_capture_t){.next = captures,
                               .id = sim_next_id(),
                               .graph = sim_graph_create(),
                               .mode = mode,
                               .origin = stream,
                               .thread = pthread_self()};
    captures = capture;
    join(stream, capture);
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : begin(stream, mode));
}

static void mark_needed(const sim_node_t *node, bool *is_needed)
{
    if (is_needed[node->index])
        return;
    is_needed[node->index] = true;
    for (size_t i = 0; i < node->need_count; i++)
        mark_needed(node->needs[i], is_needed);
}

/* Whether all that was captured comes before the end of the stream on which it began. */
static bool is_joined(const sim_capture_t *capture)
{
    const sim_graph_t *graph = capture->graph;
    bool *is_needed = sim_alloc(graph->count), all = true;
    for (size_t i = 0; i < capture->origin->frontier_count; i++)
        mark_needed(capture->origin->frontier[i], is_needed);
    for (size_t i = 0; i < graph->count; i++)
        all = all && is_needed[i];
    free(is_needed);
    return all;
}

static void leave_if_of(void *object, void *capture)
{
    sim_stream_t *stream = object;
    if (stream->capture == capture)
        leave(stream);
}

/* Ends a capture; its graph becomes the caller's. */
static void finish(sim_capture_t *capture)
{
    sim_capture_t **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    sim_object_each(SIM_STREAM, leave_if_of, capture);
    free(capture);
}

static CUresult end(CUstream handle, CUgraph *out)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    sim_capture_t *capture = stream->capture;
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture->origin != stream) {
        capture->is_spoilt = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(capture->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->is_spoilt)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    sim_graph_t *graph = capture->graph;
    finish(capture);
    *out = result == CUDA_SUCCESS ? (CUgraph)graph : NULL;
    if (result != CUDA_SUCCESS)
        sim_graph_release(graph);
    return result;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : end(stream, out));
}

void sim_capture_leave(sim_stream_t *stream)
{
    sim_capture_t *capture = stream->capture;
    capture->is_spoilt = true;
    if (capture->origin != stream) {
        leave(stream);
        return;
    }
    sim_graph_t *graph = capture->graph;
    finish(capture);
    sim_graph_release(graph);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS &&
        (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        CUstreamCaptureMode before = thread_mode;
        thread_mode = *mode;
        *mode = before;
    }
    return sim_end(result);
}

/* ---- queries ---- */

static CUresult find_asked(CUstream handle, sim_stream_t **out)
{
    CUresult result = sim_stream_of(handle, out);
    return result ? result : sim_is_free_of_captures(*out);
}

static CUstreamCaptureStatus status_of(const sim_stream_t *stream)
{
    if (stream->capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->is_spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out)
{
    sim_stream_t *stream;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = find_asked(handle, &stream);
    if (result == CUDA_SUCCESS)
        *out = status_of(stream);
    return sim_end(result);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **needs_out, const CUgraphEdgeData **edges_out,
                                   size_t *count_out)
{
    sim_stream_t *stream;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && status_out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = find_asked(handle, &stream);
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    *status_out = status_of(stream);
    if (*status_out != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return sim_end(CUDA_SUCCESS);
    if (id_out != NULL)
        *id_out = stream->capture->id;
    if (graph_out != NULL)
        *graph_out = (CUgraph)stream->capture->graph;
    if (needs_out != NULL)
        *needs_out = (const CUgraphNode *)stream->frontier;
    if (edges_out != NULL)
        *edges_out = NULL;
    if (count_out != NULL)
        *count_out = stream->frontier_count;
    return sim_end(CUDA_SUCCESS);
}
