/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/section_job.h"

#include "devcoll/job_private.h"
#include "coll/comm_shape.h"
#include "runtime/meeting.h"
#include "base/log.h"

#include <inttypes.h>

/* The board of the communicator's ranks on this host, claimed at the first use. */
static void claim_board(weft_comm_t *comm)
{
    weft_shape_t room;
    const weft_shape_t *shape;
    comm->has_no_board = true;
    if (weft_comm_shape(comm, &room, &shape) != MPI_SUCCESS)
        return;
    int node = weft_shape_node(shape, comm->rank), members = weft_shape_count(shape, node), first = 0;
    int lowest = weft_comm_world_rank(comm, weft_shape_rank(shape, node, 0));
    while (first < weft_world.local_size && weft_world.local_ranks[first] != lowest)
        first++;
    if (members == 1 || members > WEFT_MEMBERS_MAX || first == weft_world.local_size)
        return;
    comm->board = weft_board_claim(comm->context, first);
    comm->is_one_host = shape->nodes == 1;
}

bool wefti_job_has_board(weft_comm_t *comm)
{
    if (comm->board == NULL && !comm->has_no_board)
        claim_board(comm);
    return comm->board != NULL;
}

bool weft_section_job_can_meet(weft_comm_t *comm)
{
    return wefti_job_has_board(comm) && !comm->is_one_host;
}

/* Sections have one type: of elements, where an operation is applied. */
static weft_type_t *type_of(const weft_section_call_t *call)
{
    return call->gives_count > 0 ? call->gives[0].type : call->gets_count > 0 ? call->gets[0].type : NULL;
}

static bool applies_operation(const weft_section_call_t *call)
{
    return call->coll == WEFT_REDUCE || call->coll == WEFT_REDUCE_SCATTER;
}

static void go_on_by_steps(weft_job_t *job)
{
    job->is_off = true;
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: a section goes by messages, meeting %" PRIu32, job->meeting.number);
    wefti_job_finish(job);
}

bool weft_section_job_begin(const weft_section_call_t *call, const weft_section_run_t *run,
                            weft_request_t **out)
{
    weft_coll_args_t args = {.comm = run->comm, .root = call->root, .recv_type = type_of(call)};
    args.op = applies_operation(call) ? run->op : NULL;
    weft_job_t *job;
    if (!weft_board_meets(run->comm->board, run->number) ||
        wefti_job_create(call->coll, &args, &job) != MPI_SUCCESS)
        return false;
    job->members = call->members;
    job->member = call->member;
    job->radix = call->radix;
    job->go_alone = go_on_by_steps;
    job->ways = WEFT_WAY_TOGETHER;
    job->place.tag = run->tag;
    job->meeting.number = run->number;
    job->sides[WEFT_GIVES] = weft_regions_listed(&job->args, call->gives, call->gives_count, run->buffers);
    job->sides[WEFT_GETS] = weft_regions_listed(&job->args, call->gets, call->gets_count, run->buffers);
    *out = &job->request;
    wefti_job_attend(job);
    return true;
}

bool weft_section_job_is_settled(const weft_request_t *request)
{
    return !((const weft_job_t *)request)->is_off;
}
