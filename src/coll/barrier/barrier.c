/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/team/local.h"
#include "coll/team/pieces.h"
#include "coll/team/shared.h"
#include "coll/wall/wall_algorithms.h"
#include "coll/wall/wall_groups.h"

static void barrier_dissemination(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_team_barrier(plan, &team, plan->how.radix);
}

/* Rank 0 receives a message from all ranks and answers all. No rank but 0 has to be scheduled more
 * than twice, which matters most when ranks take turns on a core. */
static void barrier_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size < 2 ? 2 : args->comm->size;
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_team_arrive(plan, &team, size);
    weft_team_leave(plan, &team, size);
}

typedef void (*barrier_across_t)(weft_plan_t *plan, const weft_team_t *leaders, int radix);

static void barrier_in_two_levels(weft_plan_t *plan, const weft_coll_args_t *args,
                                  barrier_across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    int radix = weft_plan_local_radix(plan, node.size, 0);
    weft_team_arrive(plan, &node, radix);
    if (node.index == 0) {
        weft_team_t leaders = weft_team_lane(shape, 0, args->comm->rank);
        across(plan, &leaders, plan->how.radix);
        weft_plan_wait(plan);
    }
    weft_team_leave(plan, &node, radix);
}

static void barrier_up_and_down(weft_plan_t *plan, const weft_team_t *leaders, int radix)
{
    weft_team_arrive(plan, leaders, radix);
    weft_team_leave(plan, leaders, radix);
}

static void barrier_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    barrier_in_two_levels(plan, args, weft_team_barrier);
}

/* This takes the fewest messages between nodes, which is best where a message costs more processor
 * time than it takes on the wire. */
static void barrier_two_level_tree(weft_plan_t *plan, const weft_coll_args_t *args)
{
    barrier_in_two_levels(plan, args, barrier_up_and_down);
}

static void barrier_shared(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_sharing_t sharing = weft_sharing_of(plan, args->comm->rank);
    int radix = weft_plan_local_radix(plan, sharing.node.size, 0);
    weft_team_arrive(plan, &sharing.node, radix);
    weft_shared_barrier(plan, &sharing);
    weft_team_leave(plan, &sharing.node, radix);
}

static double barrier_shared_us(const weft_model_t *model)
{
    return 2 * weft_node_tree_us(model, 0) + weft_shared_barrier_us(model);
}

static double barrier_dissemination_us(const weft_model_t *model)
{
    return weft_tree_us(&model->fabric.net, model->ranks, model->radix, 0);
}

static double barrier_two_level_us(const weft_model_t *model)
{
    return 2 * weft_node_tree_us(model, 0) +
           weft_tree_us(&model->fabric.net, model->nodes, model->radix, 0);
}

static double barrier_two_level_tree_us(const weft_model_t *model)
{
    return 2 * weft_node_tree_us(model, 0) +
           2 * weft_tree_us(&model->fabric.net, model->nodes, model->radix, 0);
}

const weft_algorithm_t weft_barrier_algorithms[] = {
    {"dissemination", barrier_dissemination, 0, "log_k p rounds", barrier_dissemination_us,
     WEFT_HAS_RADIX},
    {"flat", barrier_flat, 0, "2 rounds, p messages at rank 0", NULL, 0},
    {"two_level", barrier_two_level, 0, "log_k N rounds between nodes", barrier_two_level_us,
     WEFT_HAS_RADIX},
    {"two_level_tree", barrier_two_level_tree, 0,
     "2 log_k N rounds, 2 (N - 1) messages between nodes in all", barrier_two_level_tree_us,
     WEFT_HAS_RADIX},
    {"shared", barrier_shared, 0, "as two_level; a node's ranks share its k - 1 messages a round",
     barrier_shared_us, WEFT_HAS_RADIX},
    {"wall", weft_wall_barrier, WEFT_NEEDS_WALL, "1 post a rank", NULL, 0},
    {"wall_grouped", weft_grouped_barrier, WEFT_NEEDS_WALL, "3 posts a rank, read by few", NULL, 0},
    {"wall_or_groups", weft_learnt_barrier, WEFT_NEEDS_WALL,
     "wall or wall_grouped, whichever is the faster", NULL, 0},
    {0},
};
