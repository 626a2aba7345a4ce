/* SPDX-License-Identifier: BSD-3-Clause */
/* The two groups of an intercommunicator, as ranks of its union. */
#ifndef WEFT_COLL_INTER_SIDES_PRIVATE_H
#define WEFT_COLL_INTER_SIDES_PRIVATE_H

#include "coll/algorithm.h"
#include "coll/team/teams.h"

/** The own group, in the order of its ranks. */
static inline weft_team_t weft_own_side(const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->inter->group->size, args->inter->rank);
    team.first = args->comm->rank - args->inter->rank;
    return team;
}

/** Rank `index` of the remote group. */
static inline int weft_remote_rank(const weft_coll_args_t *args, int index)
{
    return weft_comm_remote_in_union(args->inter, index);
}

static inline bool weft_is_inter_root(const weft_coll_args_t *args)
{
    return args->root == args->comm->rank;
}

/** Is the root in the remote group? Then this rank gets from it or gives to it. */
static inline bool weft_has_remote_root(const weft_coll_args_t *args)
{
    return args->root != MPI_PROC_NULL && !weft_is_inter_root(args);
}

void wefti_inter_reduce(weft_plan_t *plan, const weft_coll_args_t *args);
void wefti_inter_allreduce(weft_plan_t *plan, const weft_coll_args_t *args);
void wefti_inter_reduce_scatter(weft_plan_t *plan, const weft_coll_args_t *args);
void wefti_inter_reduce_scatter_block(weft_plan_t *plan, const weft_coll_args_t *args);

#endif
