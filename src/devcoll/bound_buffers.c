/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/bound_buffers.h"

#include "runtime/fd_mail.h"
#include "base/config.h"

typedef enum bound_stage { BOUND_NO, BOUND_NEW, BOUND_JOINED, BOUND_BOUND } bound_stage_t;

enum {
    USES_LEAST = 2,    /* a buffer that is used once is not worth the milliseconds of binding it */
    PATIENCE = 16,     /* calls in which an object is not used, one after the other */
    TRIES_MOST = 3,    /* objects for a buffer */
    REFUSALS_MOST = 3, /* by the driver, for a communicator */
    OBJECTS_MOST = 16, /* of this process: a switch can hold few */
    OLD = 64,          /* calls after which a binding makes room for another */
    ALIGNMENT = 16,    /* of portions: what the switch stores at a time */
};

uint64_t wefti_bound_calls;

static int object_count;

/* ---- the buffers of a call ---- */

/* Is there something that is added up (GIVES), or goes to all (GETS)? These are the two sides here,
 * of which a portion is one of a call by multicast. */
static bool has_side(const weft_offer_t *offer, weft_side_t side)
{
    return side == WEFT_GIVES ? offer->op >= 0 : offer->op < 0 || offer->coll == WEFT_ALLREDUCE;
}

/* The data of a broadcast are what the root gives and the others get. */
static weft_side_t exported_side(const weft_offer_t *offer, int member, weft_side_t side)
{
    bool is_root = wefti_offer_is_from_root(offer) && member == offer->root;
    return is_root ? WEFT_GIVES : side;
}

/* Data in the memory of a member. */
typedef struct extent {
    uint64_t address, bytes;
} extent_t;

static extent_t extent_of_row(const weft_offer_t *offer, weft_side_t side, int index)
{
    const weft_export_row_t *row = wefti_offer_row(offer, side, index);
    return row == NULL ? (extent_t){0}
                       : (extent_t){offer->share[side].address + row->offset, row->bytes};
}

static int portions_of(const weft_offer_t *offer, int member, weft_side_t side)
{
    return (int)offer->rows[exported_side(offer, member, side)];
}

/* In place an allgather does not get the member's own block, but it lies among the others. */
static extent_t extent_of_portion(const weft_offer_t *offer, int member, weft_side_t side,
                                  int index)
{
    extent_t extent = extent_of_row(offer, exported_side(offer, member, side), index);
    bool is_gathered = side == WEFT_GETS && portions_of(offer, member, side) > 1;
    return is_gathered && index == member && extent.bytes == 0
               ? extent_of_row(offer, WEFT_GIVES, index)
               : extent;
}

/* From the first byte to the last one. */
static extent_t extent_of_side(const weft_offer_t *offer, int member, weft_side_t side)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (int i = 0; i < portions_of(offer, member, side); i++) {
        extent_t one = extent_of_portion(offer, member, side, i);
        if (one.bytes > 0 && one.address < begin)
            begin = one.address;
        if (one.bytes > 0 && one.address + one.bytes > end)
            end = one.address + one.bytes;
    }
    return end == 0 ? (extent_t){0} : (extent_t){begin, end - begin};
}

static const weft_offer_t *own_offer(const weft_task_t *task)
{
    return wefti_offer_of(&task->meeting, task->meeting.member);
}

/* What is shared of a side, from the first byte of its data on. */
static weft_share_t share_of_side(const weft_task_t *task, weft_side_t side, extent_t extent)
{
    weft_side_t exported = exported_side(own_offer(task), task->meeting.member, side);
    weft_share_t share = task->exports[exported].share;
    share.address = extent.address;
    return share;
}

/* NULL: it has not been seen. A buffer may be used in parts that begin where it does. */
static weft_bound_buffer_t *find_buffer(const weft_bound_buffers_t *buffers, uint64_t id,
                                        extent_t extent)
{
    for (int i = 0; i < WEFT_BOUND_BUFFERS; i++) {
        const weft_bound_buffer_t *at = &buffers->buffer[i];
        if (at->id != 0 && at->id == id && at->address == extent.address &&
            at->bytes >= extent.bytes)
            return (weft_bound_buffer_t *)at;
    }
    return NULL;
}

static weft_bound_buffer_t *buffer_of_call(const weft_bound_buffers_t *buffers,
                                           const weft_task_t *task, weft_side_t side)
{
    extent_t extent = extent_of_side(own_offer(task), task->meeting.member, side);
    return find_buffer(buffers, share_of_side(task, side, extent).id, extent);
}

/* ---- giving up ---- */

static void close_object(weft_bound_buffer_t *its, bool is_unsafe)
{
    if (its->object == NULL)
        return;
    weft_device->close_multicast(its->object, is_unsafe);
    object_count--;
    its->object = NULL;
    its->is_bound = false;
    its->stalled = 0;
}

static void drop_object(weft_bound_buffer_t *its)
{
    close_object(its, false);
    its->is_given_up = ++its->tries >= TRIES_MOST;
}

static void refused(weft_bound_buffers_t *buffers, weft_bound_buffer_t *its)
{
    close_object(its, false);
    its->is_given_up = true;
    buffers->refusals++;
}

static void forget_buffer(weft_bound_buffer_t *its, bool is_unsafe)
{
    close_object(its, is_unsafe);
    *its = (weft_bound_buffer_t){0};
}

static void forget_freed(weft_bound_buffers_t *buffers)
{
    for (int i = 0; i < WEFT_BOUND_BUFFERS; i++) {
        const weft_multicast_t *object = buffers->buffer[i].object;
        if (object != NULL && object->is_gone)
            forget_buffer(&buffers->buffer[i], false);
    }
}

void wefti_bound_close(weft_bound_buffers_t *buffers, bool is_unsafe)
{
    for (int i = 0; i < WEFT_BOUND_BUFFERS; i++)
        forget_buffer(&buffers->buffer[i], is_unsafe);
}

/* ---- buffers that are seen for the first time ---- */

static bool is_old(const weft_bound_buffers_t *buffers, const weft_bound_buffer_t *its)
{
    return its->object == NULL || buffers->calls - its->last_use > OLD;
}

/* The one that was used longest ago. NULL: all are bound, and in use. */
static weft_bound_buffer_t *oldest_buffer(weft_bound_buffers_t *buffers)
{
    weft_bound_buffer_t *oldest = NULL;
    for (int i = 0; i < WEFT_BOUND_BUFFERS; i++) {
        weft_bound_buffer_t *its = &buffers->buffer[i];
        if (is_old(buffers, its) && (oldest == NULL || its->last_use < oldest->last_use))
            oldest = its;
    }
    return oldest;
}

static weft_bound_buffer_t *add_buffer(weft_bound_buffers_t *buffers, const weft_share_t *share,
                                       size_t bytes)
{
    weft_bound_buffer_t *its = oldest_buffer(buffers);
    if (its == NULL)
        return NULL;
    forget_buffer(its, false);
    its->id = share->id;
    its->address = share->address;
    its->bytes = bytes;
    its->is_given_up = !weft_device->can_bind(buffers->device, share, bytes, &its->place);
    return its;
}

/* May one more object be made? A binding that was not used for long makes room. */
static bool has_room_for_object(weft_bound_buffers_t *buffers)
{
    for (int i = 0; i < WEFT_BOUND_BUFFERS && object_count >= OBJECTS_MOST; i++) {
        weft_bound_buffer_t *its = &buffers->buffer[i];
        if (its->object != NULL && is_old(buffers, its))
            forget_buffer(its, false);
    }
    return object_count < OBJECTS_MOST;
}

/* ---- offers ---- */

static weft_bound_offer_t stage_of(const weft_bound_buffer_t *its)
{
    if (its->is_given_up || its->uses < USES_LEAST)
        return (weft_bound_offer_t){.stage = BOUND_NO};
    bound_stage_t stage = its->object == NULL ? BOUND_NEW : BOUND_JOINED;
    return (weft_bound_offer_t){
        .stage = its->is_bound ? BOUND_BOUND : stage, .place = its->place, .object = its->share};
}

static bool is_worth_binding(const weft_bound_buffers_t *buffers, const weft_task_t *task,
                             weft_side_t side, extent_t extent)
{
    const weft_offer_t *own = own_offer(task);
    const weft_export_t *export = &task->exports[exported_side(own, task->meeting.member, side)];
    return export->device == buffers->device && !wefti_export_needs_copy(export) &&
           extent.bytes > 0 && extent.bytes >= weft_config.DEVICE_BIND_MIN &&
           buffers->refusals < REFUSALS_MOST;
}

static weft_bound_offer_t offer_for_side(weft_bound_buffers_t *buffers, const weft_task_t *task,
                                         weft_side_t side)
{
    extent_t extent = extent_of_side(own_offer(task), task->meeting.member, side);
    weft_share_t share = share_of_side(task, side, extent);
    if (!is_worth_binding(buffers, task, side, extent))
        return (weft_bound_offer_t){.stage = BOUND_NO};
    weft_bound_buffer_t *its = find_buffer(buffers, share.id, extent);
    if (its == NULL)
        its = add_buffer(buffers, &share, extent.bytes);
    if (its == NULL)
        return (weft_bound_offer_t){.stage = BOUND_NO};
    its->uses += its->last_use != buffers->calls; /* once a call, also in place */
    its->last_use = buffers->calls;
    return stage_of(its);
}

void wefti_bound_offer(weft_bound_buffers_t *buffers, const weft_task_t *task, weft_offer_t *offer)
{
    buffers->calls++;
    forget_freed(buffers);
    for (int side = 0; side < WEFT_SIDES; side++) {
        if (has_side(offer, (weft_side_t)side))
            offer->bound[side] = offer_for_side(buffers, task, (weft_side_t)side);
    }
}

/* ---- what all have offered ---- */

static const weft_bound_offer_t *bound_offer_of(const weft_task_t *task, int member,
                                                weft_side_t side)
{
    return &wefti_offer_of(&task->meeting, member)->bound[side];
}

static bool have_all_new(const weft_task_t *task, weft_side_t side)
{
    uint32_t place = bound_offer_of(task, 0, side)->place;
    for (int i = 0; i < task->meeting.members; i++) {
        const weft_bound_offer_t *offer = bound_offer_of(task, i, side);
        if (offer->stage != BOUND_NEW || offer->place != place)
            return false;
    }
    return true;
}

/* Have all reached this stage, with the object of member 0? */
static bool have_all_reached(const weft_task_t *task, weft_side_t side, bound_stage_t stage)
{
    const weft_multicast_share_t *object = &bound_offer_of(task, 0, side)->object;
    for (int i = 0; i < task->meeting.members; i++) {
        const weft_bound_offer_t *offer = bound_offer_of(task, i, side);
        if (offer->stage < (uint32_t)stage || !wefti_is_same_object(&offer->object, object))
            return false;
    }
    return true;
}

/* ---- steps ---- */

static bool has_joined(const weft_bound_buffers_t *buffers, const weft_multicast_share_t *share)
{
    for (int i = 0; i < WEFT_BOUND_BUFFERS; i++) {
        const weft_bound_buffer_t *its = &buffers->buffer[i];
        if (its->object != NULL && wefti_is_same_object(&its->share, share))
            return true;
    }
    return false;
}

static void got_object(weft_bound_buffer_t *its, const weft_multicast_share_t *share)
{
    its->share = *share;
    object_count++;
}

/* Member 0: when all are ready for it. */
static void make_bound_object(weft_bound_buffers_t *buffers, weft_bound_buffer_t *its,
                              const weft_task_t *task)
{
    its->object = weft_device->make_multicast(buffers->device, task->meeting.members,
                                              its->place + its->bytes);
    if (its->object == NULL)
        refused(buffers, its);
    else
        got_object(its, &its->object->share);
}

/* The others: the object that member 0 offers. */
static void join_bound_object(weft_bound_buffers_t *buffers, weft_bound_buffer_t *its,
                              const weft_bound_offer_t *offer)
{
    its->object = weft_device->join_multicast(buffers->device, &offer->object);
    if (its->object != NULL)
        got_object(its, &offer->object);
    else if (!weft_fd_is_awaited((int)offer->object.owner, offer->object.ticket))
        refused(buffers, its);
}

static void begin_binding(weft_bound_buffers_t *buffers, weft_bound_buffer_t *its,
                          const weft_task_t *task, weft_side_t side)
{
    const weft_bound_offer_t *maker = bound_offer_of(task, 0, side);
    if (!has_room_for_object(buffers))
        return;
    if (task->meeting.member == 0 && have_all_new(task, side))
        make_bound_object(buffers, its, task);
    else if (task->meeting.member != 0 && maker->stage == BOUND_JOINED &&
             maker->place == its->place && !has_joined(buffers, &maker->object))
        join_bound_object(buffers, its, maker);
}

static void go_on_binding(weft_bound_buffers_t *buffers, weft_bound_buffer_t *its,
                          const weft_task_t *task, weft_side_t side)
{
    if (have_all_reached(task, side, BOUND_BOUND))
        its->stalled = 0;
    else if (!its->is_bound && have_all_reached(task, side, BOUND_JOINED)) {
        weft_share_t share =
            share_of_side(task, side, extent_of_side(own_offer(task), task->meeting.member, side));
        its->is_bound = weft_device->bind_buffer(its->object, &share, its->bytes);
        if (!its->is_bound)
            refused(buffers, its);
    } else if (++its->stalled > PATIENCE)
        drop_object(its);
}

void wefti_bound_advance(weft_bound_buffers_t *buffers, const weft_task_t *task)
{
    const weft_bound_buffer_t *before = NULL;
    if (!weft_device->may_bind())
        return;
    for (int side = 0; side < WEFT_SIDES; side++) {
        if (bound_offer_of(task, task->meeting.member, (weft_side_t)side)->stage == BOUND_NO)
            continue;
        weft_bound_buffer_t *its = buffer_of_call(buffers, task, (weft_side_t)side);
        if (its == NULL || its == before) /* in place: both sides are the same buffer */
            continue;
        before = its;
        if (its->object == NULL)
            begin_binding(buffers, its, task, (weft_side_t)side);
        else
            go_on_binding(buffers, its, task, (weft_side_t)side);
    }
}

/* ---- use ---- */

/* How far a portion is from the beginning of a member's data; 0 for an empty one. */
static uint64_t bound_place(extent_t portion, extent_t all)
{
    return portion.bytes == 0 ? 0 : portion.address - all.address;
}

static bool has_like_places(const weft_task_t *task, int member, weft_side_t side)
{
    int self = task->meeting.member;
    const weft_offer_t *own = own_offer(task), *offer = wefti_offer_of(&task->meeting, member);
    extent_t own_all = extent_of_side(own, self, side), all = extent_of_side(offer, member, side);
    for (int index = 0; index < portions_of(own, self, side); index++) {
        uint64_t place = bound_place(extent_of_portion(offer, member, side, index), all);
        if (place % ALIGNMENT != 0 ||
            place != bound_place(extent_of_portion(own, self, side, index), own_all))
            return false;
    }
    return true;
}

/* Do all portions of all members lie at the same multiples of 16? */
static bool are_places_alike(const weft_task_t *task, weft_side_t side)
{
    bool are_alike = true;
    for (int i = 0; i < task->meeting.members && are_alike; i++)
        are_alike = has_like_places(task, i, side);
    return are_alike;
}

/* Where the data of a side begin in the memory of all; NULL: not all are bound. */
static char *bound_data(const weft_bound_buffers_t *buffers, const weft_task_t *task,
                        weft_side_t side)
{
    if (!have_all_reached(task, side, BOUND_BOUND) || !are_places_alike(task, side))
        return NULL;
    const weft_bound_buffer_t *its = buffer_of_call(buffers, task, side);
    return (char *)its->object->at + its->place;
}

static void *bound_portion(const weft_task_t *task, weft_side_t side, int index, char *data)
{
    const weft_offer_t *own = own_offer(task);
    int self = task->meeting.member;
    return data == NULL ? NULL
                        : data + bound_place(extent_of_portion(own, self, side, index),
                                             extent_of_side(own, self, side));
}

void wefti_bound_portions(const weft_bound_buffers_t *buffers, const weft_task_t *task,
                          weft_multicast_call_t *call)
{
    char *from = bound_data(buffers, task, WEFT_GIVES), *to = bound_data(buffers, task, WEFT_GETS);
    wefti_bound_calls += from != NULL || to != NULL;
    for (int i = 0; i < call->portions; i++) {
        call->portion[i].from_all = bound_portion(task, WEFT_GIVES, i, from);
        call->portion[i].to_all = bound_portion(task, WEFT_GETS, i, to);
    }
}
