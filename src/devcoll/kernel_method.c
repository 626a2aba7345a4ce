/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/kernel_method.h"

#include "devcoll/comm_state.h"
#include "devcoll/kernel_watch.h"
#include "devcoll/stopped_member.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"

/* the task whose kernel may use this rank's devices; NULL: none */
static const weft_task_t *holder;

/* ---- memory and its end ---- */

static void close_memory(weft_kernel_state_t *state)
{
    if (!state->has_memory)
        return;
    state->has_memory = false;
    if (state->kind->close(state))
        state->kind->count--;
}

static void destroy_state(weft_kernel_state_t *state)
{
    close_memory(state);
    weft_free(state);
}

static bool is_being_cleared(const weft_kernel_state_t *state)
{
    return state->is_cleared_first && !state->cleared.is_reached;
}

void wefti_kernel_give_up(weft_kernel_state_t *state, const char *why)
{
    if (state->stage == WEFT_STAGE_NEVER)
        return;
    state->stage = WEFT_STAGE_NEVER;
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: no %s: %s", state->kind->what, why);
    if (state->kind->closes_early && !is_being_cleared(state))
        close_memory(state);
}

void wefti_kernel_refused(weft_kernel_state_t *state, const char *why)
{
    if (++state->tries == state->kind->tries_most)
        wefti_kernel_give_up(state, why);
}

static void kernel_memory_is_cleared(weft_event_t *event, int error)
{
    weft_kernel_state_t *state = event->owner;
    if (error != MPI_SUCCESS)
        wefti_kernel_give_up(state, "its memory could not be cleared");
    if (state->stage == WEFT_STAGE_NEVER && state->kind->closes_early)
        close_memory(state);
    if (state->is_abandoned)
        destroy_state(state);
}

weft_event_t *wefti_kernel_cleared_event(weft_kernel_state_t *state)
{
    state->cleared = (weft_event_t){.done = kernel_memory_is_cleared, .owner = state};
    return &state->cleared;
}

bool wefti_kernel_has_room(const weft_kernel_state_t *state)
{
    return state->kind->count < state->kind->most;
}

void wefti_kernel_got_memory(weft_kernel_state_t *state)
{
    state->has_memory = true;
    state->kind->count++;
}

void wefti_kernel_release(void *its)
{
    for (weft_kernel_state_t *state = its, *older; state != NULL; state = older) {
        older = state->older;
        if (is_being_cleared(state))
            state->is_abandoned = true;
        else
            destroy_state(state);
    }
}

/* ---- the state for a device ---- */

/* NULL: there is none yet. */
static weft_kernel_state_t *kernel_state_of(const weft_task_t *task, weft_method_index_t method)
{
    const weft_device_t *device = wefti_exports_device(task->exports);
    weft_kernel_state_t *state = wefti_comm_method_state(task->request.comm, method);
    while (state != NULL && state->device != device)
        state = state->older;
    return state;
}

static weft_kernel_state_t *kernel_create_state(const weft_task_t *task, weft_kernel_kind_t *kind)
{
    weft_comm_t *comm = task->request.comm;
    weft_kernel_state_t *state = weft_alloc_zeroed(1, kind->state_bytes);
    if (state == NULL)
        return NULL;
    state->kind = kind;
    state->device = wefti_exports_device(task->exports);
    state->older = wefti_comm_method_state(comm, kind->method);
    if (!wefti_comm_keep_method_state(comm, kind->method, state)) {
        weft_free(state);
        return NULL;
    }
    return state;
}

weft_kernel_state_t *wefti_kernel_state(const weft_task_t *task, weft_method_index_t method)
{
    weft_kernel_state_t *state = kernel_state_of(task, method);
    return state == NULL || state->stage == WEFT_STAGE_NEVER ? NULL : state;
}

unsigned wefti_kernel_given_up(const weft_task_t *task)
{
    unsigned methods = 0;
    for (int method = WEFT_METHOD_MULTICAST; method <= WEFT_METHOD_LL; method++) {
        const weft_kernel_state_t *state = kernel_state_of(task, (weft_method_index_t)method);
        if (state != NULL && state->stage == WEFT_STAGE_NEVER)
            methods |= 1u << method;
    }
    return methods;
}

/* ---- becoming ready ---- */

bool wefti_kernel_possible(const weft_task_t *task, weft_method_index_t method)
{
    return task->request.comm->size <= WEFT_EXCHANGE_MOST_MEMBERS &&
           weft_device_methods[method]->knows(task->coll);
}

weft_kernel_state_t *wefti_kernel_offer(weft_task_t *task, weft_kernel_kind_t *kind,
                                        weft_offer_t *offer)
{
    weft_kernel_state_t *state = kernel_state_of(task, kind->method);
    bool is_wanted = (task->methods & 1u << kind->method) != 0;
    if (state == NULL && is_wanted && wefti_exports_device(task->exports) != NULL)
        state = kernel_create_state(task, kind);
    if (state != NULL && is_wanted && task->meeting.number >= WEFT_WATCH_FLAGS)
        wefti_kernel_give_up(state, "the communicator has had too many collectives");
    if (state != NULL && weft_device->is_shared(state->device)) {
        state->is_unsafe |= state->has_memory; /* others may still have kernels in it */
        wefti_kernel_give_up(state, "another rank of this host works on the device, too");
    }
    bool is_never = state != NULL && state->stage == WEFT_STAGE_NEVER;
    offer->stage[kind->method] = is_never ? WEFT_STAGE_NEVER : WEFT_STAGE_NEW;
    return state == NULL || !is_wanted || is_never || is_being_cleared(state) ? NULL : state;
}

bool wefti_kernel_hold(const weft_task_t *task)
{
    if (holder == NULL)
        holder = task;
    return holder == task;
}

void wefti_kernel_let_go(const weft_task_t *task)
{
    if (holder == task)
        holder = NULL;
}

bool wefti_kernel_agrees(const weft_task_t *task, weft_method_index_t method)
{
    const weft_offer_t *own = wefti_offer_of(&task->meeting, task->meeting.member);
    if (own->radix != 0)
        return false;
    for (int i = 0; i < task->meeting.members; i++) {
        const weft_offer_t *offer = wefti_offer_of(&task->meeting, i);
        if ((offer->ready & 1u << method) == 0 || !wefti_offer_is_same_call(offer, own))
            return false;
    }
    return true;
}

/* ---- a call ---- */

static weft_kernel_state_t *state_of_call(const weft_task_t *task)
{
    return kernel_state_of(task, (weft_method_index_t)task->method);
}

void wefti_kernel_begin(weft_task_t *task)
{
    weft_kernel_state_t *state = state_of_call(task);
    weft_queue_t *queue;
    int err = state->kind->launch(state, task, &queue);
    task->has_kernel = err == MPI_SUCCESS;
    if (err == MPI_SUCCESS) {
        weft_meeting_note_launch(&task->meeting);
        err = wefti_task_record(task, queue);
    }
    if (err != MPI_SUCCESS)
        wefti_kernel_end(task, err);
}

void wefti_kernel_cancel(weft_task_t *task)
{
    const weft_kernel_state_t *state = state_of_call(task);
    if (task->has_kernel)
        wefti_watch_call_off(state->kind->watch(state, &task->meeting),
                             wefti_watch_flag(&task->meeting));
}

static int fail_after_waiting(const weft_task_t *task)
{
    int lacking = weft_meeting_lacking(&task->meeting);
    if (lacking < 0)
        return weft_fail(MPI_ERR_OTHER,
                         "a kernel has waited for those of other ranks, which have been launched, "
                         "for longer than %d times WEFT_DEVICE_WAIT_MAX, %d s",
                         WEFT_KERNEL_WAITS, weft_config.DEVICE_WAIT_MAX);
    return weft_fail(MPI_ERR_OTHER,
                     "a kernel has waited for that of rank %d, which has not been launched, for "
                     "longer than %d times WEFT_DEVICE_WAIT_MAX, %d s",
                     weft_process_rank(weft_comm_process(task->request.comm, lacking)),
                     WEFT_KERNEL_WAITS, weft_config.DEVICE_WAIT_MAX);
}

/* `err`: of its launch. */
static int result_of_kernel(const weft_task_t *task, int err)
{
    const weft_kernel_state_t *state = state_of_call(task);
    if (err != MPI_SUCCESS)
        return err;
    switch (wefti_watch_end(state->kind->watch(state, &task->meeting),
                            wefti_watch_flag(&task->meeting))) {
    case WEFT_ENDED_OFF:
        return weft_fail(MPI_ERR_OTHER, "the device work of another rank of this host has failed");
    case WEFT_ENDED_LATE:
        return fail_after_waiting(task);
    default:
        return MPI_SUCCESS;
    }
}

void wefti_kernel_end(weft_task_t *task, int err)
{
    weft_kernel_state_t *state = state_of_call(task);
    err = result_of_kernel(task, err);
    err = wefti_stopped_member_error(task, err);
    if (err != MPI_SUCCESS) {
        state->is_unsafe = true; /* other ranks may not have seen yet that the call is over */
        wefti_kernel_give_up(state, "a collective has failed in it");
    }
    task->has_kernel = false;
    wefti_kernel_let_go(task);
    wefti_task_stop_waiting(task);
    if (err == MPI_SUCCESS) {
        wefti_task_take_results(task);
    } else {
        /* Each member learns by itself who has died, so that all give this as the cause. */
        if (!wefti_task_has_lost(task))
            weft_meeting_fail(&task->meeting);
        wefti_task_fail_at_meeting(task, err);
    }
}
