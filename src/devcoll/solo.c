/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Methods by which each rank does its part of a plan by itself. Its messages are the same as those
 * of a rank with host memory. "p2p" runs the plan on device memory. "hierarchical" does so too,
 * except for the sections of the plan. "staged" runs the plan on host memory that stands for the
 * buffers.
 */
#include "devcoll/task_private.h"

#include "devcoll/comm_state.h"
#include "devcoll/device_executor.h"
#include "pt2pt/pt2pt.h"
#include "base/log.h"

#include <stdint.h>

static bool solo_knows(weft_coll_t coll)
{
    (void)coll;
    return true;
}

/* ---- staged ---- */

static int begin_copy(void *task, const weft_elements_t *from, const weft_elements_t *to)
{
    wefti_task_copy(task, from, to);
    return MPI_SUCCESS;
}

/* Copy between the user's memory and the staging buffer of a side. */
static void copy_staging_buffer(weft_task_t *task, weft_side_t side)
{
    wefti_staging_buffers_copy(&task->buffers, &task->sides[side], begin_copy, task);
}

static void end_staged(weft_task_t *task)
{
    wefti_staging_buffers_close(&task->buffers);
    wefti_task_finish(task);
}

static void copy_results(weft_task_t *task)
{
    wefti_task_step(task, end_staged);
    if (wefti_task_error(task) == MPI_SUCCESS)
        copy_staging_buffer(task, WEFT_GETS);
    wefti_task_go_on(task);
}

static void run_on_host(weft_task_t *task)
{
    weft_request_t *request = NULL;
    weft_coll_args_t args = wefti_staging_buffers_args(&task->buffers, &task->args);
    wefti_task_step(task, copy_results);
    task->place.error =
        /* the plan still runs: the other ranks wait for its messages, which carry the error */
        wefti_task_error(task);
    if (task->place.error != MPI_SUCCESS)
        weft_request_result(&task->request);
    int err = weft_engine_begin_at(task->plan, &args, &task->place, &request);
    wefti_task_watch(task, err, request);
    wefti_task_go_on(task);
}

static void staged_begin(weft_task_t *task)
{
    wefti_task_step(task, run_on_host);
    int err = wefti_staging_buffers_open(task->coll, &task->args, &task->buffers);
    if (err == MPI_SUCCESS)
        copy_staging_buffer(task, WEFT_GIVES);
    else
        weft_request_note_error(&task->request, err);
    wefti_task_go_on(task);
}

static bool staged_possible(const weft_task_t *task)
{
    (void)task;
    return true;
}

const weft_device_method_t wefti_staged_method = {
    .name = "staged",
    .where = "an operation of the user's",
    .knows = solo_knows,
    .possible = staged_possible,
    .begin = staged_begin,
};

/* ---- p2p and hierarchical ---- */

/* Where there is no scratch memory on the device, host memory does: the messages are the same. */
static void solo_run_on_device(weft_task_t *task, bool does_sections)
{
    weft_request_t *request = NULL;
    wefti_task_step(task, wefti_task_finish);
    int err =
        wefti_device_executor_open(task->device, does_sections, task->section_number, &task->place);
    if (err == MPI_SUCCESS)
        err = weft_engine_begin_at(task->plan, &task->args, &task->place, &request);
    if (err != MPI_SUCCESS && task->place.state != NULL)
        wefti_device_executor_drop(&task->place);
    if (err == MPI_ERR_NO_MEM) {
        staged_begin(task);
        return;
    }
    wefti_task_watch(task, err, request);
    wefti_task_go_on(task);
}

static void p2p_begin(weft_task_t *task)
{
    solo_run_on_device(task, false);
}

static bool p2p_possible(const weft_task_t *task)
{
    return task->can_step;
}

const weft_device_method_t wefti_p2p_method = {
    .name = "p2p",
    .where = "else, or some on host memory",
    .knows = solo_knows,
    .possible = p2p_possible,
    .begin = p2p_begin,
};

static void hierarchical_begin(weft_task_t *task)
{
    solo_run_on_device(task, true);
}

/* Does the plan have anything that the ranks of this host could do together? */
static bool hierarchical_possible(const weft_task_t *task)
{
    weft_comm_t *comm = task->request.comm;
    return task->can_step && task->plan->meetings > 0 && wefti_comm_board(comm) != NULL &&
           !wefti_comm_is_one_host(comm);
}

const weft_device_method_t wefti_hierarchical_method = {
    .name = "hierarchical",
    .where = "several hosts",
    .scope = WEFT_SCOPE_SEVERAL_HOSTS,
    .knows = solo_knows,
    .possible = hierarchical_possible,
    .begin = hierarchical_begin,
};

/* ---- choosing among them ---- */

/* The device of a side; NULL if it is host memory, or has no data. */
static weft_device_t *device_of(const weft_regions_t *regions)
{
    weft_memory_t memory;
    const void *first = wefti_regions_first(regions);
    if (first == NULL || !weft_is_device(first) || weft_device->look(first, &memory) != MPI_SUCCESS)
        return NULL;
    return memory.device;
}

/* A kernel can reduce if it reaches both sides, or the only side that has data. */
static bool can_reduce(const weft_task_t *task, weft_device_t *gives, weft_device_t *gets)
{
    bool has_result = wefti_regions_first(&task->sides[WEFT_GETS]) != NULL;
    return gives != NULL && (gets == gives || !has_result) &&
           weft_device->can_reduce(gives, task->args.op, task->args.recv_type);
}

void wefti_task_begin_solo(weft_task_t *task)
{
    weft_device_t *gives = device_of(&task->sides[WEFT_GIVES]);
    weft_device_t *gets = device_of(&task->sides[WEFT_GETS]);
    unsigned possible = 0;
    task->device = gives != NULL ? gives : gets;
    task->can_step = task->args.op == NULL || can_reduce(task, gives, gets);
    for (int i = 0; i < WEFT_METHODS; i++) {
        const weft_device_method_t *its = weft_device_methods[i];
        if (its->offer == NULL && its->possible(task))
            possible |= 1u << i;
    }
    task->method = wefti_task_choose(task, possible);
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: %s", weft_device_methods[task->method]->name);
    wefti_method_begin(task);
}
