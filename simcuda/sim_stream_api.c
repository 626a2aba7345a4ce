/* SPDX-License-Identifier: BSD-3-Clause */
/* The streams' entry points: create, query, synchronise, destroy; which stream a handle names. */
#include "sim_stream.h"

#include <stdlib.h>

static sim_stream_t *create_stream(sim_context_t *context, unsigned flags, int priority)
{
    sim_stream_t *stream = sim_object_create(SIM_STREAM, sizeof(*stream));
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = sim_next_id();
    stream->queue = context->device->streams++;
    sim_condition_init(&stream->has_work);
    stream->next_in_context = context->streams;
    context->streams = stream;
    return stream;
}

sim_stream_t *sim_null_stream(sim_context_t *context)
{
    if (context->null_stream == NULL) {
        context->null_stream = create_stream(context, CU_STREAM_DEFAULT, 0);
        context->null_stream->is_legacy = true;
    }
    return context->null_stream;
}

/* ---- CU_STREAM_PER_THREAD ---- */

typedef struct mine {
    struct mine *next;
    sim_stream_t *stream; /* may be destroyed: its context may have ended */
} mine_t;

static pthread_key_t mine_key;
static pthread_once_t mine_once = PTHREAD_ONCE_INIT;

static bool is_alive(const mine_t *mine)
{
    const sim_stream_t *stream = sim_object_find(SIM_STREAM, mine->stream);
    return stream != NULL && stream->is_per_thread;
}

static void end_mine(void *list)
{
    sim_lock();
    for (mine_t *mine = list, *next; mine != NULL; mine = next) {
        next = mine->next;
        if (is_alive(mine))
            sim_stream_end(mine->stream);
        free(mine);
    }
    sim_unlock();
}

static void create_key(void)
{
    pthread_key_create(&mine_key, end_mine);
}

static sim_stream_t *my_stream(sim_context_t *context)
{
    pthread_once(&mine_once, create_key);
    mine_t *list = pthread_getspecific(mine_key);
    for (mine_t *mine = list; mine != NULL; mine = mine->next) {
        if (is_alive(mine) && mine->stream->context == context)
            return mine->stream;
    }
    mine_t *mine = sim_alloc(sizeof(*mine));
    *mine = (mine_t){.next = list, .stream = create_stream(context, CU_STREAM_DEFAULT, 0)};
    mine->stream->is_per_thread = true;
    pthread_setspecific(mine_key, mine);
    return mine->stream;
}

static _Thread_local bool null_is_mine;

void sim_null_is_mine(bool is_mine)
{
    null_is_mine = is_mine;
}

CUresult sim_stream_of(CUstream handle, sim_stream_t **out)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (handle == NULL && null_is_mine)
        handle = CU_STREAM_PER_THREAD;
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        *out = sim_null_stream(context);
    else if (handle == CU_STREAM_PER_THREAD)
        *out = my_stream(context);
    else if ((*out = sim_object_find(SIM_STREAM, handle)) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    return (*out)->context->error;
}

/* ---- entry points ---- */

static CUresult create_in_current(CUstream *out, unsigned flags, int priority)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce_device(context->device);
    *out = (CUstream)create_stream(context, flags,
                                   priority > 0    ? 0
                                   : priority < -5 ? -5
                                                   : priority);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : create_in_current(out, flags, 0));
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : create_in_current(out, flags, priority));
}

static CUresult destroy(CUstream handle)
{
    sim_stream_t *stream = sim_object_find(SIM_STREAM, handle);
    if (stream == NULL || stream->is_legacy || stream->is_per_thread)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_stream_end(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : destroy(handle));
}

/* Begins a call that fills in `out` about a stream. */
static CUresult begin_about(const char *name, CUstream handle, const void *out,
                            sim_stream_t **stream)
{
    CUresult result = sim_begin(name);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : sim_stream_of(handle, stream);
}

CUresult cuStreamGetPriority(CUstream handle, int *out)
{
    sim_stream_t *stream;
    CUresult result = begin_about(__func__, handle, out, &stream);
    if (result == CUDA_SUCCESS)
        *out = stream->priority;
    return sim_end(result);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *out)
{
    sim_stream_t *stream;
    CUresult result = begin_about(__func__, handle, out, &stream);
    if (result == CUDA_SUCCESS)
        *out = stream->flags;
    return sim_end(result);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *out)
{
    sim_stream_t *stream;
    CUresult result = begin_about(__func__, handle, out, &stream);
    if (result == CUDA_SUCCESS)
        *out = stream->id;
    return sim_end(result);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    sim_stream_t *stream;
    CUresult result = begin_about(__func__, handle, out, &stream);
    if (result == CUDA_SUCCESS)
        *out = (CUcontext)stream->context;
    return sim_end(result);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *out)
{
    sim_stream_t *stream;
    CUresult result = begin_about(__func__, handle, out, &stream);
    if (result == CUDA_SUCCESS)
        *out = stream->context->device->ordinal;
    return sim_end(result);
}

/* The op whose end makes a stream idle, with a reference; NULL: the stream is idle. The legacy
 * stream stands for all blocking ones, so it gets a marker, which awaits these. */
static sim_op_t *last_op(sim_stream_t *stream)
{
    sim_op_t *op;
    if (stream->is_legacy)
        sim_enqueue(stream, NULL, NULL, &op);
    else
        op = sim_op_retain(stream->last);
    if (op == NULL || !op->is_done)
        return op;
    sim_op_release(op);
    return NULL;
}

static CUresult may_await(sim_stream_t *stream)
{
    if (stream->capture != NULL)
        return sim_spoil_capture(stream);
    CUresult result = sim_may_enqueue(stream);
    return result ? result : sim_unsafe_call();
}

static CUresult synchronize(CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = may_await(stream);
    if (result != CUDA_SUCCESS)
        return result;
    sim_context_t *context = stream->context;
    sim_op_t *op = last_op(stream);
    if (op != NULL)
        sim_op_wait(op);
    sim_op_release(op);
    return context->error;
}

CUresult cuStreamSynchronize(CUstream handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : synchronize(handle));
}

static CUresult query(CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = may_await(stream);
    if (result != CUDA_SUCCESS)
        return result;
    sim_op_t *op = stream->is_legacy ? NULL : last_op(stream);
    for (sim_stream_t *other = stream->context->streams;
         stream->is_legacy && op == NULL && other != NULL; other = other->next_in_context) {
        if ((other->flags & CU_STREAM_NON_BLOCKING) == 0 && other->first != NULL)
            op = sim_op_retain(other->last);
    }
    if (op == NULL)
        return CUDA_SUCCESS;
    sim_op_asked(op);
    sim_op_release(op);
    return CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : query(handle));
}
