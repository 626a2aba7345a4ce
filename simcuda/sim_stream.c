/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of streams, their threads, and what waits for what. */
#include "sim_stream.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Signalled whenever an op is done. */
static pthread_cond_t some_done = PTHREAD_COND_INITIALIZER;

/* ---- work and ops ---- */

sim_work_t *sim_work_create(sim_context_t *context, CUgraphNodeType type, size_t bytes)
{
    sim_work_t *work = sim_alloc(sizeof(*work) + bytes);
    work->type = type;
    work->references = 1;
    work->context = context;
    return work;
}

void sim_work_release(sim_work_t *work)
{
    if (work == NULL || --work->references > 0)
        return;
    if (work->drop != NULL)
        work->drop(work);
    free(work);
}

sim_op_t *sim_op_retain(sim_op_t *op)
{
    if (op != NULL)
        op->references++;
    return op;
}

void sim_op_release(sim_op_t *op)
{
    if (op == NULL || --op->references > 0)
        return;
    free(op->awaits);
    free(op);
}

static void add_await(sim_op_t *op, sim_op_t *awaited)
{
    if (awaited == NULL || awaited->is_done)
        return;
    op->awaits = realloc(op->awaits, (op->await_count + 1) * sizeof(sim_op_t *));
    if (op->awaits == NULL)
        sim_die("no memory for %zu awaited", op->await_count + 1);
    op->awaits[op->await_count++] = sim_op_retain(awaited);
}

/* Ends the delays of `op`, of the ops before it in its stream, and of all that these await. */
static void hurry(sim_op_t *op)
{
    if (op->is_done || op->is_wanted)
        return;
    sim_op_t *before = op->stream->first;
    for (; before != NULL; before = before == op ? NULL : before->next) {
        if (before->is_wanted)
            continue;
        before->is_wanted = true;
        for (size_t i = 0; i < before->await_count; i++)
            hurry(before->awaits[i]);
        if (before->before != NULL)
            hurry(before->before);
    }
    pthread_cond_signal(&op->stream->has_work);
}

void sim_op_wait(sim_op_t *op)
{
    sim_op_retain(op);
    hurry(op);
    while (!op->is_done)
        sim_wait(&some_done);
    sim_op_release(op);
}

void sim_op_asked(sim_op_t *op)
{
    if (++op->stream->asked > 3 + sim_random() % 4)
        hurry(op);
}

/* ---- the thread of a stream ---- */

static void dawdle(sim_stream_t *stream, const sim_op_t *op)
{
    while (!op->is_wanted && sim_now() < op->late_until_ns)
        sim_wait_until(&stream->has_work, op->late_until_ns);
}

/* While this thread waits for one of them, others may go through the list in hurry(), so all are
 * kept until the end. */
static void await_others(sim_op_t *op)
{
    for (size_t i = 0; i < op->await_count; i++) {
        hurry(op->awaits[i]);
        while (!op->awaits[i]->is_done)
            sim_wait(&some_done);
    }
    for (size_t i = 0; i < op->await_count; i++)
        sim_op_release(op->awaits[i]);
    op->await_count = 0;
}

/* ---- hardware queues ---- */

static void enter_queue(sim_stream_t *stream, sim_op_t *op)
{
    unsigned queues = sim_options()->connections;
    if (queues == 0)
        return;
    sim_op_t **last = &stream->context->device->last_in_queue[stream->queue % queues];
    if (*last == NULL || (*last)->has_passed || (*last)->stream == stream)
        sim_op_release(*last);
    else
        op->before = *last;
    *last = sim_op_retain(op);
}

static void await_turn(sim_op_t *op)
{
    sim_op_t *before = op->before;
    if (before == NULL)
        return;
    while (!before->has_passed)
        sim_wait(&some_done);
    op->before = NULL;
    sim_op_release(before);
}

static void leave_queue(sim_op_t *op)
{
    op->has_passed = true;
    if (sim_options()->connections > 0)
        pthread_cond_broadcast(&some_done);
}

/* After an error a context does no more work. */
static void do_work(sim_work_t *work)
{
    if (work == NULL || work->run == NULL || work->context->error != CUDA_SUCCESS)
        return;
    sim_unlock();
    CUresult result = work->run(work);
    sim_lock();
    if (result != CUDA_SUCCESS && work->context->error == CUDA_SUCCESS)
        work->context->error = result;
}

static void conclude(sim_stream_t *stream, sim_op_t *op)
{
    op->is_done = true;
    op->has_passed = true;
    op->done_ns = sim_now();
    stream->first = op->next;
    stream->held--;
    op->next = NULL;
    stream->asked = 0;
    sim_work_release(op->work);
    op->work = NULL;
    pthread_cond_broadcast(&some_done);
    sim_op_release(op);
}

static void *serve(void *argument)
{
    sim_stream_t *stream = argument;
    sim_lock();
    for (;;) {
        while (stream->first == NULL && !stream->is_destroyed)
            sim_wait(&stream->has_work);
        sim_op_t *op = stream->first;
        if (op == NULL)
            break;
        dawdle(stream, op);
        await_turn(op);
        await_others(op);
        if (op->work == NULL || op->work->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
            leave_queue(op);
        do_work(op->work);
        conclude(stream, op);
    }
    sim_op_release(stream->last);
    pthread_cond_destroy(&stream->has_work);
    free(stream);
    sim_unlock();
    return NULL;
}

/* The thread blocks all signals: they are for the threads of the program. */
static void start_thread(sim_stream_t *stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, serve, stream) != 0)
        sim_die("no thread for a stream");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    stream->has_thread = true;
}

/* ---- giving work to streams ---- */

static bool is_blocking(const sim_stream_t *stream)
{
    return (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

/* Work of the legacy stream comes after all that is queued in blocking streams, and their later
 * work after it. */
static void await_legacy(sim_stream_t *stream, sim_op_t *op)
{
    sim_stream_t *legacy = stream->context->null_stream;
    if (!is_blocking(stream) || legacy == NULL)
        return;
    if (stream != legacy) {
        add_await(op, legacy->last);
        return;
    }
    for (sim_stream_t *other = stream->context->streams; other != NULL;
         other = other->next_in_context) {
        if (other != legacy && is_blocking(other))
            add_await(op, other->last);
    }
}

/* Without `lazy`, most delays are below a sixteenth of late_ms, and one in eight is above half of
 * it; a busy stream goes on at once in three cases of four. */
uint64_t sim_late_until(bool is_idle)
{
    const sim_options_t *options = sim_options();
    uint64_t late_ns = (uint64_t)options->late_ms * 1000000;
    if (late_ns == 0 || (!is_idle && sim_random() % 4 != 0))
        return 0;
    if (options->lazy)
        return sim_now() + late_ns;
    bool is_much = sim_random() % 8 == 0;
    return sim_now() + (is_much ? late_ns / 2 : 0) + sim_random() % (late_ns / (is_much ? 2 : 16));
}

/* Nothing says whether a call that finds its stream full keeps those of other threads out, so with
 * `strict` it does. */
static void await_room(sim_stream_t *stream)
{
    const sim_options_t *options = sim_options();
    if (options->depth == 0 || stream->held < options->depth)
        return;
    bool keeps_out = options->strict == SIM_STRICT && stream->context->device != NULL;
    if (keeps_out)
        sim_exclude(stream->context->device);
    while (stream->held >= options->depth) {
        hurry(stream->first);
        sim_wait(&some_done);
    }
    if (keeps_out)
        sim_admit();
}

void sim_enqueue(sim_stream_t *stream, sim_work_t *work, sim_op_t *awaited, sim_op_t **out)
{
    await_room(stream);
    sim_op_t *op = sim_alloc(sizeof(*op));
    bool is_idle = stream->first == NULL;
    *op = (sim_op_t){
        .references = 2, .stream = stream, .work = work, .late_until_ns = sim_late_until(is_idle)};
    add_await(op, awaited);
    await_legacy(stream, op);
    enter_queue(stream, op);
    if (is_idle)
        stream->first = op;
    else
        stream->last->next = op;
    sim_op_release(stream->last);
    stream->last = op;
    stream->held++;
    if (!stream->has_thread)
        start_thread(stream);
    pthread_cond_signal(&stream->has_work);
    if (out != NULL)
        *out = sim_op_retain(op);
}

CUresult sim_is_free_of_captures(const sim_stream_t *stream)
{
    if (stream->is_legacy && stream->context->captures > 0)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CUDA_SUCCESS;
}

CUresult sim_may_enqueue(const sim_stream_t *stream)
{
    CUresult result = sim_is_free_of_captures(stream);
    if (result != CUDA_SUCCESS)
        sim_spoil_blocking(stream->context);
    return result;
}

static CUresult submit_captured(sim_stream_t *stream, sim_work_t *work, bool wait)
{
    if (!wait)
        return sim_capture_add(stream, work);
    sim_work_release(work);
    return sim_spoil_capture(stream);
}

CUresult sim_submit(sim_stream_t *stream, sim_work_t *work, bool wait)
{
    if (stream->capture != NULL)
        return submit_captured(stream, work, wait);
    CUresult result = sim_may_enqueue(stream);
    if (result != CUDA_SUCCESS) {
        sim_work_release(work);
        return result;
    }
    sim_context_t *context = stream->context;
    sim_op_t *op;
    sim_enqueue(stream, work, NULL, &op);
    if (wait) {
        sim_op_wait(op);
        result = context->error;
    }
    sim_op_release(op);
    return result;
}

static sim_op_t *last_of(const sim_stream_t *stream)
{
    return stream->last;
}

static sim_op_t *early_of(const sim_stream_t *stream)
{
    return stream->early;
}

/* Ops to wait for; streams may come and go meanwhile. */
typedef struct ops {
    sim_op_t **list;
    size_t count;
} ops_t;

static void gather(ops_t *ops, const sim_context_t *context,
                   sim_op_t *(*of)(const sim_stream_t *stream))
{
    for (sim_stream_t *stream = context->streams; stream != NULL;
         stream = stream->next_in_context) {
        if (of(stream) == NULL)
            continue;
        ops->list = realloc(ops->list, (ops->count + 1) * sizeof(sim_op_t *));
        if (ops->list == NULL)
            sim_die("no memory to wait for %zu streams", ops->count + 1);
        ops->list[ops->count++] = sim_op_retain(of(stream));
    }
}

static void await_all(ops_t *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        sim_op_wait(ops->list[i]);
        sim_op_release(ops->list[i]);
    }
    free(ops->list);
}

CUresult sim_context_drain(sim_context_t *context)
{
    ops_t ops = {NULL, 0};
    gather(&ops, context, last_of);
    await_all(&ops);
    return context->error;
}

typedef struct work_of_device {
    const sim_device_t *device;
    ops_t ops;
} work_of_device_t;

static void gather_if_on(void *context, void *data)
{
    work_of_device_t *work = data;
    if (((sim_context_t *)context)->device == work->device)
        gather(&work->ops, context, last_of);
}

static void quiesce_all(const sim_device_t *device)
{
    work_of_device_t work = {device, {NULL, 0}};
    sim_object_each(SIM_CONTEXT, gather_if_on, &work);
    sim_exclude(device);
    await_all(&work.ops);
    sim_admit();
}

void sim_quiesce_device(const sim_device_t *device)
{
    if (sim_options()->strict == SIM_STRICT && device != NULL)
        quiesce_all(device);
}

void sim_quiesce(sim_context_t *context)
{
    if (sim_options()->strict != 0 && context->device != NULL)
        quiesce_all(context->device);
    else
        sim_context_drain(context);
}

void sim_returns_early(sim_stream_t *stream)
{
    if (stream->capture != NULL || stream->last == NULL)
        return;
    sim_op_release(stream->early);
    stream->early = sim_op_retain(stream->last);
}

void sim_await_early(sim_context_t *context)
{
    ops_t ops = {NULL, 0};
    gather(&ops, context, early_of);
    await_all(&ops);
}

/* ---- ending ---- */

void sim_stream_end(sim_stream_t *stream)
{
    sim_stream_t **link = &stream->context->streams;
    if (stream->capture != NULL)
        sim_capture_leave(stream);
    while (*link != stream)
        link = &(*link)->next_in_context;
    *link = stream->next_in_context;
    if (stream == stream->context->null_stream)
        stream->context->null_stream = NULL;
    sim_object_forget(stream);
    stream->is_destroyed = true;
    sim_op_release(stream->early);
    stream->early = NULL;
    if (stream->has_thread) {
        pthread_cond_signal(&stream->has_work);
        return;
    }
    pthread_cond_destroy(&stream->has_work);
    free(stream);
}
