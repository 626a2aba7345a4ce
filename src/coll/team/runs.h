/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that lie in several runs, and data of any type seen as bytes. */
#ifndef WEFT_COLL_TEAM_RUNS_H
#define WEFT_COLL_TEAM_RUNS_H

#include "coll/plan.h"

/** `count` runs of the same size at equal distances, and one of `last_bytes` where the next were.
 */
typedef struct weft_runs {
    weft_place_t at; /* the first run */
    size_t count, each_bytes;
    ptrdiff_t stride_bytes;
    size_t last_bytes;
} weft_runs_t;

/** Runs as data of a type made for them, to be released (weft_type_release) when the steps have
 * been appended. Without memory: no data, and it is noted in the plan. */
weft_data_t weft_runs_data(weft_plan_t *plan, weft_runs_t runs);

/** The same of runs that lie anyhow. */
typedef struct weft_run_list {
    weft_place_t at; /* what the offsets count from */
    size_t count;
    const MPI_Count *offsets; /* [count] bytes */
    const MPI_Count *bytes;   /* [count] */
} weft_run_list_t;

weft_data_t weft_run_list_data(weft_plan_t *plan, const weft_run_list_t *runs);

/** `data` as one run of bytes: as it lies, where it has no gaps, or in scratch memory, which a copy
 *  (weft_plan_copy, nothing if both are the same) fills and another empties. */
weft_data_t weft_plan_as_bytes(weft_plan_t *plan, weft_data_t data);

#endif
