/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The method "ll", for few bytes and ranks that each have a device of their own: the kernels of all
 * ranks send each other the data through inboxes, with a flag in every 8 bytes (an LL protocol;
 * cuda/kernels/kernel_args.h). An inbox has a part for each meeting that a board can hold at the
 * same time. So a part is written again only when all ranks have left the earlier meeting, and
 * their kernels for that meeting have ended. A part has two rows for each member: one for blocks,
 * one for results of an allreduce in two shots:
 *
 *   inbox   | part of meetings 0, 4, 8 ... | of 1, 5, 9 ... | of 2, 6, 10 ... | of 3, 7, 11 ... |
 *   part    | blocks of member 0 | of 1 | ... | results of member 0 | of 1 | ... |
 *
 * Stages: at a meeting whose offers show that all devices differ, each rank makes an inbox
 * (OFFERED). At the next one all offer their inboxes and map those of the others (READY). Both of
 * these meetings are done by the method "direct". After them each rank is ready.
 *
 * A rank has an inbox on each of its devices that it brings to the communicator, with a number.
 * Ranks change their devices independently, so an offer says which inboxes of each other member are
 * mapped for its device. The kernels do a call if each member has mapped those inboxes that all
 * others offer for it; if not, it is done by "direct", and the members map what is missing.
 */
#include "devcoll/kernel_method.h"

#include "devcoll/comm_state.h"
#include "devcoll/kernel_watch.h"

#include <string.h>

enum {
    PART_BYTES = 4 << 20, /* for one meeting: 1 MiB of data with their flags, twice */
    INBOX_BYTES = WEFT_MEETINGS * PART_BYTES,
    LINES_BYTES = 32, /* the size of a row is a multiple of this */
    UNIT_BYTES = 16,
    /* In one shot each rank sends its operand to all others. Two shots send two parts of an operand
     * to each, and wait twice. Published measurements on eight devices put the change between 16
     * and 64 KiB; it was not measured here. */
    ONE_SHOT_MOST = 32 * 1024,
    INBOXES_MOST = 8, /* of a rank in a communicator: there is a bit for each */
};

enum {
    STAGE_OFFERED = WEFT_STAGE_OWN, /* the inbox exists */
    STAGE_READY,                    /* the inboxes of all others are mapped */
};

typedef struct ll_state {
    weft_kernel_state_t state; /* first */
    int members;
    unsigned index; /* of the inbox among those of this rank */
    weft_inbox_t inbox;
    weft_share_t share;
    weft_mapping_t peers[WEFT_EXCHANGE_MOST_MEMBERS][INBOXES_MOST];
    uint8_t mapped[WEFT_EXCHANGE_MOST_MEMBERS]; /* a bit for each inbox of a member in `peers` */
} ll_state_t;

/* An inbox that a kernel may still use is never released. */
static bool ll_close(weft_kernel_state_t *state)
{
    ll_state_t *ll = (ll_state_t *)state;
    for (int i = 0; i < ll->members * INBOXES_MOST; i++) {
        weft_mapping_t *mapping = &ll->peers[i / INBOXES_MOST][i % INBOXES_MOST];
        if (mapping->entry != NULL)
            weft_device->unmap(mapping);
    }
    if (!state->is_unsafe)
        weft_device->close_inbox(state->device, &ll->inbox);
    return !state->is_unsafe;
}

static uint32_t *ll_watch(const weft_kernel_state_t *state, const weft_meeting_t *meeting)
{
    return ((const ll_state_t *)state)->inbox.watch + 2 * meeting->slot;
}

static int ll_launch(const weft_kernel_state_t *state, const weft_task_t *task,
                     weft_queue_t **queue_out);

static weft_kernel_kind_t ll_kind = {
    .method = WEFT_METHOD_LL,
    .what = "exchange by kernels",
    .state_bytes = sizeof(ll_state_t),
    .most = 8, /* half of the default scratch memory; the other half is for data */
    .tries_most = 3,
    .close = ll_close,
    .watch = ll_watch,
    .launch = ll_launch,
};

/* ---- becoming ready ---- */

static bool ll_knows(weft_coll_t coll)
{
    return coll != WEFT_BARRIER && coll != WEFT_SCAN && coll != WEFT_EXSCAN &&
           !weft_coll_is_neighbor(coll);
}

static bool ll_possible(const weft_task_t *task)
{
    return wefti_kernel_possible(task, WEFT_METHOD_LL);
}

static bool ll_offer(weft_task_t *task, weft_offer_t *offer)
{
    const weft_kernel_state_t *state = wefti_kernel_offer(task, &ll_kind, offer);
    const ll_state_t *ll = (const ll_state_t *)state;
    if (state == NULL || state->stage < STAGE_OFFERED)
        return false;
    offer->inbox = ll->share;
    offer->inbox_index = ll->index;
    memcpy(offer->mapped, ll->mapped, sizeof(offer->mapped));
    offer->stage[WEFT_METHOD_LL] = (uint32_t)state->stage;
    return state->stage == STAGE_READY && wefti_kernel_hold(task);
}

static bool share_inbox(ll_state_t *ll)
{
    weft_memory_t memory;
    return weft_device->look(ll->inbox.memory, &memory) == MPI_SUCCESS &&
           weft_device->share(&memory, ll->inbox.memory, INBOX_BYTES, &ll->share);
}

static void make_inbox(ll_state_t *ll)
{
    weft_kernel_state_t *state = &ll->state;
    ll->index = 0;
    for (const weft_kernel_state_t *its = state->older; its != NULL; its = its->older)
        ll->index++;
    if (!wefti_kernel_has_room(state) || ll->index >= INBOXES_MOST) {
        wefti_kernel_give_up(state, "there are too many inboxes already");
        return;
    }
    if (!weft_device->open_inbox(state->device, INBOX_BYTES, wefti_kernel_cleared_event(state),
                                 &ll->inbox)) {
        wefti_kernel_refused(state, "there is no memory for an inbox, no kernel can be loaded, or "
                                    "the device ends kernels that wait");
        return;
    }
    state->is_cleared_first = true;
    wefti_kernel_got_memory(state);
    state->stage = STAGE_OFFERED;
    if (!share_inbox(ll))
        wefti_kernel_give_up(state, "the inbox cannot be shared");
}

static bool has_mapped(const uint8_t mapped[], int member, unsigned index)
{
    return (mapped[member] & 1u << index) != 0;
}

/* What cannot be mapped may be in use for another device of this rank, as drivers may open memory
 * of another process once. Then the inboxes of other calls can still be mapped. */
static bool has_siblings(const weft_task_t *task)
{
    const weft_kernel_state_t *newest = wefti_comm_method_state(task->request.comm, WEFT_METHOD_LL);
    return newest->older != NULL;
}

static void map_inboxes(ll_state_t *ll, const weft_task_t *task)
{
    const weft_meeting_t *meeting = &task->meeting;
    for (int i = 0; i < meeting->members; i++) {
        if (wefti_offer_of(meeting, i)->stage[WEFT_METHOD_LL] < STAGE_OFFERED)
            return;
    }
    for (int i = 0; i < meeting->members; i++) {
        const weft_offer_t *offer = wefti_offer_of(meeting, i);
        unsigned index = offer->inbox_index;
        if (has_mapped(ll->mapped, i, index) ||
            weft_device->map(&offer->inbox, ll->state.device, true, &ll->peers[i][index])) {
            ll->mapped[i] |= (uint8_t)(1u << index);
            continue;
        }
        if (!has_siblings(task) && weft_device->is_refused(&offer->inbox, ll->state.device))
            wefti_kernel_give_up(&ll->state, "an inbox cannot be mapped");
        return;
    }
    ll->state.stage = STAGE_READY;
}

static void ll_learn(weft_task_t *task)
{
    ll_state_t *ll = (ll_state_t *)wefti_kernel_state(task, WEFT_METHOD_LL);
    if (ll == NULL)
        return;
    ll->members = task->meeting.members;
    if (ll->state.stage >= STAGE_OFFERED)
        map_inboxes(ll, task);
    else if (ll->state.stage == WEFT_STAGE_NEW &&
             (wefti_offers_crowd(&task->meeting) == 0 || weft_device->is_shared(ll->state.device)))
        wefti_kernel_give_up(&ll->state, "ranks take turns on a device");
    else if (ll->state.stage == WEFT_STAGE_NEW)
        make_inbox(ll);
}

/* ---- blocks ---- */

/* What all members do. It follows from the offers, so it is the same on all. */
typedef struct shot {
    bool is_reduction;
    size_t slice; /* bytes of a member's part in an allreduce of two shots; 0: one shot */
    size_t most;  /* bytes of the longest block */
} shot_t;

static size_t ll_slice_of(size_t bytes, int members)
{
    size_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES, ranks = (size_t)members;
    return (units + ranks - 1) / ranks * UNIT_BYTES;
}

/* With two ranks, one shot sends no more than two shots do. */
static bool plan_shot(const weft_meeting_t *meeting, shot_t *out)
{
    const weft_offer_t *own = wefti_offer_of(meeting, meeting->member);
    shot_t shot = {.is_reduction = own->op >= 0};
    if (!wefti_offers_measure(meeting, &shot.most))
        return false;
    if (own->coll == WEFT_ALLREDUCE && meeting->members > 2 && shot.most > ONE_SHOT_MOST) {
        shot.slice = ll_slice_of(shot.most, meeting->members);
        shot.most = shot.slice;
    }
    *out = shot;
    return true;
}

/* A row has lines for the data of a block and as many bytes of flags. */
static size_t row_bytes(int members)
{
    return (size_t)PART_BYTES / 2 / (size_t)members / LINES_BYTES * LINES_BYTES;
}

/* Has each member mapped the inboxes that the others offer? */
static bool are_connected(const weft_meeting_t *meeting)
{
    for (int i = 0; i < meeting->members; i++) {
        const weft_offer_t *offer = wefti_offer_of(meeting, i);
        for (int j = 0; j < meeting->members; j++) {
            if (!has_mapped(offer->mapped, j, wefti_offer_of(meeting, j)->inbox_index))
                return false;
        }
    }
    return true;
}

static bool ll_agrees(const weft_task_t *task)
{
    shot_t shot;
    return wefti_kernel_agrees(task, WEFT_METHOD_LL) && are_connected(&task->meeting) &&
           plan_shot(&task->meeting, &shot) && shot.most <= row_bytes(task->meeting.members) / 2;
}

/* ---- the exchange ---- */

/* The row of member `writer` in an inbox's part for this meeting. */
static char *row_in(const void *inbox, const weft_meeting_t *meeting, int writer)
{
    char *part = (char *)(uintptr_t)inbox + (size_t)meeting->slot * PART_BYTES;
    return part + (size_t)writer * row_bytes(meeting->members);
}

static void put_blocks(const weft_meeting_t *meeting, const weft_export_t exports[WEFT_SIDES],
                       const shot_t *shot, weft_exchange_t *out)
{
    int self = meeting->member;
    for (int i = 0; i < meeting->members; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        peer->from = wefti_export_place(meeting, exports, WEFT_GIVES, i);
        peer->to = wefti_export_place(meeting, exports, WEFT_GETS, i);
        peer->out_bytes = wefti_offer_block_bytes(meeting, self, i);
        peer->in_bytes =
            shot->is_reduction && i != self ? 0 : wefti_offer_block_bytes(meeting, i, self);
    }
}

static void put_slices(const weft_meeting_t *meeting, const weft_export_t exports[WEFT_SIDES],
                       const shot_t *shot, weft_exchange_t *out)
{
    size_t bytes = wefti_offer_block_bytes(meeting, meeting->member, meeting->member);
    for (int i = 0; i < meeting->members; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        size_t begin = (size_t)i * shot->slice < bytes ? (size_t)i * shot->slice : bytes;
        size_t left = bytes - begin;
        peer->from = wefti_export_place(meeting, exports, WEFT_GIVES, 0) + begin;
        peer->to = wefti_export_place(meeting, exports, WEFT_GETS, 0) + begin;
        peer->out_bytes = peer->in_bytes = left < shot->slice ? left : shot->slice;
    }
    out->results = PART_BYTES / 2;
}

static void put_rows(const ll_state_t *ll, const weft_meeting_t *meeting, weft_exchange_t *out)
{
    for (int i = 0; i < meeting->members; i++) {
        const weft_mapping_t *inbox = &ll->peers[i][wefti_offer_of(meeting, i)->inbox_index];
        out->peer[i].outbox = row_in(inbox->address, meeting, meeting->member);
        out->peer[i].inbox = row_in(ll->inbox.memory, meeting, i);
    }
}

static int ll_launch(const weft_kernel_state_t *state, const weft_task_t *task,
                     weft_queue_t **queue_out)
{
    const ll_state_t *ll = (const ll_state_t *)state;
    const weft_meeting_t *meeting = &task->meeting;
    shot_t shot = {0};
    weft_queue_t *queue = weft_device->queue(state->device, WEFT_STREAM_EXCHANGE);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    weft_exchange_t exchange = {.op = task->args.op,
                                .type = task->args.recv_type,
                                .members = meeting->members,
                                .member = meeting->member,
                                .crowd = wefti_offers_crowd(meeting),
                                .flag = wefti_watch_flag(meeting),
                                .watch = ll_watch(state, meeting)};
    plan_shot(meeting, &shot);
    exchange.most = shot.most;
    put_rows(ll, meeting, &exchange);
    if (shot.slice > 0)
        put_slices(meeting, task->exports, &shot, &exchange);
    else
        put_blocks(meeting, task->exports, &shot, &exchange);
    *queue_out = queue;
    return weft_device->exchange(queue, &exchange);
}

const weft_device_method_t wefti_ll_method = {
    .name = "ll",
    .where = "one host, each on a device",
    .scope = WEFT_SCOPE_ONE_HOST,
    .knows = ll_knows,
    .possible = ll_possible,
    .offer = ll_offer,
    .learn = ll_learn,
    .agrees = ll_agrees,
    .begin = wefti_kernel_begin,
    .cancel = wefti_kernel_cancel,
    .end = wefti_kernel_end,
    .release = wefti_kernel_release,
    .is_done_by_all = true,
};
