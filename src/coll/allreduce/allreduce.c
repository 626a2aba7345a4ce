/* SPDX-License-Identifier: BSD-3-Clause */
/* All of these algorithms give the same bits on all ranks and in every run: the operands and their
 * order depend only on the ranks. */
#include "coll/algorithm.h"
#include "coll/allreduce/allreduce_nodes.h"
#include "coll/team/pieces.h"
#include "coll/wall/wall_algorithms.h"
#include "coll/wall/wall_groups.h"

static weft_team_t team_of_all(const weft_coll_args_t *args)
{
    return weft_team_all(args->comm->size, args->comm->rank);
}

static weft_data_t allreduce_result_of(const weft_coll_args_t *args)
{
    return weft_vector(args, weft_place_at(WEFT_OUT, 0));
}

static void allreduce_recursive_multiplying(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_team_allreduce(plan, &team, weft_own_operand(args), allreduce_result_of(args),
                        plan->how.radix);
}

static void allreduce_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_team_allreduce_halving(plan, &team, weft_own_operand(args), allreduce_result_of(args),
                                plan->how.radix);
}

static void allreduce_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_team_allreduce_bine(plan, &team, weft_own_operand(args), allreduce_result_of(args));
}

static void allreduce_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_team_allreduce_ring(plan, &team, weft_own_operand(args), allreduce_result_of(args));
}

/* Rank 0 receives all operands and sends the result to all. */
static void allreduce_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    int size = args->comm->size < 2 ? 2 : args->comm->size;
    weft_team_reduce(plan, &team, weft_own_operand(args), allreduce_result_of(args), size);
    weft_plan_wait(plan);
    weft_team_bcast(plan, &team, allreduce_result_of(args), size);
}

/* Each rank reduces one part of the vector and sends it to all. */
static void allreduce_two_shot(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_cut_t cut = weft_cut(allreduce_result_of(args), team.size);
    weft_team_reduce_scatter(plan, &team, weft_own_operand(args), &cut);
    weft_team_allgather(plan, &team, &cut);
}

/* All ranks get all operands, and each reduces them in the order of ranks. */
static void allreduce_gathered(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = team_of_all(args);
    weft_data_t to = allreduce_result_of(args), all = to;
    all.count *= (size_t)team.size;
    all.place = weft_plan_scratch(plan, all.count, all.type);
    weft_cut_t cut = weft_cut(all, team.size);
    weft_plan_copy(plan, weft_vector(args, weft_own_operand(args)),
                   weft_cut_part(&cut, team.index));
    weft_plan_wait(plan);
    weft_team_allgather_bruck(plan, &team, &cut, plan->how.radix);
    weft_plan_wait(plan);
    weft_plan_fold_parts(plan, &cut, 0, to);
}

/* ---- their costs over several nodes: every round crosses nodes ---- */

static double allreduce_two_shot_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    double part = model->bytes / model->ranks;
    return weft_reduce_round_us(model, &net, model->ranks - 1, part) +
           weft_round_us(&net, model->ranks - 1, part);
}

static double allreduce_gathered_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_bruck_us(&net, model->ranks, model->radix, model->bytes) +
           (model->ranks - 1) * model->bytes * model->fabric.reduce_us_per_byte;
}

static double allreduce_recursive_multiplying_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_multiplying_us(model, &net, model->ranks, model->bytes);
}

static double allreduce_rabenseifner_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_halving_us(model, &net, model->ranks, model->bytes);
}

static double allreduce_bine_us(const weft_model_t *model)
{
    weft_model_t binary = *model;
    binary.radix = 2;
    return allreduce_rabenseifner_us(&binary);
}

static double allreduce_ring_us(const weft_model_t *model)
{
    double part = model->bytes / model->ranks;
    return weft_ring_us(model, part, true) + weft_ring_us(model, part, false);
}

const weft_algorithm_t weft_allreduce_algorithms[] = {
    {"recursive_multiplying", allreduce_recursive_multiplying, 0,
     "log_k p rounds of (k - 1) n bytes", allreduce_recursive_multiplying_us, WEFT_HAS_RADIX},
    {"rabenseifner", allreduce_rabenseifner, 0, "2 log_k p rounds, 2 n bytes",
     allreduce_rabenseifner_us, WEFT_HAS_RADIX},
    {"bine", allreduce_bine, WEFT_NEEDS_COMMUTATIVE, "2 log2 p rounds, 2 n bytes, short ways",
     allreduce_bine_us, 0},
    {"ring", allreduce_ring, WEFT_NEEDS_COMMUTATIVE, "2 (p - 1) rounds, 2 n bytes",
     allreduce_ring_us, 0},
    {"two_level", weft_allreduce_two_level, WEFT_NEEDS_ORDER,
     "log_k N rounds of (k - 1) n bytes between nodes", weft_allreduce_two_level_us,
     WEFT_HAS_RADIX},
    {"two_level_tree", weft_allreduce_two_level_tree, WEFT_NEEDS_ORDER,
     "2 log_k N rounds, 2 (N - 1) messages of n bytes between nodes in all",
     weft_allreduce_two_level_tree_us, WEFT_HAS_RADIX},
    {"shared", weft_allreduce_shared, WEFT_NEEDS_COMMUTATIVE,
     "as two_level; a node's ranks share its (k - 1) messages a round", weft_allreduce_shared_us,
     WEFT_HAS_RADIX},
    {"sliced", weft_allreduce_sliced, WEFT_NEEDS_ORDER,
     "all ranks of a node carry 1/m of n; log_k N rounds of (k - 1) n/m", weft_allreduce_sliced_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"sliced_rabenseifner", weft_allreduce_sliced_rabenseifner, WEFT_NEEDS_ORDER,
     "as sliced; 2 log_k N rounds, 2 n/m bytes", weft_allreduce_sliced_rabenseifner_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"sliced_bine", weft_allreduce_sliced_bine, WEFT_NEEDS_COMMUTATIVE,
     "as sliced; 2 log2 N rounds, 2 n/m bytes, short ways", weft_allreduce_sliced_bine_us,
     WEFT_HAS_SEGMENT},
    {"sliced_ring", weft_allreduce_sliced_ring, WEFT_NEEDS_COMMUTATIVE,
     "as sliced; m rings of 2 (N - 1) rounds, 2 n/m bytes", weft_allreduce_sliced_ring_us,
     WEFT_HAS_SEGMENT},
    {"flat", allreduce_flat, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0",
     weft_through_root_us, WEFT_HAS_FOLD},
    {"two_shot", allreduce_two_shot, WEFT_NEEDS_COUNT, "2 rounds, 2 n bytes a rank",
     allreduce_two_shot_us, WEFT_HAS_FOLD},
    {"gathered", allreduce_gathered, 0, "log_k p rounds, p n bytes a rank", allreduce_gathered_us,
     WEFT_HAS_RADIX | WEFT_HAS_FOLD},
    {"wall", weft_wall_allreduce, WEFT_NEEDS_WALL, "1 post of n bytes a rank; each reduces p n",
     NULL, WEFT_HAS_FOLD},
    {"wall_grouped", weft_grouped_allreduce, WEFT_NEEDS_WALL,
     "3 posts a rank; leaders of groups reduce p n", NULL, WEFT_HAS_FOLD},
    {"wall_or_groups", weft_learnt_allreduce, WEFT_NEEDS_WALL,
     "wall or wall_grouped, whichever is the faster", NULL, WEFT_HAS_FOLD},
    {"wall_sliced", weft_wall_allreduce_sliced, WEFT_NEEDS_WALL,
     "2 posts, of n and n/p bytes; each rank reduces n", NULL, WEFT_HAS_FOLD},
    {"wall_or_messages", weft_routed_allreduce, WEFT_NEEDS_WALL,
     "two ranks: the wall or messages, whichever took less", NULL, 0},
    {0},
};
