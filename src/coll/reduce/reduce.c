/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/reduce/reduce_nodes.h"
#include "coll/team/pieces.h"
#include "coll/wall/wall_algorithms.h"

static bool reduce_is_root(const weft_coll_args_t *args)
{
    return args->comm->rank == args->root;
}

static weft_data_t reduce_result_of(const weft_coll_args_t *args)
{
    return weft_vector(args, weft_place_at(WEFT_OUT, 0));
}

/* A tree whose root is member 0 of a team, which sends the result on to the root of the
 * collective. */
static void reduce_to(weft_plan_t *plan, const weft_coll_args_t *args, weft_team_t team, int radix)
{
    int collector = weft_team_rank(&team, 0);
    weft_data_t to = reduce_result_of(args);
    if (team.index == 0 && !reduce_is_root(args))
        to.place = weft_plan_scratch(plan, to.count, to.type);
    weft_team_reduce(plan, &team, weft_own_operand(args), to, radix);
    if (collector == args->root)
        return;
    weft_plan_wait(plan);
    if (team.index == 0)
        weft_plan_send(plan, to, args->root);
    else if (reduce_is_root(args))
        weft_plan_recv(plan, to, collector);
}

/* The tree's root is the root when the operation commutes, otherwise rank 0, which sends the result
 * on. */
static void reduce_binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    if (args->op->is_commutative)
        team = weft_team_turned(team, args->root);
    reduce_to(plan, args, team, plan->how.radix);
}

/* The root receives all operands and applies the operation in the order of ranks. */
static void reduce_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, root = args->root;
    weft_data_t to = reduce_result_of(args);
    if (!reduce_is_root(args)) {
        weft_plan_send(plan, weft_vector(args, weft_own_operand(args)), root);
        return;
    }
    weft_operands_in_order_t operands = {
        .slots = weft_plan_scratch(plan, to.count * (size_t)(size - 1), to.type),
        .own = weft_own_operand(args),
        .count = size,
        .own_at = root};
    for (int peer = 0; peer < size; peer++) {
        if (peer != root)
            weft_plan_recv(plan, weft_operand_slot(&operands, peer, to), peer);
    }
    weft_plan_wait(plan);
    weft_plan_fold(plan, &operands, to);
}

/* Each rank reduces one part of the vector, in the order of ranks, and sends it to the root. */
static void reduce_two_shot(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_cut_t cut = weft_cut(reduce_result_of(args), team.size);
    if (!reduce_is_root(args)) {
        weft_data_t own = weft_cut_part(&cut, team.index);
        MPI_Count first = (MPI_Count)weft_cut_first(&cut, team.index);
        cut.at = weft_after(weft_plan_scratch(plan, own.count, own.type), -first, own.type);
    }
    weft_team_reduce_scatter(plan, &team, weft_own_operand(args), &cut);
    if (!reduce_is_root(args)) {
        weft_team_send(plan, &team, weft_cut_part(&cut, team.index), args->root);
        return;
    }
    for (int i = 1; i < team.size; i++) {
        int peer = weft_team_at(&team, i);
        weft_team_recv(plan, &team, weft_cut_part(&cut, peer), peer);
    }
}

/* All operands go up a tree to the root, which applies the operation in the order of ranks. */
static void reduce_gathered(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team =
        weft_team_turned(weft_team_all(args->comm->size, args->comm->rank), args->root);
    weft_data_t own = weft_vector(args, weft_own_operand(args)), all = own;
    all.count *= (size_t)team.size;
    if (team.index == 0)
        all.place = weft_plan_scratch(plan, all.count, all.type);
    weft_cut_t cut = weft_cut(all, team.size);
    weft_team_gather(plan, &team, own, &cut, plan->how.radix);
    if (team.index == 0)
        weft_plan_fold_parts(plan, &cut, args->root, reduce_result_of(args));
}

static double reduce_flat_us(const weft_model_t *model)
{
    return weft_reduce_round_us(model, &model->fabric.net, model->ranks - 1, model->bytes);
}

static double reduce_two_shot_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    double part = model->bytes / model->ranks;
    return weft_reduce_round_us(model, &net, model->ranks - 1, part) +
           weft_round_us(&model->fabric.net, model->ranks - 1, part);
}

static double reduce_gathered_us(const weft_model_t *model)
{
    const weft_link_cost_t *net = &model->fabric.net;
    return weft_blocks_tree_us(net, model->ranks, model->radix, model->bytes) +
           (model->ranks - 1) * model->bytes * model->fabric.reduce_us_per_byte;
}

static double reduce_binomial_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->is_consecutive ? 1 : model->most);
    return weft_reduce_tree_us(model, &net, model->ranks, model->bytes);
}

const weft_algorithm_t weft_reduce_algorithms[] = {
    {"binomial", reduce_binomial, 0, "log_k p rounds of (k - 1) n bytes", reduce_binomial_us,
     WEFT_HAS_RADIX},
    {"two_level", weft_reduce_two_level, WEFT_NEEDS_ORDER,
     "log_k N rounds of (k - 1) n bytes between nodes", weft_reduce_two_level_us, WEFT_HAS_RADIX},
    {"sliced", weft_reduce_sliced, WEFT_NEEDS_ORDER,
     "all ranks of a node carry 1/m of n; log_k N rounds of (k - 1) n/m", weft_reduce_sliced_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"sliced_rabenseifner", weft_reduce_sliced_rabenseifner, WEFT_NEEDS_ORDER,
     "as sliced; 2 log_k N rounds, 2 n/m bytes", weft_reduce_sliced_rabenseifner_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"flat", reduce_flat, 0, "1 round, p - 1 messages of n bytes at the root", reduce_flat_us,
     WEFT_HAS_FOLD},
    {"two_shot", reduce_two_shot, WEFT_NEEDS_COUNT, "2 rounds, 2 n bytes", reduce_two_shot_us,
     WEFT_HAS_FOLD},
    {"gathered", reduce_gathered, 0, "log_k p rounds, p n bytes at the root", reduce_gathered_us,
     WEFT_HAS_RADIX | WEFT_HAS_FOLD},
    {"wall", weft_wall_reduce, WEFT_NEEDS_WALL, "1 post of n bytes a rank; the root reduces p n",
     NULL, WEFT_HAS_FOLD},
    {"wall_sliced", weft_wall_reduce_sliced, WEFT_NEEDS_WALL,
     "2 posts, of n and n/p bytes; each rank reduces n", NULL, WEFT_HAS_FOLD},
    {0},
};
