/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The method "multicast", for large collectives of ranks that each have a device of their own. It
 * uses multicast memory, an object in which each device has a part: a load at its address gives the
 * sum of all parts, and a store goes to all of them; the switch between the devices does both. The
 * kernels of all ranks move their data through it (cuda/kernels/multicast.cuh). An allreduce needs
 * both, a reduce and a reduce-scatter the load, a broadcast and an allgather the store.
 *
 * Stages. Each rank takes the next one at a meeting that the method "direct" does, once the offers
 * show that all others have reached the current one:
 *
 *   ABLE     The device and the driver support multicast. When all ranks are able, member 0
 *            makes the object.
 *   JOINED   The device belongs to the object. The others join when member 0 has.
 *   BOUND    The device has memory in the object, which is cleared. Each rank binds when all have
 *            joined, as the driver would otherwise wait for them.
 *
 * Once all ranks are bound, this method does a meeting's call. A rank that cannot go on says
 * so in its offer, and the others give up as well.
 *
 * Then the program's own buffers may be bound as well (bound_buffers.h).
 *
 * An object belongs to one device of each rank. Where ranks bring memory of other devices, too,
 * each device of member 0 gets an object, which the devices join that the others bring when it is
 * new; calls with other sets of devices are done by other methods.
 */
#include "devcoll/kernel_method.h"

#include "devcoll/bound_buffers.h"
#include "devcoll/comm_state.h"
#include "devcoll/kernel_watch.h"
#include "runtime/fd_mail.h"
#include "base/config.h"

enum {
    STAGE_ABLE = WEFT_STAGE_OWN,
    STAGE_JOINED,
    STAGE_BOUND,
};

typedef struct multicast_state {
    weft_kernel_state_t state;    /* first */
    weft_multicast_t *object;     /* NULL: not joined yet */
    weft_multicast_share_t share; /* as member 0 offers it */
    weft_bound_buffers_t bound;
} multicast_state_t;

static bool multicast_close(weft_kernel_state_t *state)
{
    multicast_state_t *its = (multicast_state_t *)state;
    wefti_bound_close(&its->bound, state->is_unsafe);
    weft_device->close_multicast(its->object, state->is_unsafe);
    its->object = NULL;
    return true;
}

static uint32_t *multicast_watch(const weft_kernel_state_t *state, const weft_meeting_t *meeting)
{
    (void)meeting;
    return ((const multicast_state_t *)state)->object->watch;
}

static int multicast_launch(const weft_kernel_state_t *state, const weft_task_t *task,
                            weft_queue_t **queue_out);

static weft_kernel_kind_t multicast_kind = {
    .method = WEFT_METHOD_MULTICAST,
    .what = "multicast",
    .state_bytes = sizeof(multicast_state_t),
    .most = 4, /* each takes 16 MiB of the device, and a switch can hold few objects */
    .tries_most = 3,
    .closes_early = true,
    .close = multicast_close,
    .watch = multicast_watch,
    .launch = multicast_launch,
};

/* ---- becoming ready ---- */

static bool multicast_knows(weft_coll_t coll)
{
    switch (coll) {
    case WEFT_ALLREDUCE:
    case WEFT_REDUCE:
    case WEFT_REDUCE_SCATTER:
    case WEFT_REDUCE_SCATTER_BLOCK:
    case WEFT_BCAST:
    case WEFT_ALLGATHER:
    case WEFT_ALLGATHERV:
        return true;
    default:
        return false;
    }
}

/* The switch adds in an order of its own. (The contract is a simple one: with WEFT_REPRODUCIBLE
 * multicast memory is not used, not even for data that are only moved.) */
static bool multicast_possible(const weft_task_t *task)
{
    return !weft_config.REPRODUCIBLE && wefti_kernel_possible(task, WEFT_METHOD_MULTICAST);
}

/* Returns false if this rank has given up. */
static bool enter_first_stage(weft_kernel_state_t *state)
{
    if (weft_device->can_multicast(state->device, NULL, NULL))
        state->stage = STAGE_ABLE;
    else
        wefti_kernel_give_up(state, "the device or its driver cannot");
    return state->stage != WEFT_STAGE_NEVER;
}

static bool multicast_offer(weft_task_t *task, weft_offer_t *offer)
{
    multicast_state_t *its = (multicast_state_t *)wefti_kernel_offer(task, &multicast_kind, offer);
    uint32_t *stage = &offer->stage[WEFT_METHOD_MULTICAST];
    if (its == NULL)
        return false;
    if (its->state.stage == WEFT_STAGE_NEW && !enter_first_stage(&its->state)) {
        *stage = WEFT_STAGE_NEVER;
        return false;
    }
    *stage = (uint32_t)its->state.stage;
    if (its->object != NULL)
        offer->object = its->share;
    bool is_ready =
        its->state.stage == STAGE_BOUND &&
        weft_device->can_multicast(its->state.device, task->args.op, task->args.recv_type) &&
        wefti_kernel_hold(task);
    if (is_ready)
        wefti_bound_offer(&its->bound, task, offer);
    return is_ready;
}

static bool does_any_give_up(const weft_meeting_t *meeting)
{
    bool is_said = false;
    for (int i = 0; i < meeting->members; i++)
        is_said |= wefti_offer_of(meeting, i)->stage[WEFT_METHOD_MULTICAST] == WEFT_STAGE_NEVER;
    return is_said;
}

/* From JOINED on they must have joined the same object. */
static bool are_all_at(const weft_meeting_t *meeting, uint32_t stage)
{
    const weft_offer_t *maker = wefti_offer_of(meeting, 0);
    for (int i = 0; i < meeting->members; i++) {
        const weft_offer_t *offer = wefti_offer_of(meeting, i);
        if (offer->stage[WEFT_METHOD_MULTICAST] < stage ||
            (stage >= STAGE_JOINED && !wefti_is_same_object(&offer->object, &maker->object)))
            return false;
    }
    return true;
}

/* Has another device of this rank joined the object? */
static bool has_joined(const multicast_state_t *newest, const weft_multicast_share_t *share)
{
    const weft_kernel_state_t *state = &newest->state;
    for (; state != NULL; state = state->older) {
        const multicast_state_t *its = (const multicast_state_t *)state;
        if (its->object != NULL && wefti_is_same_object(&its->share, share))
            return true;
    }
    return false;
}

static void method_join_object(multicast_state_t *its, const weft_task_t *task)
{
    const weft_meeting_t *meeting = &task->meeting;
    const weft_offer_t *maker = wefti_offer_of(meeting, 0);
    if (meeting->member == 0)
        its->object = weft_device->make_multicast(its->state.device, meeting->members, 0);
    else if (maker->stage[WEFT_METHOD_MULTICAST] == STAGE_JOINED &&
             !has_joined(wefti_comm_method_state(task->request.comm, WEFT_METHOD_MULTICAST),
                         &maker->object))
        its->object = weft_device->join_multicast(its->state.device, &maker->object);
    else
        return;
    if (its->object == NULL && meeting->member != 0 &&
        weft_fd_is_awaited((int)maker->object.owner, maker->object.ticket))
        return;
    if (its->object == NULL) {
        wefti_kernel_refused(&its->state, "the driver refuses");
        return;
    }
    its->share = meeting->member == 0 ? its->object->share : maker->object;
    wefti_kernel_got_memory(&its->state);
    its->state.stage = STAGE_JOINED;
}

static void method_bind_memory(multicast_state_t *its)
{
    if (!weft_device->bind_multicast(its->object, wefti_kernel_cleared_event(&its->state))) {
        wefti_kernel_refused(&its->state, "the driver refuses");
        return;
    }
    its->bound.device = its->state.device;
    its->state.is_cleared_first = true;
    its->state.stage = STAGE_BOUND;
}

static void multicast_learn(weft_task_t *task)
{
    const weft_meeting_t *meeting = &task->meeting;
    multicast_state_t *its = (multicast_state_t *)wefti_kernel_state(task, WEFT_METHOD_MULTICAST);
    if (its == NULL || its->state.stage < STAGE_ABLE)
        return;
    int stage = its->state.stage;
    if (stage < STAGE_BOUND && does_any_give_up(meeting))
        wefti_kernel_give_up(&its->state, "another rank cannot");
    else if (stage == STAGE_ABLE && wefti_offers_crowd(meeting) != 1)
        wefti_kernel_give_up(&its->state, "ranks share a device");
    else if (stage == STAGE_ABLE && !wefti_kernel_has_room(&its->state))
        wefti_kernel_give_up(&its->state, "many communicators do so already");
    else if (stage == STAGE_ABLE && are_all_at(meeting, STAGE_ABLE))
        method_join_object(its, task);
    else if (stage == STAGE_JOINED && are_all_at(meeting, STAGE_JOINED))
        method_bind_memory(its);
}

/* ---- the call ---- */

static bool multicast_agrees(const weft_task_t *task)
{
    size_t most;
    return wefti_kernel_agrees(task, WEFT_METHOD_MULTICAST) &&
           are_all_at(&task->meeting, STAGE_BOUND) && wefti_offers_measure(&task->meeting, &most) &&
           most > 0;
}

/* Does the call treat ranks apart? Then there is a portion for each. */
static bool has_blocks(weft_coll_t coll)
{
    return coll != WEFT_ALLREDUCE && coll != WEFT_REDUCE && coll != WEFT_BCAST;
}

/* The row of an offer that has the length of portion `index` for all members: of a reduce-scatter
 * that of the member that gets it, else that of a member that gives it. */
static const weft_export_row_t *length_of(const weft_meeting_t *meeting, int index)
{
    const weft_offer_t *own = wefti_offer_of(meeting, meeting->member);
    int member = wefti_offer_is_from_root(own) ? own->root : index;
    bool is_reduce_scatter = own->op >= 0 && has_blocks((weft_coll_t)own->coll);
    return wefti_offer_row(wefti_offer_of(meeting, member),
                           is_reduce_scatter ? WEFT_GETS : WEFT_GIVES, index);
}

/* This member gives all that is reduced, else what is its own. It gets all that is gathered, except
 * for its own block in place, else what is its own. */
static weft_portion_t portion_at(const weft_task_t *task, int index)
{
    const weft_meeting_t *meeting = &task->meeting;
    const weft_offer_t *own = wefti_offer_of(meeting, meeting->member);
    const weft_export_row_t *got = wefti_offer_row(own, WEFT_GETS, index);
    bool is_others = has_blocks(task->coll) && index != meeting->member, reduces = own->op >= 0;
    weft_portion_t portion = {.bytes = length_of(meeting, index)->bytes};
    if (reduces || !is_others)
        portion.from = wefti_export_place(meeting, task->exports, WEFT_GIVES, index);
    if (got != NULL && got->bytes > 0 && !(reduces && is_others))
        portion.to = wefti_export_place(meeting, task->exports, WEFT_GETS, index);
    return portion;
}

static int multicast_launch(const weft_kernel_state_t *state, const weft_task_t *task,
                            weft_queue_t **queue_out)
{
    const multicast_state_t *its = (const multicast_state_t *)state;
    const weft_multicast_t *object = its->object;
    const weft_meeting_t *meeting = &task->meeting;
    weft_queue_t *queue = weft_device->queue(state->device, WEFT_STREAM_EXCHANGE);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    weft_multicast_call_t call = {.op = task->args.op,
                                  .type = task->args.recv_type,
                                  .multicast = object,
                                  .members = meeting->members,
                                  .member = meeting->member,
                                  .flag = wefti_watch_flag(meeting),
                                  .watch = object->watch,
                                  .scatters = task->args.op != NULL && task->coll != WEFT_ALLREDUCE,
                                  .portions = has_blocks(task->coll) ? meeting->members : 1};
    for (int i = 0; i < call.portions; i++)
        call.portion[i] = portion_at(task, i);
    wefti_bound_portions(&its->bound, task, &call);
    *queue_out = queue;
    return weft_device->multicast(queue, &call);
}

/* The call's buffers are bound before its kernel is launched: the driver may wait for kernels of
 * this rank, and these for other ranks. */
static void multicast_begin(weft_task_t *task)
{
    multicast_state_t *its = (multicast_state_t *)wefti_kernel_state(task, WEFT_METHOD_MULTICAST);
    if (its != NULL)
        wefti_bound_advance(&its->bound, task);
    wefti_kernel_begin(task);
}

const weft_device_method_t wefti_multicast_method = {
    .name = "multicast",
    .where = "one host, multicast on devices",
    .scope = WEFT_SCOPE_ONE_HOST,
    .knows = multicast_knows,
    .possible = multicast_possible,
    .offer = multicast_offer,
    .learn = multicast_learn,
    .agrees = multicast_agrees,
    .begin = multicast_begin,
    .cancel = wefti_kernel_cancel,
    .end = wefti_kernel_end,
    .release = wefti_kernel_release,
    .is_done_by_all = true,
};
