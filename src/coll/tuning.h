/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm runs: a readable table (tuning.conf, where the format is explained). */
#ifndef WEFT_COLL_TUNING_H
#define WEFT_COLL_TUNING_H

#include "coll/algorithm.h"

/** What a choice depends on. It must be the same on all ranks of a call; so where the nodes are
 *  several, is_oversubscribed is false, and any_is_oversubscribed is what the launcher says to
 *  all. */
typedef struct weft_tuning_query {
    weft_coll_t coll;
    bool is_oversubscribed;
    bool any_is_oversubscribed; /* ranks outnumber the cores on one of the nodes */
    int ranks;
    size_t bytes;
    unsigned has;       /* WEFT_NEEDS_ flags that the call fulfils */
    int nodes;          /* 0 is 1 */
    int least, most;    /* ranks of a node; where nodes > 1 */
    const char *fabric; /* the provider between them; NULL is "" */
} weft_tuning_query_t;

/** An algorithm, and its options (weft_how_t). */
typedef struct weft_choice {
    const weft_algorithm_t *algorithm;
    int radix;
    size_t segment_bytes;
    int line;           /* of the table, from 1; 0: none fitted */
    bool is_modelled;   /* the line said "model" */
    double estimate_us; /* of the model */
} weft_choice_t;

/** Read the built-in table or the user's file; a bad line is warned of and the built-in table
 * taken. */
void weft_tuning_open(void);
void weft_tuning_close(void);

/** What the first row that fits says. */
weft_choice_t weft_tuning_choose(const weft_tuning_query_t *query);

/** A method for a call with device memory. */
typedef struct weft_method_choice {
    int method; /* index in weft_device_calls->methods; -1: no row fits */
    int line;   /* of the table, from 1; 0: no row fits */
} weft_method_choice_t;

/** The method of the first row "device" that fits, among those of the set `possible` (1 << index).
 *  `bytes` as in the table: of one rank's buffers. */
weft_method_choice_t weft_tuning_choose_method(weft_coll_t coll, int ranks, size_t bytes,
                                               unsigned possible);

/** What the model says, whatever the rows say; among the algorithms that have a formula. */
weft_choice_t weft_tuning_model(const weft_tuning_query_t *query);

/** The best way to run one algorithm, by the model; estimate_us is negative when it has no
 *  formula. */
weft_choice_t weft_tuning_tune(const weft_tuning_query_t *query, const weft_algorithm_t *algorithm);

/** What the last column of a row says ("sliced,radix=4,segment=64K"); false: it is no such word. */
bool weft_tuning_parse(weft_coll_t coll, const char *text, weft_choice_t *out);

/** The algorithms of a collective, ended by a row without a name. */
const weft_algorithm_t *weft_coll_algorithms(weft_coll_t coll);

/** The collective of a name; WEFT_COLLS: there is none. */
weft_coll_t weft_coll_named(const char *word);

/** "allreduce", ... */
const char *weft_coll_name(weft_coll_t coll);

/** The built-in table as text (made from tuning.conf by the build). */
extern const char weft_tuning_text[];

#endif
