/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_event.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

sim_event_t *sim_event_of(CUevent handle)
{
    return sim_object_find(SIM_EVENT, handle);
}

/* ---- the page that processes share ---- */

sim_shared_event_t *sim_shared_event_open(int fd)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (fd == -1 &&
        ((fd = memfd_create("simcuda", MFD_CLOEXEC)) == -1 || ftruncate(fd, (off_t)bytes) != 0))
        return NULL;
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        close(fd);
        return NULL;
    }
    sim_shared_event_t *shared = sim_alloc(sizeof(*shared));
    *shared = (sim_shared_event_t){.references = 1, .fd = fd, .page = page};
    return shared;
}

void sim_shared_event_release(sim_shared_event_t *shared)
{
    if (shared == NULL || --shared->references > 0)
        return;
    munmap(shared->page, (size_t)sysconf(_SC_PAGESIZE));
    close(shared->fd);
    free(shared);
}

typedef struct shared_step {
    sim_shared_event_t *shared;
    uint64_t number; /* of the record */
} shared_step_t;

static CUresult complete_record(sim_work_t *work)
{
    const shared_step_t *step = (shared_step_t *)work->arguments;
    uint64_t before = atomic_load(&step->shared->page->completed);
    while (before < step->number &&
           !atomic_compare_exchange_weak(&step->shared->page->completed, &before, step->number))
        ;
    return CUDA_SUCCESS;
}

static CUresult await_record(sim_work_t *work)
{
    const shared_step_t *step = (shared_step_t *)work->arguments;
    while (atomic_load(&step->shared->page->completed) < step->number)
        usleep(20);
    return CUDA_SUCCESS;
}

static void drop_step(sim_work_t *work)
{
    sim_shared_event_release(((shared_step_t *)work->arguments)->shared);
}

static sim_work_t *create_step(sim_context_t *context, sim_shared_event_t *shared, uint64_t number)
{
    sim_work_t *work = sim_work_create(context, CU_GRAPH_NODE_TYPE_EMPTY, sizeof(shared_step_t));
    *(shared_step_t *)work->arguments = (shared_step_t){shared, number};
    shared->references++;
    work->drop = drop_step;
    return work;
}

static sim_work_t *record_work(sim_context_t *context, sim_shared_event_t *shared)
{
    sim_work_t *work =
        create_step(context, shared, atomic_fetch_add(&shared->page->recorded, 1) + 1);
    work->run = complete_record;
    return work;
}

static sim_work_t *wait_work(sim_context_t *context, sim_shared_event_t *shared)
{
    sim_work_t *work = create_step(context, shared, atomic_load(&shared->page->recorded));
    work->run = await_record;
    return work;
}

/* ---- create and destroy ---- */

sim_event_t *sim_event_create(sim_context_t *context, unsigned flags)
{
    sim_event_t *event = sim_object_create(SIM_EVENT, sizeof(*event));
    event->context = context;
    event->flags = flags;
    return event;
}

void sim_event_forget_capture(sim_event_t *event)
{
    free(event->captured);
    event->captured = NULL;
    event->captured_count = 0;
    event->capture_id = 0;
}

static void release_event(sim_event_t *event)
{
    sim_event_forget_capture(event);
    sim_op_release(event->op);
    sim_shared_event_release(event->shared);
    sim_object_release(event);
}

static void end_if_of(void *object, void *context)
{
    sim_event_t *event = object;
    if (event->context == context)
        release_event(event);
}

void sim_events_end(sim_context_t *context)
{
    sim_object_each(SIM_EVENT, end_if_of, context);
}

static CUresult create_event(CUevent *out, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_shared = (flags & CU_EVENT_INTERPROCESS) != 0;
    if (out == NULL || (flags & ~known) != 0 ||
        (is_shared && (flags & CU_EVENT_DISABLE_TIMING) == 0))
        return CUDA_ERROR_INVALID_VALUE;
    sim_shared_event_t *shared = is_shared ? sim_shared_event_open(-1) : NULL;
    if (is_shared && shared == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_event_t *event = sim_event_create(context, flags);
    event->shared = shared;
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : create_event(out, flags));
}

CUresult cuEventDestroy(CUevent handle)
{
    CUresult result = sim_begin(__func__);
    sim_event_t *event = sim_event_of(handle);
    if (result == CUDA_SUCCESS && event == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        release_event(event);
    return sim_end(result);
}

/* ---- record and wait ---- */

void sim_event_record(sim_stream_t *stream, sim_event_t *event)
{
    sim_event_forget_capture(event);
    sim_op_release(event->op);
    sim_work_t *work = event->shared == NULL ? NULL : record_work(stream->context, event->shared);
    sim_enqueue(stream, work, NULL, &event->op);
}

static CUresult record(CUevent handle, CUstream stream_handle, unsigned flags)
{
    sim_stream_t *stream;
    sim_event_t *event = sim_event_of(handle);
    CUresult result = sim_stream_of(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL || event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != NULL)
        return sim_capture_record(stream, event, flags);
    result = sim_may_enqueue(stream);
    if (result == CUDA_SUCCESS)
        sim_event_record(stream, event);
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : record(event, stream, 0));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : record(event, stream, flags));
}

void sim_event_await(sim_stream_t *stream, sim_event_t *event)
{
    sim_work_t *work = event->shared == NULL ? NULL : wait_work(stream->context, event->shared);
    if (work != NULL || event->op != NULL)
        sim_enqueue(stream, work, event->op, NULL);
}

static CUresult wait_on(CUstream stream_handle, CUevent handle, unsigned flags)
{
    sim_stream_t *stream;
    sim_event_t *event = sim_event_of(handle);
    CUresult result = sim_stream_of(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != NULL || event->capture_id != 0)
        return sim_capture_wait(stream, event, flags);
    result = sim_may_enqueue(stream);
    if (result == CUDA_SUCCESS)
        sim_event_await(stream, event);
    return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : wait_on(stream, event, flags));
}

/* ---- query and synchronise ---- */

/* Another process may have recorded a shared event, so its page decides. */
static bool is_complete(const sim_event_t *event)
{
    if (event->shared != NULL)
        return atomic_load(&event->shared->page->completed) >=
               atomic_load(&event->shared->page->recorded);
    return event->op == NULL || event->op->is_done;
}

static CUresult may_ask(sim_event_t *event)
{
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture_id != 0)
        return sim_capture_asked(event);
    CUresult result = sim_unsafe_call();
    return result ? result : event->context->error;
}

static CUresult query(sim_event_t *event)
{
    CUresult result = may_ask(event);
    if (result != CUDA_SUCCESS || is_complete(event))
        return result;
    if (event->op != NULL && !event->op->is_done)
        sim_op_asked(event->op);
    return CUDA_ERROR_NOT_READY;
}

CUresult cuEventQuery(CUevent handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : query(sim_event_of(handle)));
}

static void await_page(sim_shared_event_t *shared)
{
    uint64_t number = atomic_load(&shared->page->recorded);
    shared->references++;
    sim_unlock();
    while (atomic_load(&shared->page->completed) < number)
        usleep(20);
    sim_lock();
    sim_shared_event_release(shared);
}

static CUresult synchronize(sim_event_t *event)
{
    CUresult result = may_ask(event);
    if (result != CUDA_SUCCESS)
        return result;
    sim_context_t *context = event->context;
    sim_shared_event_t *shared = event->shared;
    if (event->op != NULL)
        sim_op_wait(event->op);
    if (shared != NULL && context->error == CUDA_SUCCESS)
        await_page(shared);
    return context->error;
}

CUresult cuEventSynchronize(CUevent handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : synchronize(sim_event_of(handle)));
}

static CUresult elapsed(float *out_ms, const sim_event_t *start, const sim_event_t *end)
{
    if (out_ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (start == NULL || end == NULL ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || start->op == NULL ||
        end->op == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->op->is_done || !end->op->is_done)
        return CUDA_ERROR_NOT_READY;
    *out_ms = (float)((double)end->op->done_ns - (double)start->op->done_ns) / 1e6f;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *out_ms, CUevent start, CUevent end)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : elapsed(out_ms, sim_event_of(start), sim_event_of(end)));
}
