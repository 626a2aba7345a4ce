/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm runs: a readable table (tuning.conf, where the format is explained). */
#ifndef WEFT_COLL_TUNING_H
#define WEFT_COLL_TUNING_H

#include "coll/algorithm.h"

/** What a row can ask about. It must be the same on all ranks of a call. */
typedef struct weft_tuning_query {
    weft_coll_t coll;
    bool cores_are_short;
    int ranks;
    size_t bytes;
    unsigned has; /* WEFT_NEEDS_ flags that the call fulfils */
} weft_tuning_query_t;

/** Read the built-in table or the user's file; a bad line is warned of and the built-in table
 * taken. */
void weft_tuning_open(void);
void weft_tuning_close(void);

/** The algorithm of the first row that fits. */
const weft_algorithm_t *weft_tuning_choose(const weft_tuning_query_t *query);

/** "allreduce", ... */
const char *weft_coll_name(weft_coll_t coll);

/** The built-in table as text (made from tuning.conf by the build). */
extern const char weft_tuning_text[];

#endif
