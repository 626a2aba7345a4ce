/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans that are kept with a communicator, so that a loop of collectives writes them once. There
 * are sets of four; a plan that comes to a full set takes the place of the oldest one.
 *
 * A plan is kept if a few numbers describe its call. Derived types and operations do not, since
 * they may be freed and new ones may get their addresses; neither do arrays of counts, but a plan
 * on a wall depends on no more of them than the bytes by which it was chosen.
 */
#ifndef WEFT_COLL_PLAN_CACHE_H
#define WEFT_COLL_PLAN_CACHE_H

#include "coll/coll.h"
#include "coll/plan.h"
#include "base/own_symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_PLAN_SETS = 16, WEFT_PLANS_A_SET = 4 };

typedef struct weft_plan_cache {
    /* The plan of the last call of each collective that has no arrays; it is in a set as well. */
    weft_plan_t *last[WEFT_COLL_FORMS];
    weft_plan_t *sets[WEFT_PLAN_SETS][WEFT_PLANS_A_SET]; /* the newest of a set first; NULL: none */
} weft_plan_cache_t;

/** The slot of communicators. */
extern WEFT_OWN_SYMBOL int weft_plan_cache_slot;

/** Collectives with arrays of counts. */
extern const bool weft_coll_has_arrays[WEFT_COLL_FORMS];

/** The bytes by which tuning.conf chooses; 0 where the ranks could not agree on them. */
size_t weft_coll_bytes(weft_coll_t coll, const weft_coll_args_t *args);

/** What `call` of a key is. */
static inline uint64_t weft_plan_call_of(weft_coll_t coll, const weft_coll_args_t *args,
                                         bool has_wall)
{
    uint64_t in_place =
        (uint64_t)(args->send_buf == MPI_IN_PLACE) << 1 | (args->recv_buf == MPI_IN_PLACE);
    return (uint64_t)has_wall << 48 | (uint64_t)coll << 34 | in_place << 32 | (uint32_t)args->root;
}

static inline weft_plan_key_t weft_plan_key_of(weft_coll_t coll, const weft_coll_args_t *args,
                                               bool has_wall)
{
    bool has_arrays = __builtin_expect(weft_coll_has_arrays[coll] && has_wall, 0);
    return (weft_plan_key_t){.call = weft_plan_call_of(coll, args, has_wall),
                             .send_count = args->send_count,
                             .recv_count = args->recv_count,
                             .bytes = has_arrays ? weft_coll_bytes(coll, args) : 0,
                             .send_type = args->send_type,
                             .recv_type = args->recv_type,
                             .op = args->op};
}

static inline bool weft_plan_keys_equal(const weft_plan_key_t *a, const weft_plan_key_t *b)
{
    return a->call == b->call && a->send_count == b->send_count && a->recv_count == b->recv_count &&
           a->bytes == b->bytes && a->send_type == b->send_type && a->recv_type == b->recv_type &&
           a->op == b->op;
}

static inline size_t weft_plan_set_of(const weft_plan_key_t *key)
{
    uint64_t count = key->send_count * 3 + key->recv_count + key->bytes;
    uint64_t mixed = (key->call ^ key->call >> 34 ^ count) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 60; /* of 16 */
}

_Static_assert(WEFT_PLAN_SETS == 16, "weft_plan_set_of takes four bits");

/** The plan of the last call of this collective, if it suits this call as well; NULL: look on. */
static inline weft_plan_t *weft_plan_cache_last(weft_coll_t coll, const weft_coll_args_t *args,
                                                bool has_wall)
{
    const weft_plan_cache_t *cache = args->comm->slot[weft_plan_cache_slot];
    weft_plan_t *plan = cache != NULL ? cache->last[coll] : NULL;
    if (__builtin_expect(plan == NULL, 0))
        return NULL;
    const weft_plan_key_t *key = &plan->key;
    bool is_alike = key->call == weft_plan_call_of(coll, args, has_wall) &&
                    key->send_count == args->send_count && key->recv_count == args->recv_count &&
                    key->send_type == args->send_type && key->recv_type == args->recv_type &&
                    key->op == args->op;
    return is_alike ? plan : NULL;
}

/** The plan of such a call, or NULL. A call that no key describes finds none, since no kept plan is
 * one for its collective, its types or its operation. */
weft_plan_t *weft_plan_cache_find(weft_comm_t *comm, const weft_plan_key_t *key);

/** Does a key describe the call of a new plan, so that others like it may have the same plan? */
bool weft_plan_can_be_kept(const weft_plan_t *plan, const weft_coll_args_t *args);

/** Keep a new plan, whose key is set, if a key describes its call. MPI_ERR_NO_MEM with a text. */
int weft_plan_cache_keep(const weft_coll_args_t *args, weft_plan_t *plan);

/** Called at start-up; MPI_ERR_INTERN with a text. */
int weft_plan_cache_open(void);

#endif
