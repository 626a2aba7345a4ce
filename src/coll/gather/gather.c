/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/rooted.h"
#include "coll/wall/wall_algorithms.h"
#include "base/memory.h"

typedef weft_data_t (*gather_block_fn_t)(const weft_coll_args_t *args, int rank);

static bool is_gather_root(const weft_coll_args_t *args)
{
    return args->comm->rank == args->root;
}

/* The root's own block is in place, or comes from send_buf like those of other ranks. */
static weft_data_t gather_own_block(const weft_coll_args_t *args)
{
    return weft_is_in_place(args)
               ? weft_recv_block(args, args->root)
               : weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
}

static void gather_to_root(weft_plan_t *plan, const weft_coll_args_t *args, gather_block_fn_t block)
{
    int size = args->comm->size, root = args->root;
    if (!is_gather_root(args)) {
        weft_plan_send(plan, gather_own_block(args), root);
        return;
    }
    for (int i = 1; i < size; i++) {
        int peer = (root + i) % size;
        weft_plan_recv(plan, block(args, peer), peer);
    }
    if (!weft_is_in_place(args))
        weft_plan_copy(plan, gather_own_block(args), block(args, root));
}

static void gather_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_to_root(plan, args, weft_recv_block);
}

static void gatherv_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_to_root(plan, args, weft_recv_slice);
}

/* ---- trees ---- */

/* Blocks `first` to `end` - 1 of recv_buf. */
static weft_data_t gather_some_blocks(const weft_coll_args_t *args, int first, int end)
{
    weft_data_t data = weft_recv_block(args, first);
    data.count *= (size_t)(end - first);
    return data;
}

/* Blocks go to the root, in the order of ranks beginning with the root. */
static void gather_binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, root = args->root;
    weft_team_t team = weft_team_turned(weft_team_all(size, args->comm->rank), root);
    weft_data_t own = gather_own_block(args);
    size_t block = own.count * own.type->size, bytes = block * (size_t)size;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    bool is_straight = is_gather_root(args) && root == 0 && args->recv_type->is_dense;
    weft_data_t all = {weft_place_at(WEFT_OUT, 0), bytes, byte};
    if (is_gather_root(args) && !is_straight)
        all.place = weft_plan_scratch(plan, bytes, byte);
    weft_cut_t cut = weft_cut(all, size);
    weft_team_gather(plan, &team, own, &cut, plan->how.radix);
    if (is_gather_root(args) && !is_straight) {
        weft_plan_copy(plan, weft_cut_range(&cut, 0, size - root),
                       gather_some_blocks(args, root, size));
        weft_plan_copy(plan, weft_cut_range(&cut, size - root, size),
                       gather_some_blocks(args, 0, root));
    }
}

/* The blocks of a node in the memory where its leader collects them. */
static weft_data_t gather_on_node(weft_plan_t *plan, const weft_coll_args_t *args,
                                  const weft_rooted_t *rooted, weft_place_t all)
{
    weft_data_t own = gather_own_block(args);
    size_t bytes = own.count * own.type->size * (size_t)rooted->node.size;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    bool is_collector = rooted->node.index == 0 && !is_gather_root(args);
    weft_data_t mine = {is_collector ? weft_plan_scratch(plan, bytes, byte) : all, bytes, byte};
    weft_cut_t cut = weft_cut(mine, rooted->node.size);
    weft_node_gather(plan, &rooted->node, own, &cut,
                     weft_plan_local_radix(plan, rooted->node.size, 0));
    weft_plan_wait(plan);
    return mine;
}

static void gather_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_rooted_t rooted = weft_rooted_of(plan->how.shape, args->comm->rank, args->root);
    weft_data_t own = gather_own_block(args);
    size_t block = own.count * own.type->size;
    weft_place_t all = weft_place_at(WEFT_OUT, 0);
    if (is_gather_root(args) && !(weft_rooted_is_straight(&rooted) && args->recv_type->is_dense))
        all = weft_plan_scratch(plan, block * (size_t)args->comm->size, weft_type_of(MPI_BYTE));
    weft_data_t mine = gather_on_node(plan, args, &rooted, all);
    if (rooted.node.index != 0)
        return;
    size_t *firsts = weft_rooted_firsts(plan, &rooted, block);
    if (firsts == NULL)
        return;
    int nodes = rooted.shape->nodes;
    weft_cut_t cut = {all, mine.type, nodes, firsts[nodes], firsts, 0};
    weft_team_gather(plan, &rooted.leaders, mine, &cut, plan->how.radix);
    weft_free(firsts);
    if (is_gather_root(args) && all.buffer == WEFT_SCRATCH)
        weft_rooted_copy(plan, &rooted, &(weft_rooted_blocks_t){args, weft_recv_block, all, true});
}

/* ---- their costs over several nodes ---- */

static double gather_flat_us(const weft_model_t *model)
{
    return weft_round_us(&model->fabric.net, model->ranks - 1, model->bytes);
}

static double gather_binomial_us(const weft_model_t *model)
{
    return weft_blocks_tree_us(&model->fabric.net, model->ranks, model->radix, model->bytes);
}

static double gather_two_level_us(const weft_model_t *model)
{
    double node = model->bytes * model->most, all = model->bytes * model->ranks;
    return weft_node_tree_us(model, 0) + node * model->fabric.node.us_per_byte +
           weft_blocks_tree_us(&model->fabric.net, model->nodes, model->radix, node) +
           all * model->fabric.copy_us_per_byte;
}

const weft_algorithm_t weft_gather_algorithms[] = {
    {"flat", gather_flat, 0, "1 round, p - 1 messages at the root", gather_flat_us, 0},
    {"binomial", gather_binomial, 0, "log_k p rounds, p n bytes at the root", gather_binomial_us,
     WEFT_HAS_RADIX},
    {"two_level", gather_two_level, 0, "log_k N rounds between nodes, p n bytes at the root",
     gather_two_level_us, WEFT_HAS_RADIX},
    {"wall", weft_wall_gather, WEFT_NEEDS_WALL, "1 post of n bytes a rank, read by the root", NULL,
     0},
    {"wall_or_messages", weft_routed_gather, WEFT_NEEDS_WALL,
     "two ranks: the wall or a message, whichever took less", NULL, 0},
    {0},
};

const weft_algorithm_t weft_gatherv_algorithms[] = {
    {"flat", gatherv_flat, 0, "1 round, p - 1 messages at the root", NULL, 0},
    {"wall", weft_wall_gatherv, WEFT_NEEDS_WALL, "1 post a rank, read by the root", NULL, 0},
    {0},
};
