/* SPDX-License-Identifier: BSD-3-Clause */
/* A task is a collective with device memory, or a section of one, that is under way. */
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
    void *arrays;            /* memory of the arrays in `args` (call_arrays.h); NULL: none */
    weft_plan_t *plan;       /* NULL for a section */
    weft_run_place_t place;  /* for the plan's messages and work */
    uint32_t section_number; /* the number of the meeting of the plan's first section */
    weft_regions_t sides[WEFT_SIDES];
    int method; /* a weft_method_index_t, once it is known */

    /* At a meeting (task_meeting.c): */
    int members, member, radix; /* the ranks that meet; the order of operands (meeting_offer.h) */
    unsigned methods;           /* a bit for each method that may be used at the meeting */
    bool is_inside;             /* this rank has entered the meeting */
    bool leads;                 /* this rank decides, and has not begun the work yet */
    int64_t handed_until_ns;    /* another rank was asked to decide, until then; 0: none */
    bool is_off;                /* for a section: the meeting was not held */
    void (*go_solo)(weft_task_t *task); /* called if the meeting is not held */
    weft_export_t exports[WEFT_SIDES];
    weft_meeting_t meeting;
    weft_meeting_state_t seen;
    int64_t give_up_ns;
    weft_event_t event; /* recorded behind the work of this rank */
    weft_link_t link;   /* in the list of tasks at meetings */

    bool is_shared;          /* for direct: this rank does a part of the work */
    int64_t fetch_until_ns;  /* for direct: how long descriptors are waited for; 0: not yet */
    weft_direct_work_t work; /* for direct */
    bool has_kernel;         /* for ll and multicast: this rank's kernel is under way */
    int stopped;             /* the next three belong to stopped_member.c: a process, */
    int64_t stopped_ns;      /* how long it has been seen stopped, */
    int64_t looked_ns;       /* and the last look; 0: none yet */

    weft_device_t *device; /* for p2p and hierarchical */
    bool can_step;         /* these two methods are possible, judging by memory and operation */
    weft_staging_buffers_t buffers; /* for staged */

    /* A task goes from step to step: each begins operations and says what comes next. */
    int pending; /* operations under way; `next` is called when there are none */
    void (*next)(weft_task_t *task);
};

/** Begin a step, with no operation under way. `next` is called once all operations of the step are
 * over and wefti_task_go_on() was called. */
static inline void wefti_task_step(weft_task_t *task, void (*next)(weft_task_t *task))
{
    task->next = next;
    task->pending = 1;
}

/** Called when the step has begun all its operations, and when one of them is over. */
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

/** Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
int wefti_task_create(weft_coll_t coll, const weft_coll_args_t *args, weft_task_t **out);

/** Complete the request, with its error. */
void wefti_task_finish(weft_task_t *task);

/** Add an operation to the step; `err` tells why it could not begin. */
void wefti_task_watch(weft_task_t *task, int err, weft_request_t *request);

/** Add a copy of typed data to the step, from any memory to any memory. */
void wefti_task_copy(weft_task_t *task, const weft_elements_t *from, const weft_elements_t *to);

/** The method that the tuning table chooses for this call from a set of methods. */
weft_method_index_t wefti_task_choose(const weft_task_t *task, unsigned possible);

/* ---- solo.c ---- */

/** Do the task to its end, by a method that needs no meeting. */
void wefti_task_begin_solo(weft_task_t *task);

/* ---- task_meeting.c ---- */

/** Do the task to its end, at a meeting if the others come, else solo. */
void wefti_task_begin(weft_task_t *task);
void wefti_task_meetings_close(void);

/** Export what the task gives and gets, and come to the meeting task->meeting.number. The task is
 * then done, has failed, or goes on with task->go_solo. */
void wefti_task_attend(weft_task_t *task);

/** Record an event in the queue. When it is reached, the `end` of the task's method is called. */
int wefti_task_record(weft_task_t *task, weft_queue_t *queue);

/** Fetch the outcome of a meeting that was held: the results are there, or there is an error. */
void wefti_task_take_results(weft_task_t *task);
void wefti_task_fail_at_meeting(weft_task_t *task, int err);

/** Has a member on this host died? */
bool wefti_task_has_lost(const weft_task_t *task);

/** Stop looking at the task's meeting. */
void wefti_task_stop_waiting(weft_task_t *task);

/* ---- direct.c ---- */

/** The work of the meeting is shared (WEFT_MEETING_SHARED): map what all have exported. */
void wefti_direct_prepare(weft_task_t *task);

/** All have mapped everything (WEFT_MEETING_WORKING): do this rank's part. */
void wefti_direct_do_part(weft_task_t *task);

/** Both at once (WEFT_MEETING_WORKING, without SHARED). */
void wefti_direct_map_and_work(weft_task_t *task);

#endif
