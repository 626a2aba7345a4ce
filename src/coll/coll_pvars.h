/* SPDX-License-Identifier: BSD-3-Clause */
/* What tools can see of collectives: the calls that each algorithm has done, plans, and an event
 * for each choice. */
#ifndef WEFT_COLL_COLL_PVARS_H
#define WEFT_COLL_COLL_PVARS_H

#include "coll/algorithm.h"
#include "tool/event.h"
#include "tool/pvar.h"
#include "base/own_symbol.h"

#include <stddef.h>

typedef struct weft_coll_counts {
    int watched; /* a tool wants to know of calls by algorithm */
    uint64_t plans_written;
} weft_coll_counts_t;

extern WEFT_OWN_SYMBOL weft_coll_counts_t weft_coll_counts;

/** A plan has been written for calls of a communicator, to which the event is bound. */
typedef struct weft_algorithm_chosen_event {
    int variable; /* index of the performance variable that counts its calls */
    int ranks, nodes, radix;
    unsigned long long bytes, segment_bytes;
} weft_algorithm_chosen_event_t;

extern weft_event_type_t weft_algorithm_chosen_event;

/** All of them, a variable for each algorithm first. NULL: no memory for their names. */
const weft_pvar_table_t *weft_coll_pvars(void);

/** The place of an algorithm's variable in this table; -1: it has none. */
int weft_coll_pvar_of(weft_coll_t coll, const weft_algorithm_t *algorithm);

void weft_coll_count_call(const weft_plan_t *plan) __attribute__((cold));

/** A call of a collective begins to use this plan. */
static inline void weft_coll_note_call(const weft_plan_t *plan)
{
    if (__builtin_expect(weft_coll_counts.watched != 0, 0))
        weft_coll_count_call(plan);
}

#endif
