/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/job_private.h"

#include "devcoll/device_executor.h"
#include "coll/device_calls.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"
#include "base/pool.h"

static weft_pool_t jobs = WEFT_POOL(weft_job_t);

static void release_job(weft_request_t *request)
{
    weft_job_t *job = (weft_job_t *)request;
    if (job->plan != NULL)
        weft_plan_release(job->plan);
    if (job->args.op != NULL)
        weft_op_release(job->args.op);
    weft_comm_release(job->request.comm);
    weft_pool_give(&jobs, job);
}

static void cancel_job(weft_request_t *request)
{
    (void)request; /* collectives cannot be cancelled (section 6.12) */
}

static const weft_request_ops_t job_ops = {
    .name = "collective", .release = release_job, .cancel = cancel_job};

void wefti_job_finish(weft_job_t *job)
{
    weft_request_complete(&job->request);
}

static void operation_is_over(weft_request_t *request, void *owner)
{
    weft_job_t *job = owner;
    if (request->status.MPI_ERROR != MPI_SUCCESS)
        weft_request_inherit_error(&job->request, request);
    weft_request_release(request);
    wefti_job_go_on(job);
}

void wefti_job_watch(weft_job_t *job, int err, weft_request_t *request)
{
    if (err != MPI_SUCCESS) {
        weft_request_note_error(&job->request, err);
        return;
    }
    if (request == &weft_request_done)
        return;
    job->pending++;
    weft_request_watch(request, operation_is_over, job);
}

/* A message to oneself. */
void wefti_job_copy(weft_job_t *job, const weft_elements_t *from, const weft_elements_t *to)
{
    weft_request_t *send = NULL, *recv = NULL;
    weft_comm_t *comm = job->request.comm;
    weft_recv_args_t recv_args = {.buf = to->buf, .count = to->count, .type = (weft_type_t *)to->type,
                                  .comm = comm, .context = comm->context | 1, .source = comm->rank,
                                  .tag = job->place.tag};
    weft_send_args_t send_args = {.buf = from->buf, .count = from->count, .type = (weft_type_t *)from->type,
                                  .comm = comm, .context = comm->context | 1, .dest = comm->rank,
                                  .tag = job->place.tag};
    int err = weft_recv_begin(&recv_args, &recv);
    wefti_job_watch(job, err, recv);
    err = weft_send_begin(&send_args, &send);
    wefti_job_watch(job, err, send);
}

weft_way_flag_t wefti_job_way(const weft_job_t *job, unsigned possible)
{
    size_t bytes = 0;
    for (int i = 0; i < WEFT_SIDES; i++) {
        ptrdiff_t low, high;
        if (weft_regions_span(&job->sides[i], &low, &high))
            bytes += (size_t)(high - low);
    }
    return weft_device_way(job->coll, job->args.comm->size, bytes, possible).way;
}

int wefti_job_create(weft_coll_t coll, const weft_coll_args_t *args, weft_job_t **out)
{
    weft_job_t *job = weft_pool_take(&jobs);
    if (job == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    *job = (weft_job_t){.coll = coll, .args = *args};
    weft_request_init(&job->request, &job_ops, args->comm);
    if (args->op != NULL)
        weft_op_retain(args->op);
    weft_comm_retain(args->comm);
    *out = job;
    return MPI_SUCCESS;
}

/* ---- the calls ---- */

static bool devcoll_is_needed(weft_coll_t coll, const weft_coll_args_t *args)
{
    for (int side = 0; side < WEFT_SIDES; side++) {
        weft_regions_t regions = weft_regions_of(coll, args, (weft_side_t)side);
        const void *first = weft_regions_first(&regions);
        if (first != NULL && weft_is_device(first))
            return true;
    }
    return false;
}

static int devcoll_begin(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan,
                         uint32_t number, weft_request_t **out)
{
    weft_job_t *job;
    int err = wefti_job_create(coll, args, &job);
    if (err != MPI_SUCCESS)
        return err;
    for (int side = 0; side < WEFT_SIDES; side++)
        job->sides[side] = weft_regions_of(coll, &job->args, (weft_side_t)side);
    job->place.tag = weft_engine_take_tag(plan, args->comm);
    job->section_number = number + 1;
    job->meeting.number = number;
    job->plan = plan;
    plan->references++;
    *out = &job->request;
    wefti_job_begin_together(job);
    return MPI_SUCCESS;
}

void weft_devcoll_open(void)
{
    static const weft_device_calls_t calls = {.is_needed = devcoll_is_needed, .begin = devcoll_begin};
    weft_device_calls = &calls;
}

void weft_devcoll_close(void)
{
    weft_device_calls = NULL;
    weft_device_executor_close();
    wefti_job_together_close();
    weft_pool_close(&jobs);
}
