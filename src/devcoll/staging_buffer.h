/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory that stands for the buffers of a call that lie on a device: the collective runs on it
 * as on any host memory. The data that the call gives are copied into it first, the data that it
 * gets are copied out of it at the end.
 */
#ifndef WEFT_DEVCOLL_STAGING_BUFFER_H
#define WEFT_DEVCOLL_STAGING_BUFFER_H

#include "devcoll/regions.h"
#include "datatype/pack.h"
#include "runtime/device.h"

#include <stdint.h>

/** The host memory that stands for one buffer of the call. */
typedef struct weft_staging_buffer {
    char *memory;  /* NULL: the user's buffer is host memory, and nothing stands for it */
    ptrdiff_t low; /* `memory` stands for the bytes from buf + low on */
    bool is_pinned;
} weft_staging_buffer_t;

/** The host memory that stands for send_buf and for recv_buf. */
typedef struct weft_staging_buffers {
    weft_staging_buffer_t send, recv;
} weft_staging_buffers_t;

/** Make staging buffers for those buffers of the call that are device memory; MPI_ERR_NO_MEM. */
int wefti_staging_buffers_open(weft_coll_t coll, const weft_coll_args_t *args,
                               weft_staging_buffers_t *out);
void wefti_staging_buffers_close(weft_staging_buffers_t *buffers);

/** The call with staging buffers in place of the user's. */
weft_coll_args_t wefti_staging_buffers_args(const weft_staging_buffers_t *buffers,
                                            const weft_coll_args_t *args);

/** Copies, or begins to; an error ends wefti_staging_buffers_copy(). */
typedef int (*wefti_staging_copy_t)(void *owner, const weft_elements_t *from,
                                    const weft_elements_t *to);

/** Have `copy` called, with `owner`, for all data of a side of the call that lie on a device: what
 * it gives is copied into the staging buffers, what it gets out of them. Returns the first error.
 */
int wefti_staging_buffers_copy(const weft_staging_buffers_t *buffers, const weft_regions_t *regions,
                               wefti_staging_copy_t copy, void *owner);

#endif
