/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/bcast/bcast_nodes.h"
#include "coll/team/pieces.h"
#include "coll/team/shared.h"
#include "coll/wall/wall_algorithms.h"

static weft_data_t all_data(const weft_coll_args_t *args)
{
    return weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
}

static weft_team_t from_root(const weft_coll_args_t *args)
{
    return weft_team_turned(weft_team_all(args->comm->size, args->comm->rank), args->root);
}

static void bcast_binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = from_root(args);
    weft_team_bcast(plan, &team, all_data(args), plan->how.radix);
}

static void bcast_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = from_root(args);
    weft_team_bcast_bine(plan, &team, all_data(args));
}

/* The root sends to all ranks; all receivers copy a large message at the same time. */
static void bcast_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = from_root(args);
    weft_team_bcast(plan, &team, all_data(args), team.size < 2 ? 2 : team.size);
}

static double bcast_binomial_us(const weft_model_t *model)
{
    return weft_tree_us(&model->fabric.net, model->ranks, model->radix, model->bytes);
}

const weft_algorithm_t weft_bcast_algorithms[] = {
    {"binomial", bcast_binomial, 0, "log_k p rounds of n bytes", bcast_binomial_us, WEFT_HAS_RADIX},
    {"flat", bcast_flat, 0, "1 round, p - 1 messages of n bytes at the root", NULL, 0},
    {"bine", bcast_bine, 0, "log2 p rounds of n bytes, short ways", NULL, 0},
    {"two_level", weft_bcast_two_level, 0, "log_k N rounds of n bytes between nodes",
     weft_bcast_two_level_us, WEFT_HAS_RADIX},
    {"two_level_bine", weft_bcast_two_level_bine, 0,
     "log2 N rounds of n bytes between nodes, short ways", weft_bcast_two_level_bine_us, 0},
    {"shared", weft_bcast_shared, 0, "as two_level; a node's ranks share its messages",
     weft_shared_bcast_us, WEFT_HAS_RADIX},
    {"chain", weft_bcast_chain, 0, "from node to node in s pieces: N + s rounds of n/s bytes",
     weft_bcast_chain_us, WEFT_HAS_SEGMENT},
    {"sliced", weft_bcast_sliced, 0,
     "the ranks of a node carry 1/m of n: log_k N rounds of n bytes a node", weft_bcast_sliced_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"scatter_allgather", weft_bcast_scatter_allgather, 0,
     "as sliced; log_k N rounds twice, 2 n bytes a node", weft_bcast_scatter_allgather_us,
     WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"scatter_ring", weft_bcast_scatter_ring, 0, "as sliced; log_k N + N rounds, 2 n bytes a node",
     weft_bcast_scatter_ring_us, WEFT_HAS_RADIX | WEFT_HAS_SEGMENT},
    {"wall", weft_wall_bcast, WEFT_NEEDS_WALL, "1 post of n bytes, read by all", NULL, 0},
    {"wall_or_messages", weft_routed_bcast, WEFT_NEEDS_WALL,
     "two ranks: the wall or a message, whichever took less", NULL, 0},
    {0},
};
