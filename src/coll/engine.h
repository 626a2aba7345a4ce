/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine that runs plans. It is driven by events: when the last operation that a step waits for
 * completes, the step begins, wherever in progress that happens. So a collective continues whenever
 * any MPI call makes progress.
 */
#ifndef WEFT_COLL_ENGINE_H
#define WEFT_COLL_ENGINE_H

#include "coll/coll.h"
#include "coll/executor.h"
#include "coll/plan.h"

#include <stdbool.h>
#include <stdint.h>

/** Run a plan with the buffers of `args` to its end. Returns MPI_SUCCESS, MPI_ERR_NO_MEM or
 * MPI_ERR_TRUNCATE. */
int weft_engine_run(weft_plan_t *plan, const weft_coll_args_t *args);

/** Begin to run a plan; the request retains the plan. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
int weft_engine_begin(weft_plan_t *plan, const weft_coll_args_t *args, weft_request_t **out);

/** How weft_engine_begin_at() runs a plan. */
typedef struct weft_run_place {
    int tag;                         /* the tag of its messages: weft_engine_take_tag() */
    const weft_executor_t *executor; /* NULL: weft_host_executor */
    void *state;                     /* the executor's, which the run releases once it has begun */
    /* the run failed before it began, with the text of weft_fail: it only sends the error to the
     * others */
    int error;
} weft_run_place_t;

/** Take the tag for the communicator's next collective, which is this plan. */
int weft_engine_take_tag(const weft_plan_t *plan, weft_comm_t *comm);

/** The communicator's next collective is a plan without parts at other ranks, and without steps at
 * this one. */
void weft_engine_skip(weft_comm_t *comm);

/** The tag for a persistent collective, which keeps its tag from start to start. */
int weft_engine_take_lasting_tag(const weft_plan_t *plan, weft_comm_t *comm);

/** Take the number of the first of the meetings that this host's ranks may hold for the plan. */
static inline uint32_t weft_engine_take_number(const weft_plan_t *plan, weft_comm_t *comm)
{
    uint32_t number = comm->coll_count;
    comm->coll_count += 1 + plan->meetings;
    return number;
}

/** Like weft_engine_begin(). Returns MPI_SUCCESS, MPI_ERR_NO_MEM, or the device's error. */
int weft_engine_begin_at(weft_plan_t *plan, const weft_coll_args_t *args,
                         const weft_run_place_t *place, weft_request_t **out);

/** Make a run as a persistent request, inactive; it retains the plan. Returns MPI_SUCCESS or
 * MPI_ERR_NO_MEM. */
int weft_engine_prepare(weft_plan_t *plan, const weft_coll_args_t *args, int tag,
                        weft_request_t **out);

void weft_engine_close(void);

#endif
