/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a host together: each lends its buffers and comes to a meeting; the last who comes does
 * the work (together.h). If somebody does not come, each goes on alone.
 */
#include "devcoll/job_private.h"

#include "runtime/meeting.h"
#include "runtime/progress.h"
#include "base/clock.h"
#include "base/fail.h"

/* Members of an older meeting that have not left yet are in MPI, mostly: their next round ends it. */
enum { DOOR_PATIENCE_NS = 2000000 };

static weft_list_t waiting = {&waiting, &waiting}; /* at meetings */
static int waiting_count;

static void close_loans(weft_job_t *job)
{
    for (int i = 0; i < WEFT_SIDES; i++)
        weft_loan_close(&job->loans[i]);
}


static void end_together(weft_job_t *job)
{
    close_loans(job);
    wefti_job_finish(job);
}

/* Between the user's memory and the copy that is lent instead. */
static void copy_loan(weft_job_t *job, weft_side_t side)
{
    const weft_loan_t *loan = &job->loans[side];
    for (int i = 0; weft_loan_needs_copy(loan) && i < loan->regions.count; i++) {
        weft_elements_t user, scratch;
        weft_loan_copy_of(loan, i, &user, &scratch);
        if (user.count > 0)
            wefti_job_copy(job, side == WEFT_GIVES ? &user : &scratch, side == WEFT_GIVES ? &scratch : &user);
    }
}

void wefti_job_take_results(weft_job_t *job)
{
    weft_meeting_leave(&job->meeting);
    wefti_job_step(job, end_together);
    copy_loan(job, WEFT_GETS);
    wefti_job_go_on(job);
}

static void give_up_together(weft_job_t *job)
{
    weft_meeting_leave(&job->meeting);
    close_loans(job);
    job->go_alone(job);
}

void wefti_job_fail_together(weft_job_t *job, int err)
{
    weft_meeting_leave(&job->meeting);
    weft_request_note_error(&job->request, err);
    end_together(job);
}

/* This rank has done all the work, or its part of it, or failed to. */
static void part_is_over(weft_job_t *job, int err)
{
    bool is_good = err == MPI_SUCCESS;
    weft_together_end(&job->work);
    if (!job->is_shared)
        weft_meeting_decide(&job->meeting, is_good ? WEFT_MEETING_DONE
                                           : err == MPI_ERR_UNSUPPORTED_OPERATION
                                               ? WEFT_MEETING_OFF
                                               : WEFT_MEETING_FAILED);
    else if (weft_meeting_part_done(&job->meeting, WEFT_MEETING_WORKING, &is_good))
        weft_meeting_decide(&job->meeting, is_good ? WEFT_MEETING_DONE : WEFT_MEETING_FAILED);
}

static void work_is_over(weft_event_t *event, int error)
{
    part_is_over(event->owner, error);
}

static void work(weft_job_t *job)
{
    int err = weft_together_work(&job->work, job->is_shared);
    job->event = (weft_event_t){.done = work_is_over, .owner = job};
    if (err == MPI_SUCCESS)
        err = weft_queue_record(job->work.queue, &job->event);
    if (err == MPI_SUCCESS)
        return;
    if (job->work.queue != NULL) /* what went into it must not outlive the mappings */
        weft_queue_wait(job->work.queue);
    part_is_over(job, err);
}

/* Where this rank's data are. */
static weft_device_t *device_of(const weft_job_t *job)
{
    weft_side_t side = job->loans[WEFT_GETS].device != NULL ? WEFT_GETS : WEFT_GIVES;
    return job->loans[side].device;
}

static int map_all(weft_job_t *job)
{
    return weft_together_begin(&job->meeting, &job->args, device_of(job), &job->work);
}

/* All posts are there, and this rank is the last. */
static void lead(weft_job_t *job)
{
    if (wefti_job_can_exchange(job)) {
        weft_meeting_decide(&job->meeting, WEFT_MEETING_AGREED);
        job->seen = WEFT_MEETING_AGREED;
        wefti_job_exchange(job);
        return;
    }
    if (!weft_posts_go_together(&job->meeting)) {
        weft_meeting_decide(&job->meeting, WEFT_MEETING_OFF);
        return;
    }
    if (weft_together_is_shared(&job->meeting)) {
        weft_meeting_decide(&job->meeting, WEFT_MEETING_SHARED);
        return;
    }
    int err = map_all(job);
    if (err == MPI_SUCCESS)
        work(job);
    else
        part_is_over(job, err);
}

/* Nobody writes before all have mapped everything: until then each can still go on alone. */
static void get_ready(weft_job_t *job)
{
    job->is_shared = true;
    if ((job->ways & WEFT_WAY_FLAGS) != 0)
        weft_flags_learn(job->request.comm, &job->meeting, device_of(job));
    if ((job->ways & WEFT_WAY_MULTICAST) != 0)
        weft_multicast_learn(job->request.comm, &job->meeting, device_of(job));
    bool is_good = map_all(job) == MPI_SUCCESS;
    if (weft_meeting_part_done(&job->meeting, WEFT_MEETING_SHARED, &is_good))
        weft_meeting_decide(&job->meeting, is_good ? WEFT_MEETING_WORKING : WEFT_MEETING_OFF);
}

void wefti_job_stop_waiting(weft_job_t *job)
{
    weft_list_remove(&job->link);
    waiting_count--;
    weft_progress_await_silent(-1);
}

static void conclude(weft_job_t *job, weft_meeting_state_t state)
{
    wefti_job_stop_waiting(job);
    weft_together_end(&job->work); /* if the others could not map everything */
    if (state == WEFT_MEETING_DONE)
        wefti_job_take_results(job);
    else if (state == WEFT_MEETING_OFF)
        give_up_together(job);
    else
        wefti_job_fail_together(job, weft_fail(MPI_ERR_OTHER, "the device work of a collective has failed, of this "
                                                              "rank or of another one of its host"));
}

/* Sections begin amid a poll of the device's events, which must not be polled again from within; a failure
 * waits for the queue. So their work begins in a round of progress. */
static bool is_section(const weft_job_t *job)
{
    return job->plan == NULL;
}

static void begin_to_lead(weft_job_t *job)
{
    job->leads = false;
    job->seen = WEFT_MEETING_GATHERED;
    lead(job);
}

/* False: an older meeting in its place is not over for all. */
static bool enter(weft_job_t *job)
{
    weft_together_call_t call = {job->coll, job->args.root, job->radix, &job->args};
    if (!weft_meeting_enter(job->meeting.board, job->meeting.number, job->members, job->member, &job->meeting))
        return false;
    job->is_inside = true;
    weft_post_t *post = weft_post_write(&job->meeting, &call, job->loans);
    wefti_job_offer_exchange(job, post);
    job->give_up_ns = weft_clock_ns() + weft_meeting_patience_ns(&job->meeting);
    job->leads = weft_meeting_arrive(&job->meeting) == WEFT_MEETING_GATHERED;
    job->seen = WEFT_MEETING_OPEN; /* whatever it is: look() has not seen it */
    if (job->leads && !is_section(job))
        begin_to_lead(job);
    return true;
}

/* At the door. */
static bool try_again(weft_job_t *job)
{
    if (enter(job))
        return true;
    if (weft_clock_ns() <= job->give_up_ns)
        return false;
    wefti_job_stop_waiting(job);
    close_loans(job);
    job->go_alone(job);
    return true;
}

/* The meeting has come to a new state; false: that is no news to this rank. */
static bool follow(weft_job_t *job, weft_meeting_state_t state)
{
    job->seen = state;
    if (state == WEFT_MEETING_OPEN || state == WEFT_MEETING_GATHERED)
        return false;
    if (state != WEFT_MEETING_AGREED)
        wefti_job_refuse_exchange(job);
    switch (state) {
    case WEFT_MEETING_AGREED:
        wefti_job_exchange(job);
        break;
    case WEFT_MEETING_SHARED:
        get_ready(job);
        break;
    case WEFT_MEETING_WORKING:
        work(job);
        break;
    default:
        conclude(job, state);
    }
    return true;
}

/* What has become of the meeting; true when that was news. */
static bool look(weft_job_t *job)
{
    if (!job->is_inside)
        return try_again(job);
    if (job->leads) {
        begin_to_lead(job);
        return true;
    }
    weft_meeting_state_t state = weft_meeting_look(&job->meeting);
    if (state == WEFT_MEETING_OPEN && weft_clock_ns() > job->give_up_ns)
        state = weft_meeting_give_up(&job->meeting);
    if (state == job->seen) {
        wefti_job_watch_exchange(job);
        return false;
    }
    return follow(job, state);
}

static int poll_waiting(bool everything)
{
    int moved = 0;
    (void)everything;
    for (int left = waiting_count; left > 0 && !weft_list_is_empty(&waiting); left--) {
        weft_job_t *job = WEFT_ELEMENT(weft_list_pop(&waiting), weft_job_t, link);
        weft_list_append(&waiting, &job->link);
        moved += look(job);
    }
    return moved;
}

/* Polled until it is over. */
static void start_waiting(weft_job_t *job)
{
    weft_progress_await_silent(1);
    weft_progress_add(poll_waiting);
    weft_list_append(&waiting, &job->link);
    waiting_count++;
}

static void attend(weft_job_t *job)
{
    if (wefti_job_error(job) != MPI_SUCCESS) {
        close_loans(job);
        job->go_alone(job);
        return;
    }
    job->meeting.board = job->request.comm->board;
    job->give_up_ns = weft_clock_ns() + DOOR_PATIENCE_NS;
    start_waiting(job);
    enter(job);
}

/* Where others write, or what lies where results go, while it is still read. */
static bool must_copy(const weft_job_t *job, weft_side_t side)
{
    bool is_in_place = job->sides[WEFT_GIVES].is_in_place;
    switch (job->coll) {
    case WEFT_ALLTOALL:
    case WEFT_ALLTOALLV:
    case WEFT_ALLTOALLW:
        return is_in_place && side == WEFT_GIVES;
    case WEFT_REDUCE_SCATTER:
    case WEFT_REDUCE_SCATTER_BLOCK:
    case WEFT_EXSCAN:
        return is_in_place && side == WEFT_GETS;
    default:
        return false;
    }
}

static bool lend(weft_job_t *job)
{
    for (int side = 0; side < WEFT_SIDES; side++) {
        if (!weft_loan_open(&job->sides[side], must_copy(job, (weft_side_t)side), &job->loans[side])) {
            job->loans[side].scratch = NULL;
            close_loans(job);
            return false;
        }
    }
    if (weft_post_fits(job->loans))
        return true;
    close_loans(job);
    return false;
}

static bool knows_operation(const weft_job_t *job, const weft_loan_t loans[WEFT_SIDES])
{
    weft_device_t *device = loans[WEFT_GIVES].device;
    return job->args.op == NULL ||
           (device != NULL && weft_device_can_reduce(device, job->args.op, job->args.recv_type));
}

void wefti_job_attend(weft_job_t *job)
{
    if (!lend(job)) {
        job->go_alone(job);
        return;
    }
    if (!knows_operation(job, job->loans)) {
        close_loans(job);
        job->go_alone(job);
        return;
    }
    wefti_job_step(job, attend);
    copy_loan(job, WEFT_GIVES);
    wefti_job_go_on(job);
}

/* What the table would have done at a meeting: by multicast or flags where that is possible, else together. A way for
 * which all have to get ready first leaves those after it as they are until then. */
static unsigned ways_to_meet(const weft_job_t *job)
{
    const unsigned any = WEFT_WAY_TOGETHER | WEFT_WAY_LEVELS | WEFT_WAY_STEPPED | WEFT_WAY_STAGED;
    unsigned ways = wefti_job_way(job, any) & WEFT_WAY_TOGETHER;
    unsigned exchanges = wefti_job_exchanges(job);
    ways |= wefti_job_way(job, any | (exchanges & WEFT_WAY_FLAGS)) & WEFT_WAY_FLAGS;
    ways |= wefti_job_way(job, any | exchanges) & WEFT_WAY_MULTICAST;
    return ways;
}

void wefti_job_begin_together(weft_job_t *job)
{
    weft_comm_t *comm = job->request.comm;
    job->members = comm->size;
    job->member = comm->rank;
    job->go_alone = wefti_job_begin_alone;
    job->ways = ways_to_meet(job);
    if (job->ways == 0 || !wefti_job_has_board(comm) || !comm->is_one_host ||
        !weft_board_meets(comm->board, job->meeting.number))
        wefti_job_begin_alone(job);
    else
        wefti_job_attend(job);
}

void wefti_job_together_close(void)
{
    weft_progress_remove(poll_waiting);
}
