/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory that stands for the buffers of a call that lie on a device: the collective runs on it as
 * on any host memory. What the call gives is copied into it before, what it gets is copied out after.
 */
#ifndef WEFT_DEVCOLL_SHADOW_H
#define WEFT_DEVCOLL_SHADOW_H

#include "devcoll/regions.h"
#include "runtime/device.h"

/** One buffer. */
typedef struct weft_shadow {
    const void *buf; /* the user's */
    char *memory;    /* NULL: there is no shadow, the buffer is the host's */
    ptrdiff_t low;   /* `memory` stands for what begins here, bytes from `buf` */
    bool is_pinned;
} weft_shadow_t;

/** The shadows of a call: of send_buf, and of recv_buf. */
typedef struct weft_shadows {
    weft_shadow_t send, recv;
} weft_shadows_t;

/** Make the shadows of those buffers that are device memory; MPI_ERR_NO_MEM. */
int weft_shadows_open(weft_coll_t coll, const weft_coll_args_t *args, weft_shadows_t *out);
void weft_shadows_close(weft_shadows_t *shadows);

/** The call with its shadows in place of its buffers. */
weft_coll_args_t weft_shadows_args(const weft_shadows_t *shadows, const weft_coll_args_t *args);

/** The shadow in which a side lies; NULL: none. */
const weft_shadow_t *weft_shadows_of(const weft_shadows_t *shadows, const weft_regions_t *regions);

/** Where in the shadow something of the user's buffer is, `offset` bytes from its start. */
static inline void *weft_shadow_at(const weft_shadow_t *shadow, ptrdiff_t offset)
{
    return shadow->memory + (offset - shadow->low);
}

#endif
