/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective by kernels that wait for each other, by flags or multicast. A meeting was held, so all ranks launch theirs, but for one
 * whose driver refuses: that one says so at the meeting, and the others call off their kernels.
 *
 * Kernels of two collectives might wait for each other, where ranks launch them in different orders. So a rank is ready
 * for one at a time: what else begins meanwhile is done together.
 */
#include "devcoll/job_private.h"

static const weft_job_t *holder; /* this rank's devices are kept free for its kernel; NULL: for none */

unsigned wefti_job_exchanges(const weft_job_t *job)
{
    const weft_comm_t *comm = job->request.comm;
    return (weft_flags_are_possible(comm, job->coll) ? WEFT_WAY_FLAGS : 0) |
           (weft_multicast_is_possible(comm, job->coll) ? WEFT_WAY_MULTICAST : 0);
}

static bool offer_flags(weft_job_t *job, weft_post_t *post)
{
    post->readiness = WEFT_NOT_READY;
    if ((job->ways & WEFT_WAY_FLAGS) != 0)
        post->readiness = weft_flags_offer(job->request.comm, job->loans, job->meeting.number, post);
    if (post->readiness == WEFT_READY && holder != NULL)
        post->readiness = WEFT_NOT_READY;
    return post->readiness == WEFT_READY;
}

static bool offer_multicast(weft_job_t *job, weft_post_t *post)
{
    if ((job->ways & WEFT_WAY_MULTICAST) == 0)
        weft_multicast_decline(job->request.comm, post);
    else if (weft_multicast_offer(&job->args, job->loans, job->meeting.number, post))
        post->is_multicast_ready = holder == NULL;
    return post->is_multicast_ready;
}

void wefti_job_offer_exchange(weft_job_t *job, weft_post_t *post)
{
    bool by_flags = offer_flags(job, post), by_multicast = offer_multicast(job, post);
    if (by_flags || by_multicast)
        holder = job;
    post->goes_together = !(by_flags || by_multicast) || (job->ways & WEFT_WAY_TOGETHER) != 0;
}

bool wefti_job_can_exchange(const weft_job_t *job)
{
    return weft_multicast_fits(&job->meeting) || weft_flags_fit(&job->meeting);
}

void wefti_job_refuse_exchange(const weft_job_t *job)
{
    if (holder == job)
        holder = NULL;
}

static void end_exchange(weft_job_t *job, int err)
{
    err = job->is_multicast ? weft_multicast_end(job->request.comm, &job->meeting, err)
                            : weft_flags_end(job->request.comm, &job->meeting, err);
    job->is_exchanging = false;
    wefti_job_refuse_exchange(job);
    wefti_job_stop_waiting(job);
    if (err == MPI_SUCCESS) {
        wefti_job_take_results(job);
    } else {
        weft_meeting_fail(&job->meeting);
        wefti_job_fail_together(job, err);
    }
}

static void kernel_is_over(weft_event_t *event, int error)
{
    end_exchange(event->owner, error);
}

void wefti_job_exchange(weft_job_t *job)
{
    weft_queue_t *queue;
    job->is_multicast = weft_multicast_fits(&job->meeting);
    int err = job->is_multicast ? weft_multicast_begin(&job->meeting, &job->args, job->loans, &queue)
                                : weft_flags_begin(&job->meeting, &job->args, job->loans, &queue);
    job->event = (weft_event_t){.done = kernel_is_over, .owner = job};
    job->is_exchanging = err == MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = weft_queue_record(queue, &job->event);
    if (err != MPI_SUCCESS)
        end_exchange(job, err);
}

void wefti_job_watch_exchange(weft_job_t *job)
{
    if (!job->is_exchanging || !weft_meeting_has_failed(&job->meeting))
        return;
    if (job->is_multicast)
        weft_multicast_call_off(job->request.comm, &job->meeting);
    else
        weft_flags_call_off(job->request.comm, &job->meeting);
}
