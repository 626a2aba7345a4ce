/* SPDX-License-Identifier: BSD-3-Clause */
/* At the root MPI_IN_PLACE is passed as recv_buf, and its block stays where it is. */
#include "coll/algorithm.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/rooted.h"
#include "coll/wall/wall_algorithms.h"
#include "base/memory.h"

typedef weft_data_t (*scatter_block_fn_t)(const weft_coll_args_t *args, int rank);

static bool scatter_is_root(const weft_coll_args_t *args)
{
    return args->comm->rank == args->root;
}

static void scatter_from_root(weft_plan_t *plan, const weft_coll_args_t *args,
                              scatter_block_fn_t block)
{
    int size = args->comm->size, root = args->root;
    weft_data_t own = weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count, args->recv_type);
    if (!scatter_is_root(args)) {
        weft_plan_recv(plan, own, root);
        return;
    }
    for (int i = 1; i < size; i++) {
        int peer = (root + i) % size;
        weft_plan_send(plan, block(args, peer), peer);
    }
    if (args->recv_buf != MPI_IN_PLACE)
        weft_plan_copy(plan, block(args, root), own);
}

static void scatter_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_from_root(plan, args, weft_send_block);
}

static void scatterv_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_from_root(plan, args, weft_send_slice);
}

/* ---- trees ---- */

/* Where this rank's block goes; in place, the root leaves it where it is. */
static weft_data_t scatter_own_block(const weft_coll_args_t *args, const weft_cut_t *cut)
{
    return args->recv_buf == MPI_IN_PLACE
               ? weft_cut_part(cut, 0)
               : weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count, args->recv_type);
}

static size_t scatter_block_bytes(const weft_coll_args_t *args)
{
    return scatter_is_root(args) ? args->send_count * args->send_type->size
                                 : args->recv_count * args->recv_type->size;
}

/* Blocks `first` to `end` - 1 of send_buf. */
static weft_data_t scatter_some_blocks(const weft_coll_args_t *args, int first, int end)
{
    weft_data_t data = weft_send_block(args, first);
    data.count *= (size_t)(end - first);
    return data;
}

/* Blocks leave the root in the order of ranks, beginning with the root. */
static void scatter_binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, root = args->root;
    weft_team_t team = weft_team_turned(weft_team_all(size, args->comm->rank), root);
    size_t bytes = scatter_block_bytes(args) * (size_t)size;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    bool is_straight = scatter_is_root(args) && root == 0 && args->send_type->is_dense;
    weft_data_t all = {weft_place_at(WEFT_IN, 0), bytes, byte};
    if (scatter_is_root(args) && !is_straight)
        all.place = weft_plan_scratch(plan, bytes, byte);
    weft_cut_t cut = weft_cut(all, size);
    if (scatter_is_root(args) && !is_straight) {
        weft_plan_copy(plan, scatter_some_blocks(args, root, size),
                       weft_cut_range(&cut, 0, size - root));
        weft_plan_copy(plan, scatter_some_blocks(args, 0, root),
                       weft_cut_range(&cut, size - root, size));
    }
    weft_team_scatter(plan, &team, scatter_own_block(args, &cut), &cut, plan->how.radix);
}

/* A leader receives the blocks of its node. */
static void between_leaders(weft_plan_t *plan, const weft_rooted_t *rooted, weft_data_t all,
                            weft_data_t mine, size_t block)
{
    size_t *firsts = weft_rooted_firsts(plan, rooted, block);
    if (firsts == NULL)
        return;
    weft_cut_t cut = {all.place, all.type, rooted->shape->nodes, all.count, firsts, 0};
    weft_team_scatter(plan, &rooted->leaders, mine, &cut, plan->how.radix);
    weft_free(firsts);
}

static void scatter_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_rooted_t rooted = weft_rooted_of(plan->how.shape, args->comm->rank, args->root);
    size_t block = scatter_block_bytes(args), on_node = block * (size_t)rooted.node.size;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    weft_data_t all = {weft_place_at(WEFT_IN, 0), block * (size_t)args->comm->size, byte};
    if (scatter_is_root(args) && !(weft_rooted_is_straight(&rooted) && args->send_type->is_dense)) {
        all.place = weft_plan_scratch(plan, all.count, byte);
        weft_rooted_copy(plan, &rooted,
                         &(weft_rooted_blocks_t){args, weft_send_block, all.place, false});
    }
    weft_data_t mine = {all.place, on_node, byte};
    if (rooted.node.index == 0) {
        if (!scatter_is_root(args))
            mine.place = weft_plan_scratch(plan, on_node, byte);
        between_leaders(plan, &rooted, all, mine, block);
        if (!scatter_is_root(args))
            weft_plan_wait(plan);
    }
    weft_cut_t cut = weft_cut(mine, rooted.node.size);
    weft_node_scatter(plan, &rooted.node, scatter_own_block(args, &cut), &cut,
                      weft_plan_local_radix(plan, rooted.node.size, 0));
}

/* ---- their costs over several nodes ---- */

static double scatter_flat_us(const weft_model_t *model)
{
    return weft_round_us(&model->fabric.net, model->ranks - 1, model->bytes);
}

static double scatter_binomial_us(const weft_model_t *model)
{
    return weft_blocks_tree_us(&model->fabric.net, model->ranks, model->radix, model->bytes);
}

static double scatter_two_level_us(const weft_model_t *model)
{
    double node = model->bytes * model->most, all = model->bytes * model->ranks;
    return weft_node_tree_us(model, 0) + node * model->fabric.node.us_per_byte +
           weft_blocks_tree_us(&model->fabric.net, model->nodes, model->radix, node) +
           all * model->fabric.copy_us_per_byte;
}

const weft_algorithm_t weft_scatter_algorithms[] = {
    {"flat", scatter_flat, 0, "1 round, p - 1 messages at the root", scatter_flat_us, 0},
    {"binomial", scatter_binomial, 0, "log_k p rounds, p n bytes from the root",
     scatter_binomial_us, WEFT_HAS_RADIX},
    {"two_level", scatter_two_level, 0, "log_k N rounds between nodes, p n bytes from the root",
     scatter_two_level_us, WEFT_HAS_RADIX},
    {"wall", weft_wall_scatter, WEFT_NEEDS_WALL, "1 post of p n bytes", NULL, 0},
    {"wall_or_messages", weft_routed_scatter, WEFT_NEEDS_WALL,
     "two ranks: the wall or a message, whichever took less", NULL, 0},
    {0},
};

const weft_algorithm_t weft_scatterv_algorithms[] = {
    {"flat", scatterv_flat, 0, "1 round, p - 1 messages at the root", NULL, 0},
    {"wall", weft_wall_scatterv, WEFT_NEEDS_WALL, "1 post of the root", NULL, 0},
    {0},
};
