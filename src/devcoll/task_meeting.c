/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks at meetings: each rank of a host exports its buffers and comes to a meeting with an offer,
 * which names the methods by which it would do the call. If all come, the first method that all
 * agree on is taken. If a rank does not come, each rank goes on solo.
 *
 * When a rank dies (WEFT_RECOVERY), each other rank of the host learns so by itself. It comes to no
 * further meeting of the communicator, begins no work at one that is held, and calls its kernel
 * off. The meeting ends as LOST when no living rank works for it any more, since one that does
 * writes to the memory of all.
 */
#include "devcoll/comm_state.h"
#include "devcoll/kernel_method.h"
#include "devcoll/stopped_member.h"

#include "runtime/failures.h"
#include "runtime/meeting.h"
#include "runtime/progress.h"
#include "base/clock.h"
#include "base/fail.h"
#include "mpix.h"

/* Members that have not left an older meeting are mostly inside MPI, and their next round of
 * progress ends that meeting. */
enum { DOOR_PATIENCE_NS = 2000000 };

/* How long another rank is given to take over the work of a meeting. Another process has its turn
 * on a device 150 us later (on an H200) if it is only one of two, and 2 ms later if it is one of
 * many that all want it. */
enum { DEPUTY_PATIENCE_NS = 500000 };

static weft_list_t waiting = {&waiting, &waiting}; /* the tasks that are at meetings */
static int waiting_count;

static void close_exports(weft_task_t *task)
{
    for (int i = 0; i < WEFT_SIDES; i++)
        wefti_export_close(&task->exports[i]);
}

static void end_at_meeting(weft_task_t *task)
{
    close_exports(task);
    wefti_task_finish(task);
}

/* Copies between the user's memory and the copy that is exported in its place. */
static void copy_export(weft_task_t *task, weft_side_t side)
{
    const weft_export_t *export = &task->exports[side];
    for (int i = 0; wefti_export_needs_copy(export) && i < export->regions.count; i++) {
        weft_elements_t user, scratch;
        wefti_export_copy_of(export, i, &user, &scratch);
        if (user.count > 0)
            wefti_task_copy(task, side == WEFT_GIVES ? &user : &scratch,
                            side == WEFT_GIVES ? &scratch : &user);
    }
}

void wefti_task_take_results(weft_task_t *task)
{
    weft_meeting_leave(&task->meeting);
    wefti_task_step(task, end_at_meeting);
    copy_export(task, WEFT_GETS);
    wefti_task_go_on(task);
}

static void give_up_meeting(weft_task_t *task)
{
    task->fetch_until_ns = 0;
    weft_meeting_leave(&task->meeting);
    close_exports(task);
    task->go_solo(task);
}

bool wefti_task_has_lost(const weft_task_t *task)
{
    return wefti_comm_lost(task->request.comm) != WEFT_NO_PROCESS;
}

/* Where a member has died, that is the cause. */
void wefti_task_fail_at_meeting(weft_task_t *task, int err)
{
    if (wefti_task_has_lost(task))
        err = weft_fail(MPIX_ERR_PROC_FAILED, "%s",
                        weft_failure_text(wefti_comm_lost(task->request.comm)));
    weft_meeting_leave(&task->meeting);
    weft_request_note_error(&task->request, err);
    end_at_meeting(task);
}

/* ---- methods ---- */

static void meeting_work_is_over(weft_event_t *event, int error)
{
    weft_task_t *task = event->owner;
    weft_device_methods[task->method]->end(task, error);
}

int wefti_task_record(weft_task_t *task, weft_queue_t *queue)
{
    task->event = (weft_event_t){.done = meeting_work_is_over, .owner = task};
    return weft_device->record(queue, &task->event);
}

static void write_offer(weft_task_t *task)
{
    weft_offer_call_t call = {.coll = task->coll,
                              .tag = task->place.tag,
                              .root = task->args.root,
                              .radix = task->radix,
                              .args = &task->args};
    weft_offer_t *offer = wefti_offer_write(&task->meeting, &call, task->exports);
    for (int i = 0; i < WEFT_METHODS; i++) {
        const weft_device_method_t *its = weft_device_methods[i];
        if (its->offer != NULL && its->offer(task, offer))
            offer->ready |= 1u << i;
    }
}

/* Returns WEFT_METHODS if no method fits. */
static int agreed_method(const weft_task_t *task)
{
    int i = 0;
    while (i < WEFT_METHODS &&
           (weft_device_methods[i]->offer == NULL || !weft_device_methods[i]->agrees(task)))
        i++;
    return i;
}

/* Where ranks take turns on a device, the one that has worked last still has its turn, as far as
 * collectives are concerned. Returns true if it was asked to decide. */
static bool hand_over(weft_task_t *task)
{
    weft_device_t *device = wefti_exports_device(task->exports);
    int worker = weft_meeting_worker(&task->meeting);
    bool is_own = worker < 0 || worker >= task->members || worker == task->member;
    bool is_refused = task->handed_until_ns != 0;
    task->handed_until_ns = 0;
    if (device == NULL || !weft_device->is_shared(device) || wefti_direct_is_shared(&task->meeting))
        return false;
    if (is_own || is_refused || !weft_meeting_may_hand(&task->meeting)) {
        weft_meeting_note_worker(&task->meeting);
        return false;
    }
    task->handed_until_ns = weft_clock_ns() + DEPUTY_PATIENCE_NS;
    weft_meeting_hand(&task->meeting, worker);
    return true;
}

/* All offers are there, and this rank came last. Nobody uses what a dead member has offered.
 * Returns false if it has to lead again, in a later round of progress. */
static bool lead_meeting(weft_task_t *task)
{
    if (wefti_task_has_lost(task)) {
        weft_meeting_decide(&task->meeting, WEFT_MEETING_LOST);
        return true;
    }
    int method = agreed_method(task);
    if (method == WEFT_METHODS) {
        weft_meeting_decide(&task->meeting, WEFT_MEETING_OFF);
        return true;
    }
    if (method == WEFT_METHOD_DIRECT && hand_over(task))
        return true;
    bool is_done_by_all = weft_device_methods[method]->is_done_by_all;
    task->method = method;
    if (is_done_by_all) {
        weft_meeting_decide(&task->meeting, WEFT_MEETING_AGREED);
        task->seen = WEFT_MEETING_AGREED;
    }
    wefti_method_begin(task);
    return is_done_by_all || !task->leads; /* the first of these may have ended the task */
}

/* Methods at the end of the array need the least, so they get their memory first. */
static void learn_methods(weft_task_t *task)
{
    if (task->fetch_until_ns != 0) /* the work is begun again */
        return;
    for (int i = WEFT_METHODS - 1; i >= 0; i--) {
        if ((task->methods & 1u << i) != 0 && weft_device_methods[i]->learn != NULL)
            weft_device_methods[i]->learn(task);
    }
}

static void cancel_if_failed(weft_task_t *task)
{
    bool has_begun = task->seen == WEFT_MEETING_AGREED;
    bool is_hopeless = weft_meeting_has_failed(&task->meeting) || wefti_task_has_lost(task) ||
                       (task->has_kernel && wefti_is_member_stopped(task));
    if (has_begun && is_hopeless && weft_device_methods[task->method]->cancel != NULL)
        weft_device_methods[task->method]->cancel(task);
}

/* ---- waiting ---- */

void wefti_task_stop_waiting(weft_task_t *task)
{
    weft_list_remove(&task->link);
    waiting_count--;
    weft_progress_await_silent(-1);
}

static void conclude(weft_task_t *task, weft_meeting_state_t state)
{
    wefti_task_stop_waiting(task);
    /* after a meeting in which the others could not map everything */
    wefti_direct_unmap(&task->work);
    if (state == WEFT_MEETING_DONE)
        wefti_task_take_results(task);
    else if (state == WEFT_MEETING_OFF)
        give_up_meeting(task);
    else
        wefti_task_fail_at_meeting(
            task,
            weft_fail(MPI_ERR_OTHER, "the device work of a collective has failed on this rank, "
                                     "or on another rank of its host"));
}

/* Sections begin while the device's events are polled, and such a poll must not start another one;
 * handling a failure would wait for the queue. So their work begins in a round of progress. */
static bool is_section(const weft_task_t *task)
{
    return task->plan == NULL;
}

static bool begin_to_lead(weft_task_t *task)
{
    task->leads = false;
    task->seen = WEFT_MEETING_GATHERED;
    return lead_meeting(task);
}

/* Returns false if an older meeting still occupies the place on the board. */
static bool enter(weft_task_t *task)
{
    if (!weft_meeting_enter(task->meeting.board, task->meeting.number, task->members, task->member,
                            &task->meeting))
        return false;
    task->is_inside = true;
    write_offer(task);
    task->give_up_ns = weft_clock_ns() + weft_meeting_patience_ns(&task->meeting);
    task->leads = weft_meeting_arrive(&task->meeting) == WEFT_MEETING_GATHERED;
    task->seen = WEFT_MEETING_OPEN; /* look() has not seen any state of this meeting yet */
    if (task->leads && !is_section(task))
        begin_to_lead(task);
    return true;
}

/* The task waits until an older meeting leaves the place on the board. */
static bool try_again(weft_task_t *task)
{
    if (enter(task))
        return true;
    if (weft_clock_ns() <= task->give_up_ns)
        return false;
    wefti_task_stop_waiting(task);
    close_exports(task);
    task->go_solo(task);
    return true;
}

/* Returns false if it has to be done again. */
static bool work(weft_task_t *task)
{
    if (wefti_task_has_lost(task)) {
        weft_meeting_refrain(&task->meeting);
    } else if (task->work.mappings != NULL) {
        wefti_direct_do_part(task);
    } else {
        learn_methods(task);
        wefti_direct_map_and_work(task);
    }
    return task->seen == WEFT_MEETING_WORKING;
}

/* Acts on the meeting's new state; returns false if there was nothing to do for this rank, or it
 * has to be done again. */
static bool follow(weft_task_t *task, weft_meeting_state_t state)
{
    task->seen = state;
    if (state <= WEFT_MEETING_GATHERED)
        return false;
    if (state != WEFT_MEETING_AGREED)
        wefti_kernel_let_go(task);
    switch (state) {
    case WEFT_MEETING_AGREED:
        task->method = agreed_method(task);
        wefti_method_begin(task);
        break;
    case WEFT_MEETING_SHARED:
        learn_methods(task);
        wefti_direct_prepare(task);
        return task->seen == state;
    case WEFT_MEETING_WORKING:
        return work(task);
    default:
        conclude(task, state);
    }
    return true;
}

static bool is_dead(const void *task, int member)
{
    return wefti_comm_member_has_failed(((const weft_task_t *)task)->request.comm, member);
}

static weft_meeting_state_t state_now(const weft_task_t *task)
{
    weft_meeting_state_t state = wefti_task_has_lost(task)
                                     ? weft_meeting_abandon(&task->meeting, is_dead, task)
                                     : weft_meeting_look(&task->meeting);
    if (state == WEFT_MEETING_OPEN && weft_clock_ns() > task->give_up_ns)
        state = weft_meeting_give_up(&task->meeting);
    /* The others know already who has died: the news reaches this rank soon. */
    return state == WEFT_MEETING_LOST && !wefti_task_has_lost(task) ? task->seen : state;
}

/* HANDED: takes the decision if this rank is asked to decide, or has asked in vain. */
static bool take_decision(weft_task_t *task)
{
    bool is_mine = task->handed_until_ns != 0 ? weft_clock_ns() > task->handed_until_ns
                                              : weft_meeting_is_deputy(&task->meeting);
    return is_mine && weft_meeting_take(&task->meeting) && begin_to_lead(task);
}

/* Looks at the state of the meeting; returns true if it has changed. */
static bool look(weft_task_t *task)
{
    if (!task->is_inside)
        return try_again(task);
    if (task->leads)
        return begin_to_lead(task);
    weft_meeting_state_t state = state_now(task);
    if (state == WEFT_MEETING_HANDED)
        return take_decision(task);
    if (task->handed_until_ns != 0) {
        task->handed_until_ns = 0;
        weft_meeting_rest(&task->meeting);
    }
    if (state == task->seen) {
        cancel_if_failed(task);
        return false;
    }
    return follow(task, state);
}

static int meeting_poll_waiting(bool everything)
{
    int moved = 0;
    (void)everything;
    for (int left = waiting_count; left > 0 && !weft_list_is_empty(&waiting); left--) {
        weft_task_t *task = WEFT_ELEMENT(weft_list_pop(&waiting), weft_task_t, link);
        weft_list_append(&waiting, &task->link);
        moved += look(task);
    }
    return moved;
}

/* The task is polled until it is over. */
static void start_waiting(weft_task_t *task)
{
    weft_progress_await_silent(1);
    weft_progress_need(meeting_poll_waiting);
    weft_list_append(&waiting, &task->link);
    waiting_count++;
}

static void attend(weft_task_t *task)
{
    if (wefti_task_error(task) != MPI_SUCCESS) {
        close_exports(task);
        task->go_solo(task);
        return;
    }
    task->meeting.board = wefti_comm_board(task->request.comm);
    task->give_up_ns = weft_clock_ns() + DOOR_PATIENCE_NS;
    start_waiting(task);
    enter(task);
}

/* Must this side be exported as a copy? It must where others write, or results go, while this
 * memory is still read. */
static bool must_copy(const weft_task_t *task, weft_side_t side)
{
    bool is_in_place = task->sides[WEFT_GIVES].is_in_place;
    switch (task->coll) {
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

/* All that a rank exports is on one device, so that one kernel reaches it. Where its buffers are on
 * two, the side with fewer bytes is exported as a copy on the other one's device: within a process
 * only the program may give a device access to the memory of another one. */
static bool bring_together(weft_export_t exports[WEFT_SIDES])
{
    weft_export_t *gives = &exports[WEFT_GIVES], *gets = &exports[WEFT_GETS];
    if (gives->device == NULL || gets->device == NULL || gives->device == gets->device)
        return true;
    if (wefti_export_bytes(gives) <= wefti_export_bytes(gets))
        return wefti_export_move(gives, gets->device);
    return wefti_export_move(gets, gives->device);
}

static bool export_sides(weft_task_t *task)
{
    for (int side = 0; side < WEFT_SIDES; side++) {
        if (!wefti_export_open(&task->sides[side], must_copy(task, (weft_side_t)side),
                               &task->exports[side])) {
            task->exports[side].scratch = NULL;
            close_exports(task);
            return false;
        }
    }
    if (bring_together(task->exports) && wefti_offer_fits(task->exports))
        return true;
    close_exports(task);
    return false;
}

static bool knows_operation(const weft_task_t *task, const weft_export_t exports[WEFT_SIDES])
{
    weft_device_t *device = exports[WEFT_GIVES].device;
    return task->args.op == NULL ||
           (device != NULL && weft_device->can_reduce(device, task->args.op, task->args.recv_type));
}

void wefti_task_attend(weft_task_t *task)
{
    if (!export_sides(task)) {
        task->go_solo(task);
        return;
    }
    task->methods &= ~wefti_kernel_given_up(task);
    if (task->methods == 0 || !knows_operation(task, task->exports)) {
        close_exports(task);
        task->go_solo(task);
        return;
    }
    wefti_task_step(task, attend);
    copy_export(task, WEFT_GIVES);
    wefti_task_go_on(task);
}

/* The methods that this rank offers at a meeting: each one that the table chooses when only it and
 * the later methods of the array are possible. So where the table prefers a method that needs
 * preparation, a later one serves until all ranks are ready. */
static unsigned methods_to_meet(const weft_task_t *task)
{
    unsigned methods = 0, possible = 0;
    for (int i = WEFT_METHODS - 1; i >= 0; i--) {
        const weft_device_method_t *its = weft_device_methods[i];
        if (its->offer != NULL && !its->possible(task))
            continue;
        possible |= 1u << i;
        if (its->offer != NULL && wefti_task_choose(task, possible) == (weft_method_index_t)i)
            methods |= 1u << i;
    }
    return methods;
}

void wefti_task_begin(weft_task_t *task)
{
    weft_comm_t *comm = task->request.comm;
    task->members = comm->size;
    task->member = comm->rank;
    task->go_solo = wefti_task_begin_solo;
    /* Between the groups of an intercommunicator there are messages only. */
    task->methods = task->args.inter != NULL ? 0 : methods_to_meet(task);
    weft_board_t *board = task->methods == 0 ? NULL : wefti_comm_board(comm);
    if (board == NULL || !wefti_comm_is_one_host(comm) || wefti_task_has_lost(task) ||
        !weft_board_meets(board, task->meeting.number))
        wefti_task_begin_solo(task);
    else
        wefti_task_attend(task);
}

void wefti_task_meetings_close(void)
{
    weft_progress_remove(meeting_poll_waiting);
}
