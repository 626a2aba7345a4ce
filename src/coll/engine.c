/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/engine.h"

#include "coll/coll_pvars.h"
#include "coll/failure.h"
#include "pt2pt/pt2pt.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/pool.h"

#include <stdint.h>

/* Collectives that are called once take one tag after the other, persistent ones keep theirs and so
 * have a half of their own. Larger tags belong to src/comm. */
enum { TAG_MASK = 0x1fffffff, LASTING_TAGS = 0x20000000 };

static weft_pool_t runs = WEFT_POOL(weft_plan_run_t);

/* Runs whose next step calls a function of the user. That function may wait for a lock of the
 * user's whose holder waits for the library's lock (an interpreter's lock is of this kind), so it
 * is called without the library's lock. That is only possible in a round of progress, not while a
 * packet is being taken in. */
static weft_list_t ready_runs = {&ready_runs, &ready_runs};

/* ---- functions for executors ---- */

void weft_plan_run_step_is_over(weft_request_t *request, void *owner)
{
    weft_plan_run_t *run = owner;
    if (__builtin_expect(request->status.MPI_ERROR != MPI_SUCCESS, 0))
        weft_request_inherit_result(&run->request, request);
    weft_request_release(request);
    run->outstanding--;
    weft_plan_run_advance(run);
}

void weft_plan_run_watch(weft_plan_run_t *run, int err, weft_request_t *request,
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

/* After a failure the message carries the error: its receiver must neither take the data for a
 * result nor wait in vain. */
int weft_plan_run_send(weft_plan_run_t *run, const weft_data_t *from, int peer,
                       weft_request_t **out)
{
    weft_send_args_t args = {.buf = weft_plan_run_address(run, from->place),
                             .count = from->count,
                             .type = from->type,
                             .comm = run->request.comm,
                             .context = run->context,
                             .dest = peer,
                             .tag = run->tag};
    if (!weft_plan_run_has_failed(run))
        return weft_send_begin(&args, out);
    int error = run->request.status.MPI_ERROR;
    weft_coll_explain_failure(&run->request);
    weft_request_result(&run->request); /* the text belongs to the error */
    weft_send_failed_data(&args, error);
    *out = &weft_request_done;
    return MPI_SUCCESS;
}

int weft_plan_run_recv(const weft_plan_run_t *run, const weft_data_t *to, int peer,
                       weft_request_t **out)
{
    weft_recv_args_t args = {.buf = weft_plan_run_address(run, to->place),
                             .count = to->count,
                             .type = to->type,
                             .comm = run->request.comm,
                             .context = run->context,
                             .source = peer,
                             .tag = run->tag};
    return weft_recv_begin(&args, out);
}

/* ---- steps ---- */

static void begin_send(weft_plan_run_t *run, const weft_step_t *step)
{
    weft_request_t *request = NULL;
    int err = weft_plan_run_send(run, &step->from, step->peer, &request);
    weft_plan_run_watch(run, err, request, weft_plan_run_step_is_over);
}

static void begin_recv(weft_plan_run_t *run, const weft_step_t *step)
{
    weft_request_t *request = NULL;
    int err = weft_plan_run_recv(run, &step->to, step->peer, &request);
    weft_plan_run_watch(run, err, request, weft_plan_run_step_is_over);
}

static void engine_begin_part(weft_plan_run_t *whole, int index);

/* A run that has failed still sends and receives its messages, as these tell the others. */
static void engine_begin_step(weft_plan_run_t *run, const weft_step_t *step)
{
    switch (step->kind) {
    case WEFT_STEP_SEND:
        begin_send(run, step);
        break;
    case WEFT_STEP_RECV:
        begin_recv(run, step);
        break;
    case WEFT_STEP_REDUCE:
        if (!weft_plan_run_has_failed(run))
            run->executor->reduce(run, step);
        break;
    case WEFT_STEP_COPY:
        if (!weft_plan_run_has_failed(run))
            run->executor->copy(run, step);
        break;
    case WEFT_STEP_PART:
        engine_begin_part(run, step->peer);
        break;
    case WEFT_STEP_SECTION:
        if (!run->executor->is_immediate && !weft_plan_run_has_failed(run))
            run->executor->begin_section(run, step->peer);
        break;
    }
}

static int engine_poll_ready(bool everything)
{
    int moved = 0;
    weft_link_t *link;
    (void)everything;
    while ((link = weft_list_pop(&ready_runs)) != NULL) {
        weft_plan_run_t *run = WEFT_ELEMENT(link, weft_plan_run_t, ready);
        const weft_step_t *step = &run->plan->steps[run->next++];
        run->executor->reduce(run, step);
        run->is_advancing = false;
        weft_plan_run_advance(run);
        moved++;
    }
    return moved;
}

/* Leaves the next step to engine_poll_ready(). */
static void defer(weft_plan_run_t *run)
{
    weft_list_append(&ready_runs, &run->ready);
    weft_progress_need(engine_poll_ready);
    weft_progress_alert();
}

static inline bool calls_user(const weft_plan_run_t *run, const weft_step_t *step)
{
    return step->kind == WEFT_STEP_REDUCE && !run->op->is_predefined;
}

void weft_plan_run_advance(weft_plan_run_t *run)
{
    if (run->is_advancing)
        return;
    run->is_advancing = true;
    const weft_plan_t *plan = run->plan;
    bool is_immediate = run->executor->is_immediate;
    while (run->next < plan->count) {
        const weft_step_t *step = &plan->steps[run->next];
        if (!is_immediate && !run->executor->is_free(run, step))
            break;
        if (step->waits && run->outstanding > 0)
            break;
        if (calls_user(run, step)) {
            defer(run);
            return;
        }
        run->next++;
        engine_begin_step(run, step);
    }
    bool is_at_end = run->next == plan->count;
    if (is_at_end && !is_immediate)
        run->executor->drain(run);
    run->is_advancing = false;
    if (is_at_end && run->outstanding == 0) {
        if (weft_plan_run_has_failed(run))
            weft_coll_explain_failure(&run->request);
        weft_request_complete(&run->request);
    }
}

/* ---- runs ---- */

static void engine_release_run(weft_request_t *request);

static int engine_start_run(weft_request_t *request);

static const weft_request_ops_t run_ops = {.name = "collective",
                                           .release = engine_release_run,
                                           .start = engine_start_run,
                                           .cancel = weft_request_cannot_cancel};

static void reset(weft_plan_run_t *run)
{
    run->next = 0;
    run->outstanding = 0;
    run->is_advancing = false;
}

int weft_engine_take_tag(const weft_plan_t *plan, weft_comm_t *comm)
{
    int tag = (int)(comm->coll_sequence & TAG_MASK);
    comm->coll_sequence += 1 + (uint32_t)plan->part_count;
    return tag;
}

void weft_engine_skip(weft_comm_t *comm)
{
    comm->coll_sequence++;
}

int weft_engine_take_lasting_tag(const weft_plan_t *plan, weft_comm_t *comm)
{
    int tag = (int)(comm->lasting_sequence & TAG_MASK) | LASTING_TAGS;
    comm->lasting_sequence += 1 + (uint32_t)plan->part_count;
    return tag;
}

static int tag_of_part(int tag, int index)
{
    return (tag & LASTING_TAGS) | ((tag + 1 + index) & TAG_MASK);
}

static int set_up(weft_plan_run_t *run, weft_plan_t *plan, const weft_coll_args_t *args,
                  const weft_run_place_t *place)
{
    run->plan = plan;
    run->executor = place->executor != NULL ? place->executor : &weft_host_executor;
    run->state = place->state;
    if (!run->executor->take_scratch(run))
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of scratch", plan->scratch_bytes);
    weft_comm_t *comm = args->comm;
    weft_request_init(&run->request, &run_ops, comm);
    void *in = (void *)args->send_buf, *out = args->recv_buf;
    run->buffers[WEFT_IN] = in == MPI_IN_PLACE ? out : in;
    run->buffers[WEFT_OUT] = out == MPI_IN_PLACE ? in : out;
    run->op = args->op;
    run->context = comm->context | 1;
    run->tag = place->tag;
    if (place->error != MPI_SUCCESS)
        weft_request_note_error(&run->request, place->error);
    reset(run);
    return MPI_SUCCESS;
}

static void engine_release_part(weft_request_t *request)
{
    weft_plan_run_t *run = (weft_plan_run_t *)request;
    run->executor->close(run);
    weft_pool_give(&runs, run);
}

/* A part has the buffers of the whole run and a tag of its own. The whole run keeps everything else
 * alive, such as the plan. */
static void engine_begin_part(weft_plan_run_t *whole, int index)
{
    static const weft_request_ops_t part_ops = {.name = "part of a collective",
                                                .release = engine_release_part,
                                                .cancel = weft_request_cannot_cancel};
    weft_plan_run_t *run = weft_pool_take(&runs);
    if (run == NULL || !whole->executor->open_part(run, whole, index)) {
        if (run != NULL)
            weft_pool_give(&runs, run);
        weft_request_note_error(&whole->request,
                                weft_fail(MPI_ERR_NO_MEM, "no memory for a part of a collective"));
        return;
    }
    weft_request_init(&run->request, &part_ops, whole->request.comm);
    run->plan = whole->plan->parts[index];
    run->executor = whole->executor;
    run->op = whole->op;
    for (int i = 0; i < WEFT_BUFFERS; i++)
        run->buffers[i] = whole->buffers[i];
    run->context = whole->context;
    run->tag = tag_of_part(whole->tag, index);
    reset(run);
    whole->outstanding++;
    weft_request_watch(&run->request, weft_plan_run_step_is_over, whole);
    weft_plan_run_advance(run);
}

static void engine_release_run(weft_request_t *request)
{
    weft_plan_run_t *run = (weft_plan_run_t *)request;
    run->executor->give_scratch(run);
    run->executor->close(run);
    weft_plan_release(run->plan);
    if (run->op != NULL)
        weft_op_release(run->op);
    weft_comm_release(run->request.comm);
    weft_pool_give(&runs, run);
}

int weft_engine_run(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_plan_run_t run;
    weft_run_place_t place = {.tag = weft_engine_take_tag(plan, args->comm)};
    int err = set_up(&run, plan, args, &place);
    if (err != MPI_SUCCESS)
        return err;
    weft_plan_run_advance(&run);
    weft_request_wait(&run.request);
    run.executor->give_scratch(&run);
    err = weft_request_result(&run.request);
    weft_request_forget_error(&run.request);
    return err;
}

/* A run with a request, which has not begun. */
static int create_run(weft_plan_t *plan, const weft_coll_args_t *args,
                      const weft_run_place_t *place, weft_plan_run_t **out)
{
    weft_plan_run_t *run = weft_pool_take(&runs);
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
    *out = run;
    return MPI_SUCCESS;
}

int weft_engine_begin_at(weft_plan_t *plan, const weft_coll_args_t *args,
                         const weft_run_place_t *place, weft_request_t **out)
{
    weft_plan_run_t *run;
    int err = create_run(plan, args, place, &run);
    if (err != MPI_SUCCESS)
        return err;
    *out = &run->request;
    weft_plan_run_advance(run);
    return MPI_SUCCESS;
}

int weft_engine_begin(weft_plan_t *plan, const weft_coll_args_t *args, weft_request_t **out)
{
    weft_run_place_t place = {.tag = weft_engine_take_tag(plan, args->comm)};
    return weft_engine_begin_at(plan, args, &place, out);
}

int weft_engine_prepare(weft_plan_t *plan, const weft_coll_args_t *args, int tag,
                        weft_request_t **out)
{
    weft_plan_run_t *run;
    weft_run_place_t place = {.tag = tag};
    int err = create_run(plan, args, &place, &run);
    if (err != MPI_SUCCESS)
        return err;
    weft_request_make_persistent(&run->request);
    *out = &run->request;
    return MPI_SUCCESS;
}

static int engine_start_run(weft_request_t *request)
{
    weft_plan_run_t *run = (weft_plan_run_t *)request;
    weft_request_restart(request);
    weft_coll_note_call(run->plan);
    weft_engine_take_number(run->plan, request->comm);
    reset(run);
    weft_plan_run_advance(run);
    return MPI_SUCCESS;
}

void weft_engine_close(void)
{
    weft_progress_remove(engine_poll_ready);
    weft_pool_close(&runs);
}
