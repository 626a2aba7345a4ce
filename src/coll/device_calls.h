/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What src/coll calls upwards: the one that does collectives with device memory in them
 * (src/devcoll). It registers a table at start-up; without one, all buffers are taken for host
 * memory.
 */
#ifndef WEFT_COLL_DEVICE_CALLS_H
#define WEFT_COLL_DEVICE_CALLS_H

#include "coll/coll.h"
#include "coll/plan.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_device_calls {
    /** Do buffers of this rank's call lie on a device? Asked only while some device is in use. */
    bool (*is_needed)(weft_coll_t coll, const weft_coll_args_t *args);

    /** Begin such a call. `plan` is what a rank with host memory would run; it is retained.
     * `number` counts the collectives of the communicator. The request is the caller's.
     * MPI_ERR_NO_MEM. */
    int (*begin)(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan, uint32_t number,
                 weft_request_t **out);

    /** What rows "device" of the tuning table can name, ended by NULL; at most 32. */
    const char *const *methods;
} weft_device_calls_t;

/** The registered table; NULL: none. */
extern const weft_device_calls_t *weft_device_calls;

#endif
