/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of an algorithm, by a readable table (tuning.conf, where the format is explained). */
#ifndef WEFT_COLL_TUNING_H
#define WEFT_COLL_TUNING_H

#include "coll/algorithm.h"

/** The facts that a choice depends on. They must be the same on all ranks of a call. So where there
 * are several nodes, is_oversubscribed is false, and any_is_oversubscribed is what the launcher
 * tells all ranks. */
typedef struct weft_tuning_query {
    weft_coll_t coll;
    bool is_oversubscribed;
    bool any_is_oversubscribed; /* one of the nodes is oversubscribed */
    int ranks;
    size_t bytes;
    unsigned has;       /* WEFT_NEEDS_ flags that the call fulfils */
    bool must_fold;     /* only algorithms with WEFT_HAS_FOLD */
    int nodes;          /* 0 counts as 1 */
    int least, most;    /* the smallest and largest number of ranks on a node; where nodes > 1 */
    const char *fabric; /* the provider between nodes; NULL counts as "" */
} weft_tuning_query_t;

/** An algorithm, and its options (weft_how_t). */
typedef struct weft_choice {
    const weft_algorithm_t *algorithm;
    int radix;
    size_t segment_bytes;
    int line;           /* the line of the table, from 1; 0: none fitted */
    bool is_modelled;   /* the line said "model" */
    double estimate_us; /* the model's */
} weft_choice_t;

/** Read the built-in table or the user's file. A bad line gives a warning, and the built-in table
 * is used. */
void weft_tuning_open(void);
void weft_tuning_close(void);

/** Which table is in use: the user's path, or words for the built-in one. */
const char *weft_tuning_table(void);

/** Can this algorithm do such calls? */
static inline bool weft_algorithm_fits(const weft_algorithm_t *its,
                                       const weft_tuning_query_t *query)
{
    return (its->needs & ~query->has) == 0 &&
           ((its->has & WEFT_HAS_FOLD) != 0 || !query->must_fold);
}

/** The choice of the first row that fits; where none does, the first algorithm that does. */
weft_choice_t weft_tuning_choose(const weft_tuning_query_t *query);

/** A method for a call with device memory. */
typedef struct weft_method_choice {
    int method; /* index in weft_device_calls->methods; -1: no row fits */
    int line;   /* the line of the table, from 1; 0: no row fits */
} weft_method_choice_t;

/** The method of the first row "device" that fits, among those of the set `possible` (1 << index).
 * `bytes` has the meaning of the table's column. */
weft_method_choice_t weft_tuning_choose_method(weft_coll_t coll, int ranks, size_t bytes,
                                               unsigned possible);

/** The model's choice among the algorithms that have a formula, whatever the rows say. */
weft_choice_t weft_tuning_model(const weft_tuning_query_t *query);

/** The options by which one algorithm is fastest, by the model. estimate_us is negative when it has
 * no formula. */
weft_choice_t weft_tuning_tune(const weft_tuning_query_t *query, const weft_algorithm_t *algorithm);

/** Parse the last column of a row ("sliced,radix=4,segment=64K"). Returns false if it is not
 * valid. */
bool weft_tuning_parse(weft_coll_t coll, const char *text, weft_choice_t *out);

/** The algorithms of a collective, ended by a row without a name. */
const weft_algorithm_t *weft_coll_algorithms(weft_coll_t coll);

/** The collective of a name; WEFT_COLLS if there is none. */
weft_coll_t weft_coll_named(const char *word);

/** The name of a collective: "allreduce", ... */
const char *weft_coll_name(weft_coll_t coll);

/** The built-in table as text (made from tuning.conf by the build). */
extern const char weft_tuning_text[];

#endif
