/* SPDX-License-Identifier: BSD-3-Clause */
/* A task is a collective, or a section of one, with device memory in it, on its way. */
#ifndef WEFT_DEVCOLL_TASK_PRIVATE_H
#define WEFT_DEVCOLL_TASK_PRIVATE_H

#include "devcoll/direct_work.h"
#include "devcoll/export.h"
#include "devcoll/method.h"
#include "devcoll/staging_buffer.h"
#include "coll/engine.h"
#include "base/list.h"

#include <stdint.h>

struct weft_task {
    weft_request_t request; /* first */
    weft_coll_t coll;
    weft_coll_args_t args;
    weft_plan_t *plan;       /* NULL: a section of one */
    weft_run_place_t place;  /* of the plan's messages and work */
    uint32_t section_number; /* of the meeting of the plan's first section */
    weft_regions_t sides[WEFT_SIDES];
    int method; /* weft_method_index_t, once it is known */

    /* at a meeting (task_meeting.c) */
    int members, member,
        radix;        /* the ranks that meet; how operands are bracketed (direct_work.h) */
    unsigned methods; /* by which it would be done at the meeting: bits */
    bool is_inside;   /* the meeting was entered */
    bool leads;       /* this rank came last, and has not begun the work yet */
    bool is_off;      /* of a section: the meeting was not held */
    void (*go_solo)(weft_task_t *task); /* if it is not held */
    weft_export_t exports[WEFT_SIDES];
    weft_meeting_t meeting;
    weft_meeting_state_t seen;
    int64_t give_up_ns;
    weft_event_t event; /* behind the work of this rank */
    weft_link_t link;   /* of those that wait at meetings */

    bool is_shared;          /* direct: this rank does a part of the work */
    weft_direct_work_t work; /* direct */
    bool has_kernel;         /* ll, multicast: this rank's kernel is on its way */

    weft_device_t *device;          /* p2p, hierarchical */
    bool can_step;                  /* these two can do it, as far as memory and operation go */
    weft_staging_buffers_t buffers; /* staged */

    /* A task goes from step to step: each begins operations and says what comes next. */
    int pending; /* operations on their way; then comes `next` */
    void (*next)(weft_task_t *task);
};

/** Begin a step: nothing of it is on its way, and `next` comes once all of it is over and
 *  wefti_task_go_on() was called. */
static inline void wefti_task_step(weft_task_t *task, void (*next)(weft_task_t *task))
{
    task->next = next;
    task->pending = 1;
}

/** The step has begun all it wanted, or one of its operations is over. */
static inline void wefti_task_go_on(weft_task_t *task)
{
    if (--task->pending == 0)
        task->next(task);
}

static inline int wefti_task_error(const weft_task_t *task)
{
    return task->request.status.MPI_ERROR;
}

/* ---- devcoll.c ---- */

/** MPI_ERR_NO_MEM. */
int wefti_task_create(weft_coll_t coll, const weft_coll_args_t *args, weft_task_t **out);

/** The request is complete, with its error. */
void wefti_task_finish(weft_task_t *task);

/** An operation of the step, or why it could not begin. */
void wefti_task_watch(weft_task_t *task, int err, weft_request_t *request);

/** Typed data to typed data, of whatever memory: an operation of the step. */
void wefti_task_copy(weft_task_t *task, const weft_elements_t *from, const weft_elements_t *to);

/** What the tuning table chooses for this call among a set of methods. */
weft_method_index_t wefti_task_choose(const weft_task_t *task, unsigned possible);

/* ---- solo.c ---- */

/** To the end, by a method that needs no meeting. */
void wefti_task_begin_solo(weft_task_t *task);

/* ---- task_meeting.c ---- */

/** To the end, at a meeting if the others come, else solo. */
void wefti_task_begin(weft_task_t *task);
void wefti_task_meetings_close(void);

/** Export what the task gives and gets, and come to the meeting task->meeting.number; then it is
 * done, has failed, or goes on with task->go_solo. */
void wefti_task_attend(weft_task_t *task);

/** A event in the queue, behind which the `end` of the task's method is called. */
int wefti_task_mark(weft_task_t *task, weft_queue_t *queue);

/** What has become of a meeting that was held: the results are there, or there is an error. */
void wefti_task_take_results(weft_task_t *task);
void wefti_task_fail_at_meeting(weft_task_t *task, int err);

/** The task does not look at its meeting any more. */
void wefti_task_stop_waiting(weft_task_t *task);

/* ---- direct.c ---- */

/** The work of the meeting is shared (WEFT_MEETING_SHARED): map what all have exported. */
void wefti_direct_prepare(weft_task_t *task);

/** All have mapped everything (WEFT_MEETING_WORKING): do this rank's part. */
void wefti_direct_do_part(weft_task_t *task);

#endif
