/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which data a rank gives to a collective and which it gets, as a list of regions of its buffers:
 * one, or one for each rank of the communicator where the collective treats ranks apart. With it,
 * what has to be done for all data of a call (copy it to the host, describe it to others) is
 * written once, for all collectives and their forms.
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
    const weft_data_t *list; /* [count], of a section of a plan; NULL: as the collective has it */
    char *buf;
    int count;        /* of regions: 0, 1 or the size of the communicator; NULL buffers have none */
    bool is_in_place; /* what it gives lies where it gets */
} weft_regions_t;

weft_regions_t wefti_regions_of(weft_coll_t coll, const weft_coll_args_t *args, weft_side_t side);

/** One side of a section of a plan: `count` data that lie in one of `buffers` (by weft_buffer_t).
 */
weft_regions_t wefti_regions_listed(const weft_coll_args_t *args, const weft_data_t *list,
                                    int count, char *const *buffers);

/** Region `index`; for one with no data count is 0, and there may be no type. Where an operation is
 * applied, a region is an array of elements with nothing between them. */
weft_coll_region_t wefti_regions_at(const weft_regions_t *regions, int index);

/** The same, with the block that is there already when data are gathered in place: a plan may take
 * it out of the buffer and put it back. */
weft_coll_region_t wefti_regions_room_at(const weft_regions_t *regions, int index);

/** The address of the first byte of data of the first region that has some; NULL: none has. */
void *wefti_regions_first(const weft_regions_t *regions);

/** Bytes [low, high) from the buffer hold all regions. False: there is no data. */
bool wefti_regions_span(const weft_regions_t *regions, ptrdiff_t *low_out, ptrdiff_t *high_out);

#endif
