/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/flags.h"

#include "devcoll/kernel_watch.h"
#include "base/log.h"
#include "base/memory.h"

#include <string.h>

enum {
    PART_BYTES = 4 << 20, /* of one meeting: 1 MiB of data with their flags, twice */
    INBOX_BYTES = WEFT_MEETINGS * PART_BYTES,
    LINES_BYTES = 32, /* rows are a multiple of */
    UNIT_BYTES = 16,
    OPENINGS_MOST = 3, /* times to try where the driver refuses */
    INBOXES_MOST = 8,  /* half of the scratch memory that there is by default; the rest is for data */
    /* One shot sends each operand to all; two send two parts of one to each, and wait twice. Others have found the
     * change between 16 and 64 KiB on eight devices; not measured here. */
    ONE_SHOT_MOST = 32 * 1024,
};

struct weft_flags {
    enum {
        NEW,
        OFFERED, /* the inbox is there */
        READY,
        IMPOSSIBLE,
    } state;
    int members, openings;
    bool is_abandoned; /* the communicator has gone, before the inbox was cleared */
    bool is_unsafe;    /* a kernel may write into the inbox still */
    weft_device_t *device; /* of the inbox */
    weft_inbox_t inbox;
    weft_share_t share;
    weft_event_t cleared;
    weft_mapping_t peers[WEFT_EXCHANGE_MOST_MEMBERS];
};

static int inboxes;

/* ---- making and releasing ---- */

static void close_mappings(weft_flags_t *flags)
{
    for (int i = 0; i < flags->members; i++) {
        if (flags->peers[i].entry != NULL)
            weft_device_unmap(&flags->peers[i]);
    }
}

static void destroy(weft_flags_t *flags)
{
    close_mappings(flags);
    if (flags->inbox.memory != NULL && !flags->is_unsafe) {
        weft_inbox_close(flags->device, &flags->inbox);
        inboxes--;
    }
    weft_free(flags);
}

static void inbox_is_cleared(weft_event_t *event, int error)
{
    weft_flags_t *flags = event->owner;
    if (error != MPI_SUCCESS)
        flags->state = IMPOSSIBLE;
    if (flags->is_abandoned)
        destroy(flags);
}

static bool is_cleared(const weft_flags_t *flags)
{
    return flags->cleared.is_reached;
}

static void release_flags(weft_comm_t *comm)
{
    weft_flags_t *flags = comm->flags;
    comm->flags = NULL;
    if (flags->inbox.memory != NULL && !is_cleared(flags))
        flags->is_abandoned = true;
    else
        destroy(flags);
}

static weft_flags_t *flags_of(weft_comm_t *comm)
{
    if (comm->flags == NULL) {
        comm->flags = weft_alloc_zeroed(1, sizeof(*comm->flags));
        weft_comm_release_flags = release_flags;
    }
    if (comm->flags != NULL)
        comm->flags->members = comm->size;
    return comm->flags;
}

static void give_up(weft_flags_t *flags, const char *why)
{
    flags->state = IMPOSSIBLE;
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: no exchange by kernels: %s", why);
}

/* ---- becoming ready ---- */

bool weft_flags_are_possible(const weft_comm_t *comm, weft_coll_t coll)
{
    return comm->size <= WEFT_EXCHANGE_MOST_MEMBERS && coll != WEFT_BARRIER && coll != WEFT_SCAN &&
           coll != WEFT_EXSCAN && (comm->flags == NULL || comm->flags->state != IMPOSSIBLE);
}

weft_readiness_t weft_flags_offer(weft_comm_t *comm, const weft_loan_t loans[WEFT_SIDES], uint32_t number,
                                  weft_post_t *post)
{
    weft_flags_t *flags = flags_of(comm);
    if (flags != NULL && number >= WEFT_WATCH_FLAGS)
        flags->state = IMPOSSIBLE;
    if (flags == NULL || (flags->state != OFFERED && flags->state != READY) || !is_cleared(flags) ||
        !weft_loans_are_on(loans, flags->device))
        return WEFT_NOT_READY;
    post->inbox = flags->share;
    return flags->state == READY ? WEFT_READY : WEFT_INBOX_OFFERED;
}

static bool share_inbox(weft_flags_t *flags)
{
    weft_memory_t memory;
    return weft_memory_look(flags->inbox.memory, &memory) == MPI_SUCCESS &&
           weft_device_share(&memory, flags->inbox.memory, INBOX_BYTES, &flags->share);
}

static void make_inbox(weft_flags_t *flags, weft_device_t *device)
{
    if (inboxes == INBOXES_MOST) {
        give_up(flags, "many communicators do so already");
        return;
    }
    flags->device = device;
    flags->cleared = (weft_event_t){.done = inbox_is_cleared, .owner = flags};
    if (!weft_inbox_open(device, INBOX_BYTES, &flags->cleared, &flags->inbox)) {
        if (++flags->openings == OPENINGS_MOST)
            give_up(flags, "no memory for an inbox, or no kernels");
        return;
    }
    inboxes++;
    flags->state = OFFERED;
    if (!share_inbox(flags))
        give_up(flags, "the inbox cannot be shared");
}

static void map_inboxes(weft_flags_t *flags, const weft_meeting_t *meeting)
{
    for (int i = 0; i < meeting->members; i++) {
        if (weft_post_of(meeting, i)->readiness == WEFT_NOT_READY)
            return;
    }
    for (int i = 0; i < meeting->members; i++) {
        if (flags->peers[i].address == NULL &&
            !weft_device_map(&weft_post_of(meeting, i)->inbox, flags->device, true, &flags->peers[i])) {
            give_up(flags, "an inbox cannot be mapped");
            return;
        }
    }
    flags->state = READY;
}

void weft_flags_learn(weft_comm_t *comm, const weft_meeting_t *meeting, weft_device_t *device)
{
    weft_flags_t *flags = flags_of(comm);
    if (flags == NULL)
        return;
    if (flags->state == OFFERED)
        map_inboxes(flags, meeting);
    else if (flags->state == NEW && !weft_posts_have_devices_each(meeting))
        give_up(flags, "ranks share a device");
    else if (flags->state == NEW)
        make_inbox(flags, device);
}

/* ---- blocks ---- */

/* What all members do, from the posts: alike for all. */
typedef struct shot {
    bool is_reduction;
    size_t slice; /* bytes of a member's part of an allreduce in two shots; 0: one shot */
    size_t most;  /* of a block */
} shot_t;

/* What `from` sends to `to`, as that one has it. */
static size_t block_bytes(const weft_meeting_t *meeting, int from, int to)
{
    const weft_post_t *post = weft_post_of(meeting, to);
    bool is_from_nobody = weft_post_is_from_root(post) && from != post->root;
    const weft_loan_row_t *row = weft_post_row(post, WEFT_GETS, from);
    return row == NULL || is_from_nobody ? 0 : row->bytes;
}

/* Do both sides of all blocks have the same size? */
static bool measure(const weft_meeting_t *meeting, shot_t *shot)
{
    for (int from = 0; from < meeting->members; from++) {
        for (int to = 0; to < meeting->members; to++) {
            size_t bytes = block_bytes(meeting, from, to);
            const weft_loan_row_t *given = weft_post_row(weft_post_of(meeting, from), WEFT_GIVES, to);
            if (bytes > 0 && (given == NULL || given->bytes != bytes))
                return false;
            shot->most = bytes > shot->most ? bytes : shot->most;
        }
    }
    return true;
}

static size_t slice_of(size_t bytes, int members)
{
    size_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES, ranks = (size_t)members;
    return (units + ranks - 1) / ranks * UNIT_BYTES;
}

/* Two ranks send as much in one shot as in two. */
static bool plan(const weft_meeting_t *meeting, shot_t *out)
{
    const weft_post_t *own = weft_post_of(meeting, meeting->member);
    shot_t shot = {.is_reduction = own->op >= 0};
    if (!measure(meeting, &shot))
        return false;
    if (own->coll == WEFT_ALLREDUCE && meeting->members > 2 && shot.most > ONE_SHOT_MOST) {
        shot.slice = slice_of(shot.most, meeting->members);
        shot.most = shot.slice;
    }
    *out = shot;
    return true;
}

/* A row has lines for twice the bytes of a block. */
static size_t row_bytes(int members)
{
    return (size_t)PART_BYTES / 2 / (size_t)members / LINES_BYTES * LINES_BYTES;
}

bool weft_flags_fit(const weft_meeting_t *meeting)
{
    shot_t shot;
    const weft_post_t *own = weft_post_of(meeting, meeting->member);
    if (own->radix != 0)
        return false;
    for (int i = 0; i < meeting->members; i++) {
        const weft_post_t *post = weft_post_of(meeting, i);
        if (post->readiness != WEFT_READY || !weft_post_is_same_call(post, own))
            return false;
    }
    return plan(meeting, &shot) && shot.most <= row_bytes(meeting->members) / 2;
}

/* ---- the exchange ---- */

/* Of one member's part of this meeting, the row of member `writer`. */
static char *row_in(const void *inbox, const weft_meeting_t *meeting, int writer)
{
    char *part = (char *)(uintptr_t)inbox + (size_t)meeting->slot * PART_BYTES;
    return part + (size_t)writer * row_bytes(meeting->members);
}

static void put_blocks(const weft_meeting_t *meeting, const weft_loan_t loans[WEFT_SIDES],
                       const shot_t *shot, weft_exchange_t *out)
{
    int self = meeting->member;
    for (int i = 0; i < meeting->members; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        peer->from = weft_loan_place(meeting, loans, WEFT_GIVES, i);
        peer->to = weft_loan_place(meeting, loans, WEFT_GETS, i);
        peer->out_bytes = block_bytes(meeting, self, i);
        peer->in_bytes = shot->is_reduction && i != self ? 0 : block_bytes(meeting, i, self);
    }
}

static void put_slices(const weft_meeting_t *meeting, const weft_loan_t loans[WEFT_SIDES],
                       const shot_t *shot, weft_exchange_t *out)
{
    size_t bytes = block_bytes(meeting, meeting->member, meeting->member);
    for (int i = 0; i < meeting->members; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        size_t begin = (size_t)i * shot->slice < bytes ? (size_t)i * shot->slice : bytes;
        size_t left = bytes - begin;
        peer->from = weft_loan_place(meeting, loans, WEFT_GIVES, 0) + begin;
        peer->to = weft_loan_place(meeting, loans, WEFT_GETS, 0) + begin;
        peer->out_bytes = peer->in_bytes = left < shot->slice ? left : shot->slice;
    }
    out->results = PART_BYTES / 2;
}

static void put_rows(const weft_flags_t *flags, const weft_meeting_t *meeting, weft_exchange_t *out)
{
    for (int i = 0; i < meeting->members; i++) {
        out->peer[i].outbox = row_in(flags->peers[i].address, meeting, meeting->member);
        out->peer[i].inbox = row_in(flags->inbox.memory, meeting, i);
    }
}

static uint32_t *watch_of(const weft_flags_t *flags, const weft_meeting_t *meeting)
{
    return flags->inbox.watch + 2 * meeting->slot;
}

int weft_flags_begin(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                     const weft_loan_t loans[WEFT_SIDES], weft_queue_t **queue_out)
{
    const weft_flags_t *flags = args->comm->flags;
    shot_t shot = {0};
    weft_queue_t *queue = weft_device_queue(flags->device, WEFT_STREAM_EXCHANGE);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    weft_exchange_t exchange = {.op = args->op,
                                .type = args->recv_type,
                                .members = meeting->members,
                                .member = meeting->member,
                                .flag = weft_watch_flag(meeting),
                                .watch = watch_of(flags, meeting)};
    plan(meeting, &shot);
    exchange.most = shot.most;
    put_rows(flags, meeting, &exchange);
    if (shot.slice > 0)
        put_slices(meeting, loans, &shot, &exchange);
    else
        put_blocks(meeting, loans, &shot, &exchange);
    *queue_out = queue;
    return weft_queue_exchange(queue, &exchange);
}

/* ---- the end ---- */

void weft_flags_call_off(weft_comm_t *comm, const weft_meeting_t *meeting)
{
    weft_watch_call_off(watch_of(comm->flags, meeting), weft_watch_flag(meeting));
}

int weft_flags_end(weft_comm_t *comm, const weft_meeting_t *meeting, int err)
{
    weft_flags_t *flags = comm->flags;
    err = weft_watch_end(watch_of(flags, meeting), weft_watch_flag(meeting), err);
    if (err != MPI_SUCCESS) {
        flags->is_unsafe = true; /* others may not have seen yet that it is over */
        give_up(flags, "one has failed");
    }
    return err;
}
