/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data that a rank gives to a collective and the data that it gets, as a list of regions of its
 * buffers: one region, or one for each rank of the communicator where the collective treats ranks
 * apart. With this list, code that works on all data of a call (that copies them to the host, or
 * describes them to others) is written once for all collectives and their forms.
 */
#ifndef WEFT_DEVCOLL_REGIONS_H
#define WEFT_DEVCOLL_REGIONS_H

#include "coll/coll.h"
#include "coll/plan.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum weft_side { WEFT_GIVES, WEFT_GETS, WEFT_SIDES } weft_side_t;

/** `count` elements of `type`, `offset` bytes from the buffer. */
typedef struct weft_coll_region {
    ptrdiff_t offset;
    size_t count;
    weft_type_t *type;
} weft_coll_region_t;

/** One side of a call. */
typedef struct weft_regions {
    weft_coll_t coll;
    const weft_coll_args_t *args;
    weft_side_t side;
    /* [count], for a section of a plan; NULL: the collective's arguments describe the data */
    const weft_data_t *list;
    char *buf;
    int count;        /* 0, 1 or the size of the communicator; NULL buffers have none */
    bool is_in_place; /* the data that it gives lie where it gets data */
    bool in_send_buf; /* else in recv_buf; both may be MPI_BOTTOM */
} weft_regions_t;

weft_regions_t wefti_regions_of(weft_coll_t coll, const weft_coll_args_t *args, weft_side_t side);

/** One side of a section of a plan: `count` data that lie in one of `buffers` (by weft_buffer_t).
 */
weft_regions_t wefti_regions_listed(const weft_coll_args_t *args, const weft_data_t *list,
                                    int count, char *const *buffers);

/** Region `index`; for a region without data, count is 0 and there may be no type. Where an
 * operation is applied, a region is an array of elements with nothing between them. */
weft_coll_region_t wefti_regions_at(const weft_regions_t *regions, int index);

/** The same, including the block that is already in place when data are gathered in place: a plan
 * may take it out of the buffer and put it back. */
weft_coll_region_t wefti_regions_room_at(const weft_regions_t *regions, int index);

/** How many entries those of the call's arrays have that describe this side; 0: none describes it.
 *  *of_recv: they are recv_counts, recv_displs and recv_types, else send_counts and so on. */
int wefti_regions_entries(const weft_regions_t *regions, bool *of_recv);

/** The address of the first byte of data in the first region that has data; NULL if none has. */
void *wefti_regions_first(const weft_regions_t *regions);

/** Bytes [low, high) from the start of the buffer hold all regions. Returns false if there are no
 * data. */
bool wefti_regions_span(const weft_regions_t *regions, ptrdiff_t *low_out, ptrdiff_t *high_out);

#endif
