/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executors do the steps of a plan that are not messages. The engine (engine.c) decides when a step
 * begins; the executor of the run does it. There is one for host memory (host_executor.c) and one
 * for the queues of a device (devcoll/device_executor.c). The engine itself does messages, as
 * src/pt2pt takes any memory.
 */
#ifndef WEFT_COLL_EXECUTOR_H
#define WEFT_COLL_EXECUTOR_H

#include "coll/plan.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_plan_run weft_plan_run_t;

/* Functions are called with the library's lock held and never block. None is NULL. A failure is
 * noted in the request of the run (weft_request_note_error). */
typedef struct weft_executor {
    /** Reductions and copies are over when their functions return, and sections are run step by
     * step. The engine then never calls is_free, begin_section and drain. */
    bool is_immediate;

    /** Do a step of kind WEFT_STEP_REDUCE or WEFT_STEP_COPY. It may be over later; until then
     * is_free() is false for all steps that need its result. */
    void (*reduce)(weft_plan_run_t *run, const weft_step_t *step);
    void (*copy)(weft_plan_run_t *run, const weft_step_t *step);

    /** May this step begin, as far as earlier reductions, copies and sections are concerned? If
     * not, the executor calls weft_plan_run_advance() later. */
    bool (*is_free)(weft_plan_run_t *run, const weft_step_t *next);

    /** Section `index` begins. An executor that does the section as a whole sets run->next behind
     * its steps when it is over; until then is_free() is false. */
    void (*begin_section)(weft_plan_run_t *run, int index);

    /** No step follows: make everything that is still under way count as outstanding. */
    void (*drain)(weft_plan_run_t *run);

    /** Set run->buffers[WEFT_SCRATCH] to plan->scratch_bytes bytes; false: there is no memory. */
    bool (*take_scratch)(weft_plan_run_t *run);
    void (*give_scratch)(weft_plan_run_t *run);

    /** Set part->state for part `index` of a plan; false: there is no memory. */
    bool (*open_part)(weft_plan_run_t *part, const weft_plan_run_t *whole, int index);
    /** The run, or a part of one, is over: release run->state. */
    void (*close)(weft_plan_run_t *run);
} weft_executor_t;

extern const weft_executor_t weft_host_executor;

enum { WEFT_SMALL_SCRATCH = 512 };

/** A plan that is being run. */
struct weft_plan_run {
    weft_request_t request; /* first */
    weft_plan_t *plan;
    weft_op_t *op;
    char *buffers[WEFT_BUFFERS];
    const weft_executor_t *executor;
    void *state; /* the executor's */
    uint32_t context;
    int tag;
    size_t next;       /* the next step */
    int outstanding;   /* operations that are not over, whose completion will call the engine */
    bool is_advancing; /* the engine is at work further up the stack, or in another thread */
    weft_link_t ready; /* in the engine's list of runs that next call a function of the user */
    _Alignas(64) char small_scratch[WEFT_SMALL_SCRATCH];
};

/** Computed in integers: a buffer without data may be NULL or MPI_BOTTOM, to which no offset may be
 * added as to a pointer. */
static inline void *weft_plan_run_address(const weft_plan_run_t *run, weft_place_t place)
{
    return (void *)((uintptr_t)run->buffers[place.buffer] + (uintptr_t)place.offset);
}

/** A message that is too long for its receiver is an error of that receiver alone, and does not
 * count here. */
static inline bool weft_plan_run_has_failed(const weft_plan_run_t *run)
{
    int error = run->request.status.MPI_ERROR;
    return __builtin_expect(error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE, 0);
}

/** Begin the steps that can begin. At the end of the plan the request is completed. */
void weft_plan_run_advance(weft_plan_run_t *run);

/** Send a message of the run. After an error of the run the peer gets that error instead of the
 * data. *out may be &weft_request_done. Returns MPI_SUCCESS, MPI_ERR_NO_MEM, or the transport's
 * error. */
int weft_plan_run_send(weft_plan_run_t *run, const weft_data_t *from, int peer,
                       weft_request_t **out);
int weft_plan_run_recv(const weft_plan_run_t *run, const weft_data_t *to, int peer,
                       weft_request_t **out);

/** Count an operation as outstanding until it is over, when `is_over` is called with the request
 * and the run. `err` tells why the operation could not begin, and is noted. For &weft_request_done
 * nothing is done. */
void weft_plan_run_watch(weft_plan_run_t *run, int err, weft_request_t *request,
                         void (*is_over)(weft_request_t *request, void *run));

/** The last part of each `is_over`: takes over the error, releases the request, and advances the
 * run. */
void weft_plan_run_step_is_over(weft_request_t *request, void *run);

#endif
