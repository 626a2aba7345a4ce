/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes in several runs, and data of any type as bytes. */
#ifndef WEFT_COLL_TEAM_RUNS_H
#define WEFT_COLL_TEAM_RUNS_H

#include "coll/plan.h"

/** `count` runs of the same size at equal distances, and one of `last_bytes` where the next one
 * would be. */
typedef struct weft_runs {
    weft_place_t at; /* the first run */
    size_t count, each_bytes;
    ptrdiff_t stride_bytes;
    size_t last_bytes;
} weft_runs_t;

/** The runs as data of a type that is made for them. Release it (weft_type_release) when the steps
 * have been appended. If there is no memory there are no data, and that is noted in the plan. */
weft_data_t weft_runs_data(weft_plan_t *plan, weft_runs_t runs);

/** Runs at any offsets, as data in the same way. */
typedef struct weft_run_list {
    weft_place_t at; /* what the offsets count from */
    size_t count;
    const MPI_Count *offsets; /* [count] bytes */
    const MPI_Count *bytes;   /* [count] */
} weft_run_list_t;

weft_data_t weft_run_list_data(weft_plan_t *plan, const weft_run_list_t *runs);

/** `data` as one run of bytes. Data without gaps are used where they lie, others in scratch memory,
 * which a copy (weft_plan_copy, which does nothing if both are the same) fills and another one
 * empties. */
weft_data_t weft_plan_as_bytes(weft_plan_t *plan, weft_data_t data);

#endif
