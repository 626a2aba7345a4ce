/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The method "direct": all ranks of a host export their memory, and the one that comes last does
 * the collective for all of them, or each does a part of it (direct_work.h).
 */
#include "devcoll/task_private.h"

#include "base/clock.h"
#include "base/fail.h"

/* How long owners of memory are waited for that have been asked for descriptors. They answer as
 * soon as they make progress, and without that the ranks could not go on solo either. */
enum { OWNERS_PATIENCE_NS = 100000000 };

static bool direct_knows(weft_coll_t coll)
{
    return !weft_coll_is_neighbor(coll);
}

static bool direct_possible(const weft_task_t *task)
{
    return direct_knows(task->coll);
}

/* Also offered where the table chooses another method, as long as this rank is not ready for that
 * one. */
static bool direct_offer(weft_task_t *task, weft_offer_t *offer)
{
    return offer->ready == 0 || (task->methods & 1u << WEFT_METHOD_DIRECT) != 0;
}

static bool direct_agrees(const weft_task_t *task)
{
    return wefti_offers_are_ready(&task->meeting, WEFT_METHOD_DIRECT);
}

static void end_part(weft_task_t *task, weft_meeting_part_t part)
{
    if (weft_meeting_part_done(&task->meeting, WEFT_MEETING_WORKING, &part))
        weft_meeting_decide(&task->meeting, part == WEFT_PART_DONE        ? WEFT_MEETING_DONE
                                            : part == WEFT_PART_NOT_BEGUN ? WEFT_MEETING_OFF
                                                                          : WEFT_MEETING_FAILED);
}

/* This rank has done all the work, or its part of it, or has failed. */
static void direct_end(weft_task_t *task, int err)
{
    bool is_good = err == MPI_SUCCESS;
    wefti_direct_unmap(&task->work);
    if (!task->is_shared)
        weft_meeting_decide(&task->meeting, is_good ? WEFT_MEETING_DONE
                                            : err == MPI_ERR_UNSUPPORTED_OPERATION
                                                ? WEFT_MEETING_OFF
                                                : WEFT_MEETING_FAILED);
    else
        end_part(task, is_good ? WEFT_PART_DONE : WEFT_PART_FAILED);
}

void wefti_direct_do_part(weft_task_t *task)
{
    int err = wefti_direct_queue(&task->work, task->is_shared);
    if (err == MPI_SUCCESS)
        err = wefti_task_record(task, task->work.queue);
    if (err == MPI_SUCCESS)
        return;
    if (task->work.queue != NULL) /* queued work must not outlive the mappings */
        weft_queue_wait(task->work.queue);
    direct_end(task, err);
}

/* MPI_ERR_PENDING: nothing is mapped yet, try again. */
static int map_exports(weft_task_t *task)
{
    int err = wefti_direct_map(&task->meeting, &task->args, wefti_exports_device(task->exports),
                               &task->work);
    if (err != MPI_ERR_PENDING)
        return err;
    wefti_direct_unmap(&task->work);
    if (task->fetch_until_ns == 0)
        task->fetch_until_ns = weft_clock_ns() + OWNERS_PATIENCE_NS;
    return weft_clock_ns() < task->fetch_until_ns
               ? err
               : weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "no answer from the owner of a buffer");
}

/* Called by the rank that came last. */
static void direct_begin(weft_task_t *task)
{
    if (wefti_direct_is_shared(&task->meeting)) {
        bool may_repeat = wefti_direct_keeps_operands(&task->meeting) &&
                          weft_meeting_has_all_begun(&task->meeting);
        weft_meeting_decide(&task->meeting,
                            may_repeat ? WEFT_MEETING_WORKING : WEFT_MEETING_SHARED);
        return;
    }
    int err = map_exports(task);
    if (err == MPI_ERR_PENDING)
        task->leads = true;
    else if (err == MPI_SUCCESS)
        wefti_direct_do_part(task);
    else
        direct_end(task, err);
}

/* No rank writes before all have mapped everything: if one cannot, all go on solo, with operands
 * that must still be there. */
void wefti_direct_prepare(weft_task_t *task)
{
    task->method = WEFT_METHOD_DIRECT;
    task->is_shared = true;
    int err = map_exports(task);
    weft_meeting_part_t part = err == MPI_SUCCESS ? WEFT_PART_DONE : WEFT_PART_NOT_BEGUN;
    if (err == MPI_ERR_PENDING)
        task->seen = WEFT_MEETING_GATHERED;
    else if (weft_meeting_part_done(&task->meeting, WEFT_MEETING_SHARED, &part))
        weft_meeting_decide(&task->meeting,
                            part == WEFT_PART_DONE ? WEFT_MEETING_WORKING : WEFT_MEETING_OFF);
}

/* Where no result lies on an operand this saves a round: if a rank cannot map everything, the
 * others hear of it when all have worked. Then all go on solo, and write the results again. */
void wefti_direct_map_and_work(weft_task_t *task)
{
    task->method = WEFT_METHOD_DIRECT;
    task->is_shared = true;
    int err = map_exports(task);
    if (err == MPI_ERR_PENDING) {
        task->seen = WEFT_MEETING_GATHERED;
    } else if (err == MPI_SUCCESS) {
        wefti_direct_do_part(task);
    } else {
        wefti_direct_unmap(&task->work);
        end_part(task, WEFT_PART_NOT_BEGUN);
    }
}

const weft_device_method_t wefti_direct_method = {
    .name = "direct",
    .where = "one host, some share devices",
    .scope = WEFT_SCOPE_ONE_HOST,
    .knows = direct_knows,
    .possible = direct_possible,
    .offer = direct_offer,
    .agrees = direct_agrees,
    .begin = direct_begin,
    .end = direct_end,
};
