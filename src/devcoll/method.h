/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The methods by which a collective with device memory is done, in order of preference; the rows
 * "device" of tuning.conf choose among those that are possible for a call. README.md describes
 * them.
 *
 * Most need all ranks of the host at a meeting (runtime/meeting.h). There a method goes through
 * this:
 *
 *   possible --> offer --> (all have come) --> agrees --> begin --> end
 *                                  |                        '----> cancel --> end
 *                                  '---> learn, where a simpler method is taken meanwhile
 *
 * Methods without `offer` need no meeting: possible --> begin, and the task is completed by itself.
 */
#ifndef WEFT_DEVCOLL_METHOD_H
#define WEFT_DEVCOLL_METHOD_H

#include "coll/coll.h"
#include "tool/pvar.h"

#include <stdbool.h>

typedef struct weft_task weft_task_t;
typedef struct weft_offer weft_offer_t;

/** Also the order of the array. A set of methods has bit 1 << index for each. */
typedef enum weft_method_index {
    WEFT_METHOD_MULTICAST,
    WEFT_METHOD_LL,
    WEFT_METHOD_DIRECT,
    WEFT_METHOD_HIERARCHICAL,
    WEFT_METHOD_P2P,
    WEFT_METHOD_STAGED,
    WEFT_METHODS
} weft_method_index_t;

typedef enum weft_method_scope {
    WEFT_SCOPE_ANY,
    WEFT_SCOPE_ONE_HOST,
    WEFT_SCOPE_SEVERAL_HOSTS,
} weft_method_scope_t;

/* Entries are called with the library's lock held, and never block. */
typedef struct weft_device_method {
    const char *name;  /* as in tuning.conf */
    const char *where; /* in words: the case in which no earlier method of the array is possible */
    weft_method_scope_t scope;

    /** Can the method do this collective at all? */
    bool (*knows)(weft_coll_t coll);

    /** Can the method do this call, as far as this rank knows? */
    bool (*possible)(const weft_task_t *task);

    /** Write into the rank's offer how far this rank is. Called at each meeting, even if the task
     * would not use this method. Returns true if the rank is ready for this call. NULL: the method
     * needs no meeting. */
    bool (*offer)(weft_task_t *task, weft_offer_t *offer);

    /** All offers are there, and another method does the call: take a step towards being ready for
     * a later call. NULL: there is nothing to prepare. */
    void (*learn)(weft_task_t *task);

    /** All offers are there: do all members use this method for the call? The answer is the same on
     * all. */
    bool (*agrees)(const weft_task_t *task);

    /** Begin this rank's part, or the whole call if no meeting is needed. Errors go into the
     * task. */
    void (*begin)(weft_task_t *task);

    /** Another member has failed: make this rank's part end soon. NULL: it ends by itself. */
    void (*cancel)(weft_task_t *task);

    /** The work that begin() put into a queue is over, well or with `err`. NULL if the method needs
     * no meeting. */
    void (*end)(weft_task_t *task, int err);

    /** A communicator is freed: release what the method keeps for it. NULL: it keeps nothing. */
    void (*release)(void *state);

    /** True: each member does its part as soon as all have agreed. False: the member that came last
     * does all, and the others wait. */
    bool is_done_by_all;
} weft_device_method_t;

extern const weft_device_method_t *const weft_device_methods[WEFT_METHODS];

/* The rows, each in a file of its own; hierarchical, p2p and staged are in solo.c. */
extern const weft_device_method_t wefti_multicast_method, wefti_ll_method, wefti_direct_method,
    wefti_hierarchical_method, wefti_p2p_method, wefti_staged_method;

/** The method that the tuning table chooses from a set of methods, of which WEFT_METHOD_STAGED
 * should be one. *line_out, if not NULL, gets the line of the table, or 0 if none fitted. `bytes`
 * are what the table calls so: one rank's contribution, mostly. */
weft_method_index_t weft_device_method_choose(weft_coll_t coll, int ranks, size_t bytes,
                                              unsigned possible, int *line_out);

/** Begin the task by task->method. */
void wefti_method_begin(weft_task_t *task);

/** For tools: the tasks that were begun by each method. Of a method that one rank carries out for
 *  all, that rank counts. */
extern const weft_pvar_table_t weft_device_method_pvars;

#endif
