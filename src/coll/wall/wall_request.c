/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives on walls. Posts have one order on a wall, so the calls on it are done one
 * after the other, in the order in which they begin, which is the same at all members. A blocking
 * call waits until those before it are done. Persistent collectives may be started in another order
 * by each member, so each has a wall of its own, or is a plan of messages. A step is made in a
 * round of progress, as soon as there is room for its post and the posts that it awaits are there.
 */
#include "coll/wall/wall_call.h"

#include "coll/coll_pvars.h"
#include "coll/failure.h"
#include "object/request.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

enum { ROUNDS_PER_CHECK = 16 };

typedef struct wall_request {
    weft_request_t request;
    weft_link_t link; /* in wall->pending */
    weft_wall_call_t call;
    weft_coll_args_t args;
    weft_plan_t *plan;
    bool has_begun, has_posted; /* the call; the step */
} wall_request_t;

static weft_pool_t requests = WEFT_POOL(wall_request_t);
static weft_list_t busy_walls = {&busy_walls, &busy_walls};

/* ---- requests ---- */

static void release_type(weft_type_t *type)
{
    if (type != NULL)
        weft_type_release(type);
}

static void wall_request_release(weft_request_t *request)
{
    wall_request_t *its = (wall_request_t *)request;
    release_type(its->args.send_type);
    release_type(its->args.recv_type);
    weft_wall_end_call(&its->call);
    weft_free(its->call.streams);
    weft_plan_release(its->plan);
    if (request->is_persistent)
        weft_wall_give(its->call.wall);
    weft_comm_release(request->comm);
    weft_pool_give(&requests, its);
}

static int wall_request_start(weft_request_t *request);

static const weft_request_ops_t wall_request_ops = {.name = "collective",
                                                    .release = wall_request_release,
                                                    .start = wall_request_start,
                                                    .cancel = weft_request_cannot_cancel};

/* The program may free its types before the call is done. */
static void retain_type(weft_type_t *type)
{
    if (type != NULL)
        weft_type_retain(type);
}

static wall_request_t *create_request(weft_wall_t *wall, weft_plan_t *plan,
                                      const weft_coll_args_t *args)
{
    size_t bytes = plan->wall_steps->streams_bytes;
    wall_request_t *its = weft_pool_take(&requests);
    struct weft_wall_streams *streams = bytes > 0 && its != NULL ? weft_alloc(bytes) : NULL;
    if (its == NULL || (bytes > 0 && streams == NULL)) {
        if (its != NULL)
            weft_pool_give(&requests, its);
        return NULL;
    }
    *its = (wall_request_t){.args = *args, .plan = plan};
    its->call = (weft_wall_call_t){.wall = wall, .args = &its->args, .streams = streams};
    weft_request_init(&its->request, &wall_request_ops, args->comm);
    plan->references++;
    retain_type(args->send_type);
    retain_type(args->recv_type);
    weft_comm_retain(args->comm);
    return its;
}

/* ---- steps ---- */

static weft_wall_call_t *begin_if_new(wall_request_t *its)
{
    if (!its->has_begun) {
        its->call.wall->stamp = (uint64_t)its->plan->coll << WEFT_STAMP_SHIFT;
        its->plan->wall_steps->begin(&its->call);
        its->has_begun = true;
        if (weft_wall_is_long(&its->call))
            weft_wall_begin_long(its->call.wall);
    }
    return &its->call;
}

static bool try_post(const weft_wall_steps_t *steps, weft_wall_call_t *call)
{
    weft_wall_work_begins(call->wall);
    call->wall->is_trying = true;
    bool is_there = steps->post(call);
    call->wall->is_trying = false;
    weft_wall_work_ends(call->wall);
    return is_there;
}

static bool take(const weft_wall_steps_t *steps, weft_wall_call_t *call)
{
    weft_wall_work_begins(call->wall);
    bool is_good = steps->take(call);
    weft_wall_work_ends(call->wall);
    return is_good;
}

static bool is_awaiting(const weft_wall_call_t *call)
{
    return weft_wall_missing(call->wall, call->first, call->end, call->wall->number) < call->end;
}

/* Make one step, or a part of it. False: that has to wait, or has failed. */
static bool make_step(wall_request_t *its)
{
    const weft_wall_steps_t *steps = its->plan->wall_steps;
    weft_wall_call_t *call = &its->call;
    if (!its->has_posted && !try_post(steps, call))
        return false;
    its->has_posted = true;
    if (is_awaiting(call) || !take(steps, call))
        return false;
    call->step++;
    its->has_posted = false;
    return true;
}

static void finish_call(wall_request_t *its)
{
    weft_wall_t *wall = its->call.wall;
    weft_wall_end_long(wall);
    weft_list_remove(&its->link);
    if (weft_list_is_empty(&wall->pending)) {
        wall->is_idle = true;
        weft_list_remove(&wall->busy);
    }
    weft_wall_fetch_next(wall);
    weft_coll_explain_failure(&its->request);
    weft_request_complete(&its->request);
}

static void fail_call(wall_request_t *its)
{
    weft_wall_t *wall = its->call.wall;
    if (!its->has_begun)
        weft_request_note_error(&its->request, weft_wall_fail_again(wall));
    else
        weft_request_note_error(&its->request, wall->error);
    finish_call(its);
}

/* Go on with the first call; true: it is done. */
static bool go_on(wall_request_t *its, int *steps_out)
{
    weft_wall_t *wall = its->call.wall;
    if (wall->error != MPI_SUCCESS) {
        fail_call(its);
        return true;
    }
    weft_wall_call_t *call = begin_if_new(its);
    while (wall->error == MPI_SUCCESS && call->step < call->steps && make_step(its))
        ++*steps_out;
    if (wall->error != MPI_SUCCESS)
        fail_call(its);
    else if (call->step == call->steps)
        finish_call(its);
    else
        return false;
    return true;
}

static wall_request_t *first_of(weft_wall_t *wall)
{
    return WEFT_ELEMENT(wall->pending.next, wall_request_t, link);
}

static void look_for_trouble(weft_wall_t *wall)
{
    const wall_request_t *its = first_of(wall);
    bool has_posted = its->has_posted;
    int first = has_posted ? its->call.first : 0, end = has_posted ? its->call.end : wall->size;
    uint64_t number = has_posted ? wall->number : wall->lacks;
    int member = weft_wall_missing(wall, first, end, number);
    if (member < end)
        weft_wall_is_in_vain(wall, member, number);
}

static int advance(weft_wall_t *wall, bool has_check)
{
    int steps = 0;
    if (has_check)
        look_for_trouble(wall);
    while (!wall->is_idle && go_on(first_of(wall), &steps))
        steps++;
    return steps;
}

static int poll_busy_walls(bool everything)
{
    static unsigned rounds;
    bool has_check = everything || ++rounds % ROUNDS_PER_CHECK == 0;
    int steps = 0;
    weft_link_t *next;
    for (weft_link_t *at = busy_walls.next; at != &busy_walls; at = next) {
        next = at->next;
        steps += advance(WEFT_ELEMENT(at, weft_wall_t, busy), has_check);
    }
    if (weft_list_is_empty(&busy_walls))
        weft_progress_remove(poll_busy_walls);
    return steps;
}

/* ---- calls ---- */

weft_wall_t *weft_wall_for_request(const weft_comm_t *comm)
{
    const weft_wall_use_t *use = comm->slot[weft_wall_slot];
    return use != NULL && use->wall != NULL && use->wall->takes_all ? use->wall : NULL;
}

static void begin(wall_request_t *its)
{
    weft_wall_t *wall = its->call.wall;
    if (wall->is_idle) {
        weft_progress_need(poll_busy_walls);
        weft_list_append(&busy_walls, &wall->busy);
    }
    wall->is_idle = false;
    weft_list_append(&wall->pending, &its->link);
    if (first_of(wall) == its)
        advance(wall, false);
}

int weft_wall_begin(weft_wall_t *wall, weft_plan_t *plan, const weft_coll_args_t *args,
                    weft_request_t **out)
{
    wall_request_t *its = create_request(wall, plan, args);
    if (its == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    *out = &its->request;
    begin(its);
    return MPI_SUCCESS;
}

/* ---- persistent ---- */

int weft_wall_request_prepare(weft_wall_t *wall, weft_plan_t *plan, const weft_coll_args_t *args,
                              weft_request_t **out)
{
    wall_request_t *its = create_request(wall, plan, args);
    if (its == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_make_persistent(&its->request);
    *out = &its->request;
    return MPI_SUCCESS;
}

static int wall_request_start(weft_request_t *request)
{
    wall_request_t *its = (wall_request_t *)request;
    weft_request_restart(request);
    weft_coll_note_call(its->plan);
    weft_wall_end_call(&its->call);
    its->call = (weft_wall_call_t){
        .wall = its->call.wall, .args = &its->args, .streams = its->call.streams};
    its->has_begun = its->has_posted = false;
    begin(its);
    return MPI_SUCCESS;
}

void weft_wall_await_idle(weft_wall_t *wall)
{
    while (!wall->is_idle)
        weft_progress_until(&wall->is_idle);
}

void weft_wall_requests_close(void)
{
    weft_progress_remove(poll_busy_walls);
    weft_pool_close(&requests);
}
