/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions between groups: what the ranks of one group give is reduced and goes to the other. */
#include "coll/inter/sides_private.h"
#include "coll/team/pieces.h"

/* Rank 0 of the group gets the result, elsewhere the place means nothing. A step that uses it must
 * wait. */
static weft_data_t reduce_own_side(weft_plan_t *plan, const weft_coll_args_t *args, size_t count)
{
    weft_team_t own = weft_own_side(args);
    weft_data_t result = weft_data(weft_place_at(WEFT_SCRATCH, 0), count, args->recv_type);
    if (own.index == 0)
        result.place = weft_plan_scratch(plan, count, args->recv_type);
    weft_team_reduce(plan, &own, weft_place_at(WEFT_IN, 0), result, plan->how.radix);
    weft_plan_wait(plan);
    return result;
}

/* Both groups' ranks 0 swap their groups' results; the next step must wait. */
static void swap_results(weft_plan_t *plan, const weft_coll_args_t *args, weft_data_t own,
                         weft_data_t remote)
{
    int other = weft_remote_rank(args, 0);
    if (args->inter->rank != 0)
        return;
    weft_plan_send(plan, own, other);
    weft_plan_recv(plan, remote, other);
    weft_plan_wait(plan);
}

void wefti_inter_reduce(weft_plan_t *plan, const weft_coll_args_t *args)
{
    if (weft_is_inter_root(args))
        weft_plan_recv(plan, weft_vector(args, weft_place_at(WEFT_OUT, 0)),
                       weft_remote_rank(args, 0));
    if (!weft_has_remote_root(args))
        return;
    weft_data_t result = reduce_own_side(plan, args, args->recv_count);
    if (args->inter->rank == 0)
        weft_plan_send(plan, result, args->root);
}

void wefti_inter_allreduce(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t own = weft_own_side(args);
    weft_data_t out = weft_vector(args, weft_place_at(WEFT_OUT, 0));
    swap_results(plan, args, reduce_own_side(plan, args, args->recv_count), out);
    weft_team_bcast(plan, &own, out, plan->how.radix);
}

/* ---- results in parts ---- */

static size_t part_count(const weft_coll_args_t *args, int index)
{
    return args->recv_counts.at == NULL ? args->recv_count
                                        : (size_t)weft_count_at(args->recv_counts, (size_t)index);
}

/* Rank 0 gives each rank of its group a part of what came from the other group. */
static void spread_parts(weft_plan_t *plan, const weft_coll_args_t *args, weft_data_t all)
{
    weft_team_t own = weft_own_side(args);
    weft_data_t mine =
        weft_data(weft_place_at(WEFT_OUT, 0), part_count(args, own.index), args->recv_type);
    weft_data_t part = all;
    if (own.index != 0)
        weft_plan_recv(plan, mine, weft_team_rank(&own, 0));
    for (int i = 0; own.index == 0 && i < own.size; i++) {
        part.count = part_count(args, i);
        if (i == 0)
            weft_plan_copy(plan, part, mine);
        else
            weft_plan_send(plan, part, weft_team_rank(&own, i));
        part.place = weft_after(part.place, (MPI_Count)part.count, args->recv_type);
    }
}

static void reduce_and_spread(weft_plan_t *plan, const weft_coll_args_t *args, size_t total)
{
    weft_data_t remote = weft_data(weft_place_at(WEFT_SCRATCH, 0), total, args->recv_type);
    if (args->inter->rank == 0)
        remote.place = weft_plan_scratch(plan, total, args->recv_type);
    swap_results(plan, args, reduce_own_side(plan, args, total), remote);
    spread_parts(plan, args, remote);
}

void wefti_inter_reduce_scatter(weft_plan_t *plan, const weft_coll_args_t *args)
{
    size_t total = 0;
    for (int i = 0; i < args->inter->group->size; i++)
        total += part_count(args, i);
    reduce_and_spread(plan, args, total);
}

void wefti_inter_reduce_scatter_block(weft_plan_t *plan, const weft_coll_args_t *args)
{
    reduce_and_spread(plan, args, args->recv_count * (size_t)args->inter->group->size);
}
