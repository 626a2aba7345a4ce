/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/engine.h"

#include "coll/device/section_job.h"
#include "pt2pt/pt2pt.h"
#include "datatype/pack.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/pool.h"

#include <stdint.h>

enum {
    SMALL_SCRATCH = 512,
    SPARE_SCRATCH_MAX = 8 << 20, /* a larger one is not kept between runs */
    TAG_MASK = 0x3fffffff,       /* tags above are those of MPI_Comm_create_group */
};

/* A plan on its way. */
typedef struct run {
    weft_request_t request; /* first */
    weft_plan_t *plan;
    weft_op_t *op;
    char *buffers[WEFT_BUFFERS];
    uint32_t context;
    int tag;
    size_t next;       /* step */
    int outstanding;   /* sends and receives that are not over */
    bool is_advancing; /* advance() is at work further up the stack, or in another thread */
    weft_link_t ready; /* in `ready_runs` */
    weft_device_t *device; /* of scratch and reductions; NULL: the host */
    weft_queue_t *queue;   /* of the device, with reductions that no event is behind; NULL: none */
    int held;              /* work on device memory that has to end before the next step */
    weft_event_t event;
    bool by_levels;        /* sections are done together if all ranks of the node come */
    int section;           /* the next */
    uint32_t number, number_step; /* of its meeting; to that of the section after it */
    uint32_t first_number; /* of the plan's first */
    _Alignas(64) char small_scratch[SMALL_SCRATCH];
} run_t;

static weft_pool_t runs = WEFT_POOL(run_t);

/* Runs whose next step calls a function of the user's. That function may wait for a lock of the
 * user's whose holder waits for ours (an interpreter's lock is such a one), so it is called without
 * ours; and that is possible in a round of progress only, not amid the arrival of a packet. */
static weft_list_t ready_runs = {&ready_runs, &ready_runs};

static void advance(run_t *run);

/* In integers: a buffer that holds nothing may be NULL, or MPI_BOTTOM, which no pointer is added
 * to. */
static inline void *address(const run_t *run, weft_place_t place)
{
    return (void *)((uintptr_t)run->buffers[place.buffer] + (uintptr_t)place.offset);
}

/* ---- steps ---- */

static void step_is_over(weft_request_t *request, void *owner)
{
    run_t *run = owner;
    if (__builtin_expect(request->status.MPI_ERROR != MPI_SUCCESS, 0))
        weft_request_inherit_error(&run->request, request);
    weft_request_release(request);
    run->outstanding--;
    advance(run);
}

static void watch(run_t *run, int err, weft_request_t *request,
                  void (*is_over)(weft_request_t *request, void *owner))
{
    if (__builtin_expect(err != MPI_SUCCESS, 0)) {
        weft_request_note_error(&run->request, err);
        return;
    }
    if (request == &weft_request_done)
        return;
    run->outstanding++;
    weft_request_watch(request, is_over, run);
}

/* (Messages that are too long for their receiver are an error of that receiver alone.) */
static bool has_failed(const run_t *run)
{
    int error = run->request.status.MPI_ERROR;
    return __builtin_expect(error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE, 0);
}

/* Nobody is to take for a result what a failed run has, or to wait for it in vain. */
static int post_send(const run_t *run, const weft_data_t *from, int peer, weft_request_t **out)
{
    weft_send_args_t args = {.buf = address(run, from->place),
                             .count = from->count,
                             .type = from->type,
                             .comm = run->request.comm,
                             .context = run->context,
                             .dest = peer,
                             .tag = run->tag};
    if (!has_failed(run))
        return weft_send_begin(&args, out);
    int error = run->request.status.MPI_ERROR;
    weft_fail(error, "%s", run->request.why != NULL ? run->request.why : "a collective failed");
    weft_send_failed_data(&args, error);
    *out = &weft_request_done;
    return MPI_SUCCESS;
}

static int post_recv(const run_t *run, const weft_data_t *to, int peer, weft_request_t **out)
{
    weft_recv_args_t args = {.buf = address(run, to->place),
                             .count = to->count,
                             .type = to->type,
                             .comm = run->request.comm,
                             .context = run->context,
                             .source = peer,
                             .tag = run->tag};
    return weft_recv_begin(&args, out);
}

static void begin_send(run_t *run, const weft_step_t *step)
{
    weft_request_t *request = NULL;
    int err = post_send(run, &step->from, step->peer, &request);
    watch(run, err, request, step_is_over);
}

static void begin_recv(run_t *run, const weft_step_t *step)
{
    weft_request_t *request = NULL;
    int err = post_recv(run, &step->to, step->peer, &request);
    watch(run, err, request, step_is_over);
}

static void reduce(run_t *run, const weft_step_t *step)
{
    weft_operands_t operands = {address(run, step->from.place), address(run, step->second),
                                address(run, step->to.place), step->to.count};
    if (!run->op->is_predefined)
        weft_unlock();
    int err = weft_op_combine(run->op, step->to.type, &operands);
    if (!run->op->is_predefined)
        weft_lock();
    if (err != MPI_SUCCESS)
        weft_request_note_error(&run->request, err);
}

static void copy(run_t *run, const weft_step_t *step)
{
    weft_copy_typed(address(run, step->from.place), step->from.count, step->from.type,
                    address(run, step->to.place), step->to.count, step->to.type);
}

/* ---- steps on a device ---- */

/* Goes into the queue; who needs the result waits for a event behind it. */
static void queue_reduction(run_t *run, const weft_step_t *step)
{
    const void *in[2] = {address(run, step->from.place), address(run, step->second)};
    void *out = address(run, step->to.place);
    weft_reduction_t reduction = {.op = run->op, .type = step->to.type, .count = step->to.count,
                                  .in = in, .sources = 2, .out = &out, .outs = 1};
    run->queue = weft_device->queue(run->device, WEFT_STREAM_BULK);
    int err = run->queue != NULL ? weft_device->reduce(run->queue, &reduction) : MPI_ERR_OTHER;
    if (err != MPI_SUCCESS)
        weft_request_note_error(&run->request, err);
}

static void queue_is_done(weft_event_t *event, int error)
{
    run_t *run = event->owner;
    if (error != MPI_SUCCESS)
        weft_request_note_error(&run->request, error);
    run->outstanding--;
    run->held--;
    advance(run);
}

static void put_event(run_t *run)
{
    run->event = (weft_event_t){.done = queue_is_done, .owner = run};
    int err = weft_device->record(run->queue, &run->event);
    run->queue = NULL;
    if (err != MPI_SUCCESS) {
        weft_request_note_error(&run->request, err);
        return;
    }
    run->outstanding++;
    run->held++;
}

static void copy_is_over(weft_request_t *request, void *owner)
{
    ((run_t *)owner)->held--;
    step_is_over(request, owner);
}

static void hold(run_t *run, int err, weft_request_t *request)
{
    run->held += err == MPI_SUCCESS && request != &weft_request_done;
    watch(run, err, request, copy_is_over);
}

/* Any memory to any memory: a message to oneself. */
static void copy_by_message(run_t *run, const weft_step_t *step)
{
    int self = run->request.comm->rank;
    weft_request_t *recv = NULL, *send = NULL;
    int err = post_recv(run, &step->to, self, &recv);
    hold(run, err, recv);
    err = post_send(run, &step->from, self, &send);
    hold(run, err, send);
}

/* Is what the step may need there, and nobody reading what it may write? Reductions follow each other in
 * the queue; other steps wait for them, and all for copies. */
static bool is_free(run_t *run, weft_step_kind_t next)
{
    if (run->queue != NULL && next != WEFT_STEP_REDUCE)
        put_event(run);
    return run->held == 0;
}

/* ---- sections ---- */

static inline const weft_section_t *section_here(const run_t *run)
{
    if (!run->by_levels || run->section == run->plan->section_count)
        return NULL;
    const weft_section_t *section = run->plan->sections[run->section];
    return section->begin == run->next ? section : NULL;
}

static void section_is_over(weft_request_t *request, void *owner)
{
    run_t *run = owner;
    if (weft_section_job_is_settled(request))
        run->next = run->plan->sections[run->section - 1]->end;
    copy_is_over(request, owner);
}

/* A run that has failed has nothing to bring: its messages tell the others. */
static void begin_section(run_t *run, const weft_section_t *section)
{
    weft_request_t *request;
    weft_section_run_t place = {.comm = run->request.comm,
                                .op = run->op,
                                .buffers = run->buffers,
                                .tag = run->tag,
                                .number = run->number};
    run->section++;
    run->number += run->number_step;
    if (!has_failed(run) && weft_section_job_begin(&section->call, &place, &request)) {
        run->held++;
        watch(run, MPI_SUCCESS, request, section_is_over);
    }
}

/* True: a section is on its way, or has to wait. */
static bool do_section(run_t *run)
{
    const weft_section_t *section;
    while ((section = section_here(run)) != NULL) {
        if (!is_free(run, WEFT_STEP_COPY) || (section->call.waits && run->outstanding > 0))
            return true;
        begin_section(run, section);
    }
    return false;
}

static void begin_part(run_t *whole, int index);

static void begin_step(run_t *run, const weft_step_t *step)
{
    bool is_local = step->kind == WEFT_STEP_REDUCE || step->kind == WEFT_STEP_COPY;
    if (has_failed(run) && is_local)
        return;
    switch (step->kind) {
    case WEFT_STEP_SEND:
        begin_send(run, step);
        break;
    case WEFT_STEP_RECV:
        begin_recv(run, step);
        break;
    case WEFT_STEP_REDUCE:
        if (run->device == NULL)
            reduce(run, step);
        else
            queue_reduction(run, step);
        break;
    case WEFT_STEP_COPY:
        if (run->device == NULL)
            copy(run, step);
        else
            copy_by_message(run, step);
        break;
    case WEFT_STEP_PART:
        begin_part(run, step->peer);
        break;
    }
}

static void finish(run_t *run)
{
    weft_request_complete(&run->request);
}

static int poll_ready(bool everything)
{
    int moved = 0;
    weft_link_t *link;
    (void)everything;
    while ((link = weft_list_pop(&ready_runs)) != NULL) {
        run_t *run = WEFT_ELEMENT(link, run_t, ready);
        const weft_step_t *step = &run->plan->steps[run->next++];
        reduce(run, step);
        run->is_advancing = false;
        advance(run);
        moved++;
    }
    return moved;
}

/* The next step is left to poll_ready(). */
static void defer(run_t *run)
{
    weft_list_append(&ready_runs, &run->ready);
    weft_progress_need(poll_ready);
    weft_progress_notify();
}

static inline bool calls_user(const run_t *run, const weft_step_t *step)
{
    return step->kind == WEFT_STEP_REDUCE && !run->op->is_predefined;
}

static void advance(run_t *run)
{
    if (run->is_advancing)
        return;
    run->is_advancing = true;
    const weft_plan_t *plan = run->plan;
    while (!do_section(run) && run->next < plan->count) {
        const weft_step_t *step = &plan->steps[run->next];
        if (run->device != NULL && !is_free(run, step->kind))
            break;
        if (step->waits && run->outstanding > 0)
            break;
        if (calls_user(run, step)) {
            defer(run);
            return;
        }
        run->next++;
        begin_step(run, step);
    }
    bool is_at_end = run->next == plan->count && section_here(run) == NULL;
    if (is_at_end && run->queue != NULL)
        put_event(run);
    run->is_advancing = false;
    if (is_at_end && run->outstanding == 0)
        finish(run);
}

/* ---- runs ---- */

static void release_run(weft_request_t *request);

static void cancel_run(weft_request_t *request)
{
    (void)request; /* collectives cannot be cancelled (section 6.12) */
}

static const weft_request_ops_t run_ops = {
    .name = "collective", .release = release_run, .cancel = cancel_run};

static bool take_scratch(run_t *run)
{
    weft_plan_t *plan = run->plan;
    if (run->device != NULL && plan->scratch_bytes > 0) {
        run->buffers[WEFT_SCRATCH] = weft_device->take_scratch(run->device, plan->scratch_bytes);
        return run->buffers[WEFT_SCRATCH] != NULL;
    }
    run->buffers[WEFT_SCRATCH] = run->small_scratch;
    if (plan->scratch_bytes <= SMALL_SCRATCH)
        return true;
    run->buffers[WEFT_SCRATCH] = plan->spare_scratch;
    plan->spare_scratch = NULL;
    if (run->buffers[WEFT_SCRATCH] == NULL)
        run->buffers[WEFT_SCRATCH] = weft_alloc(plan->scratch_bytes);
    return run->buffers[WEFT_SCRATCH] != NULL;
}

static void give_scratch(run_t *run)
{
    weft_plan_t *plan = run->plan;
    char *scratch = run->buffers[WEFT_SCRATCH];
    if (scratch == run->small_scratch)
        return;
    if (run->device != NULL) {
        weft_device->give_scratch(run->device, scratch);
        return;
    }
    if (plan->spare_scratch == NULL && plan->scratch_bytes <= SPARE_SCRATCH_MAX)
        plan->spare_scratch = scratch;
    else
        weft_free(scratch);
}

static void reset(run_t *run)
{
    run->next = 0;
    run->outstanding = 0;
    run->queue = NULL;
    run->held = 0;
    run->is_advancing = false;
    run->section = 0;
}

int weft_engine_take_tag(const weft_plan_t *plan, weft_comm_t *comm)
{
    int tag = (int)(comm->coll_sequence & TAG_MASK);
    comm->coll_sequence += 1 + (uint32_t)plan->part_count;
    return tag;
}

static int set_up(run_t *run, weft_plan_t *plan, const weft_coll_args_t *args,
                  const weft_run_place_t *place)
{
    run->plan = plan;
    run->device = place->device;
    if (!take_scratch(run))
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of scratch", plan->scratch_bytes);
    weft_comm_t *comm = args->comm;
    weft_request_init(&run->request, &run_ops, comm);
    void *in = (void *)args->send_buf, *out = args->recv_buf;
    run->buffers[WEFT_IN] = in == MPI_IN_PLACE ? out : in;
    run->buffers[WEFT_OUT] = out == MPI_IN_PLACE ? in : out;
    run->op = args->op;
    run->context = comm->context | 1;
    run->tag = place->tag;
    run->by_levels = place->by_levels;
    run->number = run->first_number = place->number;
    run->number_step = 1;
    if (place->error != MPI_SUCCESS)
        weft_request_note_error(&run->request, place->error);
    reset(run);
    return MPI_SUCCESS;
}

static void release_part(weft_request_t *request)
{
    weft_pool_give(&runs, (run_t *)request);
}

/* A part has the buffers of the whole and a tag of its own. The whole keeps the rest alive. */
static void begin_part(run_t *whole, int index)
{
    static const weft_request_ops_t part_ops = {
        .name = "part of a collective", .release = release_part, .cancel = cancel_run};
    run_t *run = weft_pool_take(&runs);
    if (run == NULL) {
        weft_request_note_error(&whole->request,
                                weft_fail(MPI_ERR_NO_MEM, "no memory for a part of a collective"));
        return;
    }
    weft_request_init(&run->request, &part_ops, whole->request.comm);
    run->plan = whole->plan->parts[index];
    run->device = whole->device;
    run->op = whole->op;
    for (int i = 0; i < WEFT_BUFFERS; i++)
        run->buffers[i] = whole->buffers[i];
    run->context = whole->context;
    run->tag = (whole->tag + 1 + index) & TAG_MASK;
    run->by_levels = whole->by_levels;
    run->number = whole->first_number + weft_part_meeting(whole->plan, index);
    run->number_step = (uint32_t)whole->plan->part_count;
    reset(run);
    whole->outstanding++;
    weft_request_watch(&run->request, step_is_over, whole);
    advance(run);
}

static void release_run(weft_request_t *request)
{
    run_t *run = (run_t *)request;
    give_scratch(run);
    weft_plan_release(run->plan);
    if (run->op != NULL)
        weft_op_release(run->op);
    weft_comm_release(run->request.comm);
    weft_pool_give(&runs, run);
}

int weft_engine_run(weft_plan_t *plan, const weft_coll_args_t *args)
{
    run_t run;
    weft_run_place_t place = {.tag = weft_engine_take_tag(plan, args->comm)};
    int err = set_up(&run, plan, args, &place);
    if (err != MPI_SUCCESS)
        return err;
    advance(&run);
    weft_request_wait(&run.request);
    give_scratch(&run);
    err = weft_request_result(&run.request);
    weft_request_forget_error(&run.request);
    return err;
}

int weft_engine_begin_at(weft_plan_t *plan, const weft_coll_args_t *args,
                         const weft_run_place_t *place, weft_request_t **out)
{
    run_t *run = weft_pool_take(&runs);
    if (run == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    int err = set_up(run, plan, args, place);
    if (err != MPI_SUCCESS) {
        weft_pool_give(&runs, run);
        return err;
    }
    plan->references++;
    if (run->op != NULL)
        weft_op_retain(run->op);
    weft_comm_retain(args->comm);
    *out = &run->request;
    advance(run);
    return MPI_SUCCESS;
}

int weft_engine_begin(weft_plan_t *plan, const weft_coll_args_t *args, weft_request_t **out)
{
    weft_run_place_t place = {.tag = weft_engine_take_tag(plan, args->comm)};
    return weft_engine_begin_at(plan, args, &place, out);
}

void weft_engine_close(void)
{
    weft_progress_remove(poll_ready);
    weft_pool_close(&runs);
}
