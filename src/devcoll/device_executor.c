/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/device_executor.h"

#include "devcoll/section_task.h"
#include "coll/section.h"
#include "base/fail.h"
#include "base/pool.h"

/* The state of one run, or of one part of it. */
typedef struct device_run {
    weft_device_t *device;
    /* the device's, holding reductions without an event behind them; NULL: none */
    weft_queue_t *queue;
    int held; /* operations on device memory that must end before the next step begins */
    weft_event_t event;
    bool does_sections;
    const weft_plan_section_t *section; /* the section under way */
    /* the meeting of section 0, and the distance to that of the next section */
    uint32_t number, number_step;
} device_run_t;

static weft_pool_t device_runs = WEFT_POOL(device_run_t);

static device_run_t *executor_state_of(const weft_plan_run_t *run)
{
    return run->state;
}

/* ---- steps ---- */

/* The reduction goes into the queue. Steps that need its result wait for an event behind it. */
static void queue_reduce(weft_plan_run_t *run, const weft_step_t *step)
{
    device_run_t *state = executor_state_of(run);
    const void *in[2] = {weft_plan_run_address(run, step->from.place),
                         weft_plan_run_address(run, step->second)};
    void *out = weft_plan_run_address(run, step->to.place);
    weft_reduction_t reduction = {.op = run->op,
                                  .type = step->to.type,
                                  .count = step->to.count,
                                  .in = in,
                                  .sources = 2,
                                  .out = &out,
                                  .outs = 1};
    state->queue = weft_device->queue(state->device, WEFT_STREAM_BULK);
    int err = state->queue != NULL ? weft_device->reduce(state->queue, &reduction) : MPI_ERR_OTHER;
    if (err != MPI_SUCCESS)
        weft_request_note_error(&run->request, err);
}

static void queue_is_done(weft_event_t *event, int error)
{
    weft_plan_run_t *run = event->owner;
    if (error != MPI_SUCCESS)
        weft_request_note_error(&run->request, error);
    run->outstanding--;
    executor_state_of(run)->held--;
    weft_plan_run_advance(run);
}

/* Puts an event behind the reductions in the queue, if there are any. */
static void queue_drain(weft_plan_run_t *run)
{
    device_run_t *state = executor_state_of(run);
    if (state->queue == NULL)
        return;
    state->event = (weft_event_t){.done = queue_is_done, .owner = run};
    int err = weft_device->record(state->queue, &state->event);
    state->queue = NULL;
    if (err != MPI_SUCCESS) {
        weft_request_note_error(&run->request, err);
        return;
    }
    run->outstanding++;
    state->held++;
}

static void queue_held_is_over(weft_request_t *request, void *owner)
{
    executor_state_of(owner)->held--;
    weft_plan_run_step_is_over(request, owner);
}

static void hold(weft_plan_run_t *run, int err, weft_request_t *request)
{
    executor_state_of(run)->held += err == MPI_SUCCESS && request != &weft_request_done;
    weft_plan_run_watch(run, err, request, queue_held_is_over);
}

/* The copy is a message from the rank to itself, which works for any kind of memory. */
static void queue_copy(weft_plan_run_t *run, const weft_step_t *step)
{
    int self = run->request.comm->rank;
    weft_request_t *recv = NULL, *send = NULL;
    int err = weft_plan_run_recv(run, &step->to, self, &recv);
    hold(run, err, recv);
    err = weft_plan_run_send(run, &step->from, self, &send);
    hold(run, err, send);
}

/* A section that writes where earlier steps may still read must wait for all of them. */
static bool executor_must_wait(const weft_plan_run_t *run, const weft_step_t *next)
{
    return next->kind == WEFT_STEP_SECTION && run->outstanding > 0 &&
           run->plan->sections[next->peer]->call.waits;
}

/* Reductions follow each other in the queue; other steps wait for the reductions, and all steps
 * wait for copies. */
static bool queue_is_free(weft_plan_run_t *run, const weft_step_t *next)
{
    device_run_t *state = executor_state_of(run);
    if (next->kind == WEFT_STEP_SECTION && !state->does_sections)
        return true;
    if (next->kind != WEFT_STEP_REDUCE)
        queue_drain(run);
    return state->held == 0 && !executor_must_wait(run, next);
}

/* ---- sections ---- */

static void queue_section_is_over(weft_request_t *request, void *owner)
{
    weft_plan_run_t *run = owner;
    if (wefti_section_task_is_settled(request))
        run->next = executor_state_of(run)->section->end;
    queue_held_is_over(request, owner);
}

static void queue_begin_section(weft_plan_run_t *run, int index)
{
    device_run_t *state = executor_state_of(run);
    weft_request_t *request;
    weft_section_run_t place = {.comm = run->request.comm,
                                .op = run->op,
                                .buffers = run->buffers,
                                .tag = run->tag,
                                .number = state->number + (uint32_t)index * state->number_step};
    if (!state->does_sections)
        return;
    state->section = run->plan->sections[index];
    if (wefti_section_task_begin(&state->section->call, &place, &request)) {
        state->held++;
        weft_plan_run_watch(run, MPI_SUCCESS, request, queue_section_is_over);
    }
}

/* ---- runs ---- */

static bool queue_take_scratch(weft_plan_run_t *run)
{
    size_t bytes = run->plan->scratch_bytes;
    run->buffers[WEFT_SCRATCH] = NULL;
    if (bytes > 0)
        run->buffers[WEFT_SCRATCH] =
            weft_device->take_scratch(executor_state_of(run)->device, bytes);
    return bytes == 0 || run->buffers[WEFT_SCRATCH] != NULL;
}

static void queue_give_scratch(weft_plan_run_t *run)
{
    if (run->buffers[WEFT_SCRATCH] != NULL)
        weft_device->give_scratch(executor_state_of(run)->device, run->buffers[WEFT_SCRATCH]);
}

static device_run_t *executor_create_state(weft_device_t *device, bool does_sections)
{
    device_run_t *state = weft_pool_take(&device_runs);
    if (state != NULL)
        *state = (device_run_t){.device = device, .does_sections = does_sections, .number_step = 1};
    return state;
}

static bool queue_open_part(weft_plan_run_t *part, const weft_plan_run_t *whole, int index)
{
    const device_run_t *its = executor_state_of(whole);
    device_run_t *state = executor_create_state(its->device, its->does_sections);
    part->state = state;
    if (state == NULL)
        return false;
    state->number = its->number + weft_part_meeting(whole->plan, index);
    state->number_step = (uint32_t)whole->plan->part_count;
    return true;
}

static void queue_close(weft_plan_run_t *run)
{
    weft_pool_give(&device_runs, run->state);
}

static const weft_executor_t device_executor = {.reduce = queue_reduce,
                                                .copy = queue_copy,
                                                .is_free = queue_is_free,
                                                .begin_section = queue_begin_section,
                                                .drain = queue_drain,
                                                .take_scratch = queue_take_scratch,
                                                .give_scratch = queue_give_scratch,
                                                .open_part = queue_open_part,
                                                .close = queue_close};

int wefti_device_executor_open(weft_device_t *device, bool does_sections, uint32_t number,
                               weft_run_place_t *place)
{
    device_run_t *state = executor_create_state(device, does_sections);
    if (state == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a collective on a device");
    state->number = number;
    place->executor = &device_executor;
    place->state = state;
    return MPI_SUCCESS;
}

void wefti_device_executor_drop(weft_run_place_t *place)
{
    weft_pool_give(&device_runs, place->state);
    place->executor = NULL;
    place->state = NULL;
}

void wefti_device_executor_close(void)
{
    weft_pool_close(&device_runs);
}
