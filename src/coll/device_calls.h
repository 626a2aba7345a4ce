/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of functions that do collectives with device memory. src/devcoll, which lies above this
 * folder, registers it at start-up; without a table all buffers are taken for host memory.
 */
#ifndef WEFT_COLL_DEVICE_CALLS_H
#define WEFT_COLL_DEVICE_CALLS_H

#include "coll/coll.h"
#include "coll/plan.h"

#include <stdbool.h>
#include <stdint.h>

/** What does a call on host memory. Both functions return its error, with a text. */
typedef struct weft_host_run {
    int (*run)(const struct weft_host_run *its, const weft_coll_args_t *args);
    /** The data could not be brought to the host: `error`, with a text. */
    int (*refuse)(const struct weft_host_run *its, int error);
} weft_host_run_t;

typedef struct weft_device_calls {
    /** Do buffers of this rank's call lie on a device? This is asked only while some device is in
     * use. */
    bool (*is_needed)(weft_coll_t coll, const weft_coll_args_t *args);

    /** Begin such a call. `plan` is what a rank with host memory would run; it is retained.
     * `number` counts the collectives of the communicator. The caller owns the request. Returns
     * MPI_SUCCESS or MPI_ERR_NO_MEM. */
    int (*begin)(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan, uint32_t number,
                 weft_request_t **out);

    /** Make a persistent request of such a call, whose messages have this tag. The arrays of `args`
     * stay valid as long as the request. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
    int (*prepare)(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan, int tag,
                   weft_request_t **out);

    /** Copy what a call gives to host memory, do it there, copy the results back. */
    int (*run_on_host)(weft_coll_t coll, const weft_coll_args_t *args, const weft_host_run_t *run);

    /** The names that rows "device" of the tuning table may use, ended by NULL; at most 32. */
    const char *const *methods;
} weft_device_calls_t;

/** The registered table; NULL: none. */
extern const weft_device_calls_t *weft_device_calls;

#endif
