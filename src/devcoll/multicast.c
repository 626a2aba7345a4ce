/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/multicast.h"

#include "devcoll/kernel_watch.h"
#include "base/log.h"
#include "base/memory.h"

enum {
    TRIES_MOST = 3, /* of a step, where the driver refuses */
    /* Objects of a process: each takes 16 MiB of the device, and what a switch has for them is not much. */
    OBJECTS_MOST = 4,
};

/* Of a communicator; what this rank has of its object. */
typedef struct weft_multicast_part {
    weft_multicast_step_t step;
    int tries;
    bool is_abandoned; /* the communicator has gone, before the memory was cleared */
    bool is_unsafe;    /* kernels may use the memory still */
    weft_device_t *device;
    weft_multicast_t *multicast; /* NULL: not yet joined */
    weft_event_t cleared;         /* once bound */
} weft_multicast_part_t;

static int objects;

/* ---- making and releasing ---- */

static void close_object(weft_multicast_part_t *part)
{
    if (part->multicast == NULL)
        return;
    weft_multicast_close(part->multicast, part->is_unsafe);
    part->multicast = NULL;
    objects--;
}

static void destroy(weft_multicast_part_t *part)
{
    close_object(part);
    weft_free(part);
}

static bool is_being_cleared(const weft_multicast_part_t *part)
{
    return part->multicast != NULL && part->multicast->watch != NULL && !part->cleared.is_reached;
}

static void give_up(weft_multicast_part_t *part, const char *why)
{
    if (part->step == WEFT_MULTICAST_NEVER)
        return;
    part->step = WEFT_MULTICAST_NEVER;
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: no multicast: %s", why);
    if (!is_being_cleared(part))
        close_object(part);
}

static void memory_is_cleared(weft_event_t *event, int error)
{
    weft_multicast_part_t *part = event->owner;
    if (error != MPI_SUCCESS)
        give_up(part, "its memory could not be cleared");
    if (part->step == WEFT_MULTICAST_NEVER)
        close_object(part);
    if (part->is_abandoned)
        destroy(part);
}

static void release_part(weft_comm_t *comm)
{
    weft_multicast_part_t *part = comm->multicast;
    comm->multicast = NULL;
    if (is_being_cleared(part))
        part->is_abandoned = true;
    else
        destroy(part);
}

static weft_multicast_part_t *part_of(weft_comm_t *comm)
{
    if (comm->multicast == NULL) {
        comm->multicast = weft_alloc_zeroed(1, sizeof(*comm->multicast));
        weft_comm_release_multicast = release_part;
    }
    return comm->multicast;
}

/* ---- becoming ready ---- */

bool weft_multicast_is_possible(const weft_comm_t *comm, weft_coll_t coll)
{
    return coll == WEFT_ALLREDUCE && comm->size <= WEFT_EXCHANGE_MOST_MEMBERS &&
           (comm->multicast == NULL || comm->multicast->step != WEFT_MULTICAST_NEVER);
}

static weft_multicast_step_t first_step(weft_device_t *device)
{
    return device != NULL && weft_device_can_multicast(device, NULL, NULL) ? WEFT_MULTICAST_ABLE : WEFT_MULTICAST_NEVER;
}

bool weft_multicast_offer(const weft_coll_args_t *args, const weft_loan_t loans[WEFT_SIDES], uint32_t number,
                          weft_post_t *post)
{
    weft_multicast_part_t *part = part_of(args->comm);
    weft_device_t *device = loans[WEFT_GETS].device;
    if (part == NULL || device == NULL)
        return false;
    if (part->step == WEFT_MULTICAST_NONE) {
        part->device = device;
        part->step = first_step(device);
    }
    if (number >= WEFT_WATCH_FLAGS)
        give_up(part, "there were many collectives");
    weft_multicast_decline(args->comm, post);
    if (part->step == WEFT_MULTICAST_NEVER || !weft_loans_are_on(loans, part->device) || is_being_cleared(part))
        return false;
    post->multicast = part->step;
    if (part->multicast != NULL)
        post->object = part->multicast->share;
    post->is_multicast_ready = part->step == WEFT_MULTICAST_BOUND &&
                               weft_device_can_multicast(part->device, args->op, args->recv_type);
    return post->is_multicast_ready;
}

void weft_multicast_decline(const weft_comm_t *comm, weft_post_t *post)
{
    bool is_never = comm->multicast != NULL && comm->multicast->step == WEFT_MULTICAST_NEVER;
    post->multicast = is_never ? WEFT_MULTICAST_NEVER : WEFT_MULTICAST_NONE;
    post->is_multicast_ready = false;
}

static bool does_any_say(const weft_meeting_t *meeting, weft_multicast_step_t step)
{
    bool is_said = false;
    for (int i = 0; i < meeting->members; i++)
        is_said |= weft_post_of(meeting, i)->multicast == step;
    return is_said;
}

static bool are_all_at(const weft_meeting_t *meeting, weft_multicast_step_t step)
{
    bool are_there = true;
    for (int i = 0; i < meeting->members; i++)
        are_there &= weft_post_of(meeting, i)->multicast >= (uint32_t)step;
    return are_there;
}

static void join(weft_multicast_part_t *part, const weft_meeting_t *meeting)
{
    const weft_post_t *maker = weft_post_of(meeting, 0);
    if (meeting->member == 0)
        part->multicast = weft_multicast_make(part->device, meeting->members);
    else if (maker->multicast >= WEFT_MULTICAST_JOINED)
        part->multicast = weft_multicast_join(part->device, &maker->object);
    else
        return;
    if (part->multicast == NULL) {
        part->tries++;
        return;
    }
    objects++;
    part->step = WEFT_MULTICAST_JOINED;
}

static void bind(weft_multicast_part_t *part)
{
    part->cleared = (weft_event_t){.done = memory_is_cleared, .owner = part};
    if (weft_multicast_bind(part->multicast, &part->cleared))
        part->step = WEFT_MULTICAST_BOUND;
    else
        part->tries++;
}

void weft_multicast_learn(weft_comm_t *comm, const weft_meeting_t *meeting, weft_device_t *device)
{
    weft_multicast_part_t *part = part_of(comm);
    if (part == NULL || part->device != device || part->step <= WEFT_MULTICAST_NEVER)
        return;
    if (does_any_say(meeting, WEFT_MULTICAST_NEVER))
        give_up(part, "another rank cannot");
    else if (part->step == WEFT_MULTICAST_ABLE && !weft_posts_have_devices_each(meeting))
        give_up(part, "ranks share a device");
    else if (part->step == WEFT_MULTICAST_ABLE && objects == OBJECTS_MOST)
        give_up(part, "many communicators do so already");
    else if (part->step == WEFT_MULTICAST_ABLE && are_all_at(meeting, WEFT_MULTICAST_ABLE))
        join(part, meeting);
    else if (part->step == WEFT_MULTICAST_JOINED && are_all_at(meeting, WEFT_MULTICAST_JOINED))
        bind(part);
    if (part->tries == TRIES_MOST)
        give_up(part, "the driver refuses");
}

/* ---- the call ---- */

/* The operand of all, as an allreduce has it; 0: they disagree. */
static size_t operand_bytes(const weft_meeting_t *meeting)
{
    size_t bytes = 0;
    for (int i = 0; i < meeting->members; i++) {
        for (int side = 0; side < WEFT_SIDES; side++) {
            const weft_loan_row_t *row = weft_post_row(weft_post_of(meeting, i), (weft_side_t)side, 0);
            if (row == NULL || (bytes != 0 && row->bytes != bytes))
                return 0;
            bytes = row->bytes;
        }
    }
    return bytes;
}

bool weft_multicast_fits(const weft_meeting_t *meeting)
{
    const weft_post_t *own = weft_post_of(meeting, meeting->member);
    if (own->coll != WEFT_ALLREDUCE || own->radix != 0)
        return false;
    for (int i = 0; i < meeting->members; i++) {
        const weft_post_t *post = weft_post_of(meeting, i);
        if (!post->is_multicast_ready || !weft_post_is_same_call(post, own))
            return false;
    }
    return operand_bytes(meeting) > 0;
}

int weft_multicast_begin(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                         const weft_loan_t loans[WEFT_SIDES], weft_queue_t **queue_out)
{
    const weft_multicast_part_t *part = args->comm->multicast;
    weft_queue_t *queue = weft_device_queue(part->device, WEFT_STREAM_EXCHANGE);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    weft_multicast_call_t call = {.op = args->op,
                                  .type = args->recv_type,
                                  .multicast = part->multicast,
                                  .members = meeting->members,
                                  .member = meeting->member,
                                  .flag = weft_watch_flag(meeting),
                                  .bytes = operand_bytes(meeting),
                                  .from = weft_loan_place(meeting, loans, WEFT_GIVES, 0),
                                  .to = weft_loan_place(meeting, loans, WEFT_GETS, 0),
                                  .watch = part->multicast->watch};
    *queue_out = queue;
    return weft_queue_multicast(queue, &call);
}

void weft_multicast_call_off(weft_comm_t *comm, const weft_meeting_t *meeting)
{
    weft_watch_call_off(comm->multicast->multicast->watch, weft_watch_flag(meeting));
}

int weft_multicast_end(weft_comm_t *comm, const weft_meeting_t *meeting, int err)
{
    weft_multicast_part_t *part = comm->multicast;
    err = weft_watch_end(part->multicast->watch, weft_watch_flag(meeting), err);
    if (err != MPI_SUCCESS) {
        part->is_unsafe = true; /* others may not have seen yet that it is over */
        give_up(part, "one has failed");
    }
    return err;
}
