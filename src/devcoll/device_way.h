/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a collective with device memory takes: rows "device" of tuning.conf. */
#ifndef WEFT_DEVCOLL_DEVICE_WAY_H
#define WEFT_DEVCOLL_DEVICE_WAY_H

#include "coll/coll.h"

#include <stdbool.h>

typedef enum weft_way_flag {
    WEFT_WAY_TOGETHER = 1,
    WEFT_WAY_LEVELS = 2,
    WEFT_WAY_STEPPED = 4,
    WEFT_WAY_STAGED = 8, /* always possible */
    WEFT_WAY_FLAGS = 16,
    WEFT_WAY_MULTICAST = 32,
} weft_way_flag_t;

typedef struct weft_device_way {
    weft_way_flag_t way;
    int line; /* of the table; 0: none fitted */
} weft_device_way_t;

/** The way of the first row that fits, among those that are possible here (flags). `bytes` as in the
 *  table: of one rank's buffers. */
weft_device_way_t weft_device_way(weft_coll_t coll, int ranks, size_t bytes, unsigned possible);

/** "together", ... */
const char *weft_device_way_name(weft_way_flag_t way);

/** Take a row of the table; false: it is none of ours, or not good. */
bool weft_device_way_parse(const char *line, int number);
/** The rows that are parsed from now on replace those before, if there are any. */
void weft_device_ways_begin_table(void);
void weft_device_ways_close(void);

#endif
