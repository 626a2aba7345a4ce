/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/devcoll.h"

#include "devcoll/call_arrays.h"
#include "devcoll/comm_state.h"

#include "devcoll/task_private.h"

#include "devcoll/device_executor.h"
#include "devcoll/host_run.h"
#include "coll/device_calls.h"
#include "coll/failure.h"
#include "coll/plan_cache.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"
#include "base/pool.h"

#include <string.h>

static weft_pool_t tasks = WEFT_POOL(weft_task_t);

static void devcoll_release_task(weft_request_t *request)
{
    weft_task_t *task = (weft_task_t *)request;
    if (task->plan != NULL)
        weft_plan_release(task->plan);
    if (task->args.op != NULL)
        weft_op_release(task->args.op);
    weft_comm_release(task->request.comm);
    weft_free(task->arrays);
    weft_pool_give(&tasks, task);
}

static int devcoll_start_task(weft_request_t *request);

static const weft_request_ops_t task_ops = {.name = "collective",
                                            .release = devcoll_release_task,
                                            .start = devcoll_start_task,
                                            .cancel = weft_request_cannot_cancel};

void wefti_task_finish(weft_task_t *task)
{
    weft_coll_explain_failure(&task->request);
    weft_request_complete(&task->request);
}

static void devcoll_operation_is_over(weft_request_t *request, void *owner)
{
    weft_task_t *task = owner;
    if (request->status.MPI_ERROR != MPI_SUCCESS)
        weft_request_inherit_result(&task->request, request);
    weft_request_release(request);
    wefti_task_go_on(task);
}

void wefti_task_watch(weft_task_t *task, int err, weft_request_t *request)
{
    if (err != MPI_SUCCESS) {
        weft_request_note_error(&task->request, err);
        return;
    }
    if (request == &weft_request_done)
        return;
    task->pending++;
    weft_request_watch(request, devcoll_operation_is_over, task);
}

/* A copy is a message from this rank to itself. */
void wefti_task_copy(weft_task_t *task, const weft_elements_t *from, const weft_elements_t *to)
{
    weft_request_t *send = NULL, *recv = NULL;
    weft_comm_t *comm = task->request.comm;
    weft_recv_args_t recv_args = {.buf = to->buf,
                                  .count = to->count,
                                  .type = (weft_type_t *)to->type,
                                  .comm = comm,
                                  .context = comm->context | 1,
                                  .source = comm->rank,
                                  .tag = task->place.tag};
    weft_send_args_t send_args = {.buf = from->buf,
                                  .count = from->count,
                                  .type = (weft_type_t *)from->type,
                                  .comm = comm,
                                  .context = comm->context | 1,
                                  .dest = comm->rank,
                                  .tag = task->place.tag};
    int err = weft_recv_begin(&recv_args, &recv);
    wefti_task_watch(task, err, recv);
    err = weft_send_begin(&send_args, &send);
    wefti_task_watch(task, err, send);
}

/* Of one rank's blocks, in the mean. */
static size_t block_bytes(const weft_regions_t *regions)
{
    ptrdiff_t low, high;
    return wefti_regions_span(regions, &low, &high) ? (size_t)(high - low) / (size_t)regions->count
                                                    : 0;
}

/* What the table calls bytes. Where no rank knows the blocks of all others that is 0, which says
 * nothing about a method: then a rank takes its own blocks, of the side where they are longer. */
static size_t table_bytes(const weft_task_t *task)
{
    size_t bytes = task->args.inter == NULL ? weft_coll_bytes(task->coll, &task->args) : 0;
    size_t given = block_bytes(&task->sides[WEFT_GIVES]);
    size_t got = block_bytes(&task->sides[WEFT_GETS]);
    return bytes > 0 ? bytes : given > got ? given : got;
}

weft_method_index_t wefti_task_choose(const weft_task_t *task, unsigned possible)
{
    return weft_device_method_choose(task->coll, task->args.comm->size, table_bytes(task), possible,
                                     NULL);
}

int wefti_task_create(weft_coll_t coll, const weft_coll_args_t *args, weft_task_t **out)
{
    weft_task_t *task = weft_pool_take(&tasks);
    if (task == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    *task = (weft_task_t){.coll = coll, .args = *args};
    weft_request_init(&task->request, &task_ops, args->comm);
    if (args->op != NULL)
        weft_op_retain(args->op);
    weft_comm_retain(args->comm);
    *out = task;
    return MPI_SUCCESS;
}

/* ---- the calls ---- */

static bool devcoll_is_needed(weft_coll_t coll, const weft_coll_args_t *args)
{
    for (int side = 0; side < WEFT_SIDES; side++) {
        weft_regions_t regions = wefti_regions_of(coll, args, (weft_side_t)side);
        const void *first = wefti_regions_first(&regions);
        if (first != NULL && weft_is_device(first))
            return true;
    }
    return false;
}

/* A task for the whole of a call, which has not begun. */
static int create_whole(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan, int tag,
                        weft_task_t **out)
{
    weft_task_t *task;
    int err = wefti_task_create(coll, args, &task);
    if (err != MPI_SUCCESS)
        return err;
    for (int side = 0; side < WEFT_SIDES; side++)
        task->sides[side] = wefti_regions_of(coll, &task->args, (weft_side_t)side);
    err = wefti_call_arrays_copy(task->sides, &task->args, &task->arrays);
    if (err != MPI_SUCCESS) {
        devcoll_release_task(&task->request);
        return err;
    }
    task->place.tag = tag;
    task->plan = plan;
    plan->references++;
    *out = task;
    return MPI_SUCCESS;
}

static void begin_whole(weft_task_t *task, uint32_t number)
{
    task->section_number = number + 1;
    task->meeting.number = number;
    wefti_task_begin(task);
}

static int devcoll_begin(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan,
                         uint32_t number, weft_request_t **out)
{
    weft_task_t *task;
    int err = create_whole(coll, args, plan, weft_engine_take_tag(plan, args->comm), &task);
    if (err != MPI_SUCCESS)
        return err;
    *out = &task->request;
    begin_whole(task, number);
    return MPI_SUCCESS;
}

static int devcoll_prepare(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan,
                           int tag, weft_request_t **out)
{
    weft_task_t *task;
    int err = create_whole(coll, args, plan, tag, &task);
    if (err != MPI_SUCCESS)
        return err;
    weft_request_make_persistent(&task->request);
    *out = &task->request;
    return MPI_SUCCESS;
}

/* Ranks may start their requests in different orders, and then different collectives come to one
 * meeting. Their tags tell them apart, and each goes on solo. */
static int devcoll_start_task(weft_request_t *request)
{
    weft_task_t *task = (weft_task_t *)request;
    weft_request_restart(request);
    weft_task_t fresh = {.request = *request,
                         .coll = task->coll,
                         .args = task->args,
                         .arrays = task->arrays,
                         .plan = task->plan,
                         .place = {.tag = task->place.tag}};
    memcpy(fresh.sides, task->sides, sizeof(fresh.sides));
    *task = fresh;
    begin_whole(task, weft_engine_take_number(task->plan, request->comm));
    return MPI_SUCCESS;
}

int weft_devcoll_open(void)
{
    static const char *names[WEFT_METHODS + 1];
    static const weft_device_calls_t calls = {.is_needed = devcoll_is_needed,
                                              .begin = devcoll_begin,
                                              .prepare = devcoll_prepare,
                                              .run_on_host = wefti_run_on_host,
                                              .methods = names};
    for (int i = 0; i < WEFT_METHODS; i++)
        names[i] = weft_device_methods[i]->name;
    weft_device_calls = &calls;
    return wefti_comm_state_open();
}

void weft_devcoll_close(void)
{
    weft_device_calls = NULL;
    wefti_device_executor_close();
    wefti_task_meetings_close();
    weft_pool_close(&tasks);
}
