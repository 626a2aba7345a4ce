/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/section_task.h"

#include "devcoll/comm_state.h"
#include "devcoll/task_private.h"
#include "runtime/meeting.h"
#include "base/log.h"

#include <inttypes.h>

/* All data of a section have one type; where an operation is applied it is that of the elements. */
static weft_type_t *type_of(const weft_section_call_t *call)
{
    return call->gives_count > 0  ? call->gives[0].type
           : call->gets_count > 0 ? call->gets[0].type
                                  : NULL;
}

static bool applies_operation(const weft_section_call_t *call)
{
    return call->coll == WEFT_REDUCE || call->coll == WEFT_REDUCE_SCATTER;
}

static void section_go_solo(weft_task_t *task)
{
    task->is_off = true;
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: a section goes by messages, meeting %" PRIu32,
             task->meeting.number);
    wefti_task_finish(task);
}

bool wefti_section_task_begin(const weft_section_call_t *call, const weft_section_run_t *run,
                              weft_request_t **out)
{
    weft_coll_args_t args = {.comm = run->comm, .root = call->root, .recv_type = type_of(call)};
    args.op = applies_operation(call) ? run->op : NULL;
    weft_task_t *task;
    if (wefti_comm_lost(run->comm) != WEFT_NO_PROCESS ||
        !weft_board_meets(wefti_comm_board(run->comm), run->number) ||
        wefti_task_create(call->coll, &args, &task) != MPI_SUCCESS)
        return false;
    task->members = call->members;
    task->member = call->member;
    task->radix = call->radix;
    task->go_solo = section_go_solo;
    task->methods = 1u << WEFT_METHOD_DIRECT;
    task->place.tag = run->tag;
    task->meeting.number = run->number;
    task->sides[WEFT_GIVES] =
        wefti_regions_listed(&task->args, call->gives, call->gives_count, run->buffers);
    task->sides[WEFT_GETS] =
        wefti_regions_listed(&task->args, call->gets, call->gets_count, run->buffers);
    *out = &task->request;
    wefti_task_attend(task);
    return true;
}

bool wefti_section_task_is_settled(const weft_request_t *request)
{
    return !((const weft_task_t *)request)->is_off;
}
