/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective with device memory in it, as the files that carry it on see it. */
#ifndef WEFT_DEVCOLL_JOB_PRIVATE_H
#define WEFT_DEVCOLL_JOB_PRIVATE_H

#include "devcoll/device_job.h"
#include "devcoll/device_way.h"
#include "devcoll/flags.h"
#include "devcoll/loan.h"
#include "devcoll/multicast.h"
#include "devcoll/shadow.h"
#include "devcoll/together.h"
#include "coll/engine.h"
#include "base/list.h"

#include <stdint.h>

typedef struct weft_job weft_job_t;

struct weft_job {
    weft_request_t request; /* first */
    weft_coll_t coll;
    weft_coll_args_t args;
    weft_plan_t *plan;      /* NULL: a section of one */
    weft_run_place_t place; /* of the plan's messages and work */
    uint32_t section_number; /* of the meeting of the plan's first section */
    weft_regions_t sides[WEFT_SIDES];
    /* together */
    int members, member, radix; /* who comes; the bracketing of operands (together.h) */
    bool is_inside;             /* the meeting was entered */
    unsigned ways;              /* FLAGS, MULTICAST, TOGETHER: what it would do at the meeting */
    bool leads;                 /* it is this rank's to begin the work, which it has not yet */
    bool is_off;                /* of a section: it was not held */
    void (*go_alone)(weft_job_t *job); /* if it is not held */
    weft_loan_t loans[WEFT_SIDES];
    weft_meeting_t meeting;
    weft_meeting_state_t seen;
    int64_t give_up_ns;
    bool is_shared; /* this rank does a part of the work */
    weft_together_t work;
    weft_event_t event;
    weft_link_t link; /* of those that wait at meetings */
    /* flags and multicast */
    bool is_exchanging; /* this rank's kernel is on its way */
    bool is_multicast;
    /* staged */
    weft_shadows_t shadows;
    /* A job goes from step to step: each begins operations and says what comes next. */
    int pending; /* operations on their way; then comes `next` */
    void (*next)(weft_job_t *job);
};

/** Begin a step: nothing of it is on its way, and `next` comes once all of it is over and
 *  wefti_job_go_on() was called. */
static inline void wefti_job_step(weft_job_t *job, void (*next)(weft_job_t *job))
{
    job->next = next;
    job->pending = 1;
}

/** The step has begun all it wanted, or one of its operations is over. */
static inline void wefti_job_go_on(weft_job_t *job)
{
    if (--job->pending == 0)
        job->next(job);
}

/** An operation of the step, or why it could not begin. */
void wefti_job_watch(weft_job_t *job, int err, weft_request_t *request);

/** Typed data to typed data, of whatever memory: an operation of the step. */
void wefti_job_copy(weft_job_t *job, const weft_elements_t *from, const weft_elements_t *to);

static inline int wefti_job_error(const weft_job_t *job)
{
    return job->request.status.MPI_ERROR;
}

/** MPI_ERR_NO_MEM. */
int wefti_job_create(weft_coll_t coll, const weft_coll_args_t *args, weft_job_t **out);

/** The request is complete, with its error. */
void wefti_job_finish(weft_job_t *job);

/** What the table says of this call. */
weft_way_flag_t wefti_job_way(const weft_job_t *job, unsigned possible);

/** Stepped or staged (job_alone.c), to the end. */
void wefti_job_begin_alone(weft_job_t *job);

/** Together, if the others come (job_together.c), else alone; to the end. */
void wefti_job_begin_together(weft_job_t *job);
void wefti_job_together_close(void);

/** Lend what the job gives and gets, and come to the meeting job->meeting.number; then done, failed, or
 *  job->go_alone. */
void wefti_job_attend(weft_job_t *job);

/** What has become of a meeting that was held: results are there, or an error. The job is not waiting any more. */
void wefti_job_take_results(weft_job_t *job);
void wefti_job_fail_together(weft_job_t *job, int err);
void wefti_job_stop_waiting(weft_job_t *job);

/** By kernels that wait for each other (job_flags.c): the ways that this job could go, as far as this rank knows. */
unsigned wefti_job_exchanges(const weft_job_t *job);
/** Into the job's post, before it arrives: what this rank is ready for, and keep its device free for it. */
void wefti_job_offer_exchange(weft_job_t *job, weft_post_t *post);
/** All posts are there: does it go so? */
bool wefti_job_can_exchange(const weft_job_t *job);
/** The meeting has come to something else. */
void wefti_job_refuse_exchange(const weft_job_t *job);
/** All are about to: this rank's kernel, to the end of the job. */
void wefti_job_exchange(weft_job_t *job);
/** In each round until then. */
void wefti_job_watch_exchange(weft_job_t *job);

/** Has the communicator a board for its ranks on this host (section_job.c)? */
bool wefti_job_has_board(weft_comm_t *comm);

#endif
