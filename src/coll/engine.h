/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine that runs plans. It is driven by events: the completion of the last operation that a
 * step waits for begins the step, wherever in progress that happens, so a collective moves on
 * whenever any MPI call makes progress.
 */
#ifndef WEFT_COLL_ENGINE_H
#define WEFT_COLL_ENGINE_H

#include "coll/coll.h"
#include "coll/executor.h"
#include "coll/plan.h"

#include <stdbool.h>
#include <stdint.h>

/** Run a plan with the buffers of `args` to its end. MPI_ERR_NO_MEM; MPI_ERR_TRUNCATE. */
int weft_engine_run(weft_plan_t *plan, const weft_coll_args_t *args);

/** Begin to run it; the request retains the plan. MPI_ERR_NO_MEM. */
int weft_engine_begin(weft_plan_t *plan, const weft_coll_args_t *args, weft_request_t **out);

/** How weft_engine_begin_at() runs a plan. */
typedef struct weft_run_place {
    int tag;                         /* of its messages: weft_engine_take_tag() */
    const weft_executor_t *executor; /* NULL: weft_host_executor */
    void *state;                     /* of the executor, which the run releases once it has begun */
    int error; /* the run has failed before it began, with the text of weft_fail: it tells the
                  others */
} weft_run_place_t;

/** The tag of the communicator's next collective, which is this plan. */
int weft_engine_take_tag(const weft_plan_t *plan, weft_comm_t *comm);

/** As weft_engine_begin(). MPI_ERR_NO_MEM, or the device's error. */
int weft_engine_begin_at(weft_plan_t *plan, const weft_coll_args_t *args,
                         const weft_run_place_t *place, weft_request_t **out);

void weft_engine_close(void);

#endif
