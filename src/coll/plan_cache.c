/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/plan_cache.h"

#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

int weft_plan_cache_slot;

const bool weft_coll_has_arrays[WEFT_COLL_FORMS] = {
    [WEFT_NEIGHBOR_ALLGATHERV] = true,
    [WEFT_NEIGHBOR_ALLTOALLV] = true,
    [WEFT_NEIGHBOR_ALLTOALLW] = true,
    [WEFT_GATHERV] = true,
    [WEFT_SCATTERV] = true,
    [WEFT_ALLGATHERV] = true,
    [WEFT_ALLTOALLV] = true,
    [WEFT_ALLTOALLW] = true,
    [WEFT_REDUCE_SCATTER] = true,
};

static bool is_lasting(const weft_type_t *type)
{
    return type == NULL || type->is_predefined;
}

bool weft_plan_can_be_kept(const weft_plan_t *plan, const weft_coll_args_t *args)
{
    return (!weft_coll_has_arrays[plan->coll] || plan->on_wall != NULL) &&
           is_lasting(args->send_type) && is_lasting(args->recv_type) &&
           (args->op == NULL || args->op->is_predefined);
}

static weft_plan_cache_t *cache_of(weft_comm_t *comm)
{
    if (comm->slot[weft_plan_cache_slot] == NULL)
        comm->slot[weft_plan_cache_slot] = weft_alloc_zeroed(1, sizeof(weft_plan_cache_t));
    return comm->slot[weft_plan_cache_slot];
}

weft_plan_t *weft_plan_cache_find(weft_comm_t *comm, const weft_plan_key_t *key)
{
    weft_plan_cache_t *cache = comm->slot[weft_plan_cache_slot];
    if (cache == NULL)
        return NULL;
    weft_plan_t *const *set = cache->sets[weft_plan_set_of(key)];
    for (int i = 0; i < WEFT_PLANS_A_SET && set[i] != NULL; i++) {
        if (!weft_plan_keys_equal(&set[i]->key, key))
            continue;
        if (!weft_coll_has_arrays[set[i]->coll])
            cache->last[set[i]->coll] = set[i];
        return set[i];
    }
    return NULL;
}

static void drop_plan(weft_plan_cache_t *cache, weft_plan_t *plan)
{
    if (cache->last[plan->coll] == plan)
        cache->last[plan->coll] = NULL;
    weft_plan_release(plan);
}

int weft_plan_cache_keep(const weft_coll_args_t *args, weft_plan_t *plan)
{
    if (!weft_plan_can_be_kept(plan, args))
        return MPI_SUCCESS;
    weft_plan_cache_t *cache = cache_of(args->comm);
    if (cache == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the plans of a communicator");
    weft_plan_t **set = cache->sets[weft_plan_set_of(&plan->key)];
    if (set[WEFT_PLANS_A_SET - 1] != NULL)
        drop_plan(cache, set[WEFT_PLANS_A_SET - 1]);
    memmove(set + 1, set, (WEFT_PLANS_A_SET - 1) * sizeof(*set));
    set[0] = plan;
    plan->references++;
    return MPI_SUCCESS;
}

static weft_plan_t *plan_at(const weft_plan_cache_t *cache, int i)
{
    return cache->sets[i / WEFT_PLANS_A_SET][i % WEFT_PLANS_A_SET];
}

static void release_cache(weft_comm_t *comm, void *state)
{
    (void)comm;
    for (int i = 0; i < WEFT_PLAN_SETS * WEFT_PLANS_A_SET; i++) {
        if (plan_at(state, i) != NULL)
            weft_plan_release(plan_at(state, i));
    }
    weft_free(state);
}

int weft_coll_plans_kept(const weft_comm_t *comm)
{
    const weft_comm_t *whole = comm->both != NULL ? comm->both : comm;
    const weft_plan_cache_t *cache = whole->slot[weft_plan_cache_slot];
    int kept = 0;
    for (int i = 0; cache != NULL && i < WEFT_PLAN_SETS * WEFT_PLANS_A_SET; i++)
        kept += plan_at(cache, i) != NULL;
    return kept;
}

int weft_plan_cache_open(void)
{
    weft_plan_cache_slot = weft_comm_slot_register("plans", release_cache);
    return weft_plan_cache_slot < 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}
