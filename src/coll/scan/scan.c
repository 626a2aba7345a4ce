/* SPDX-License-Identifier: BSD-3-Clause */
/* Scan and exscan. Operands are always taken in the order of ranks, so any associative operation
 * will do. */
#include "coll/algorithm.h"
#include "coll/team/digits.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/wall/wall_algorithms.h"

/* The input and the output of a scan over a team. */
typedef struct scan {
    weft_place_t from; /* the operand; it may be where `out` is */
    weft_data_t out;   /* the result; in an exclusive scan member 0 has none */
    bool is_inclusive;
} scan_t;

/*
 * In round k a member has reduced the operands of a block of up to 2^k members that ends with
 * itself (`block`), and sends them to the member 2^k above. What it receives from below is the left
 * operand, both for its block and for its result (Hillis and Steele 1986). At the end the block
 * covers all members up to this one.
 */
static weft_data_t doubling(weft_plan_t *plan, const weft_team_t *team, const scan_t *scan)
{
    weft_data_t own = scan->out, block = own, below = own;
    bool has_result = scan->is_inclusive;
    own.place = scan->from;
    /* In place an exclusive result must not replace the operand before that was used. */
    block.place = weft_plan_scratch(plan, own.count, own.type);
    below.place = weft_plan_scratch(plan, own.count, own.type);
    weft_plan_copy(plan, own, block);
    if (scan->is_inclusive)
        weft_plan_copy(plan, own, scan->out);
    for (int distance = 1; distance < team->size; distance *= 2) {
        weft_plan_wait(plan);
        if (team->index + distance < team->size)
            weft_team_send(plan, team, block, team->index + distance);
        if (team->index < distance)
            continue;
        weft_team_recv(plan, team, below, team->index - distance);
        weft_plan_wait(plan);
        if (has_result)
            weft_plan_reduce(plan, below.place, scan->out.place, scan->out);
        else
            weft_plan_copy(plan, below, scan->out);
        has_result = true;
        weft_plan_reduce(plan, below.place, block.place, block);
    }
    return block;
}

static void by_doubling(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    scan_t scan = {weft_own_operand(args), weft_vector(args, weft_place_at(WEFT_OUT, 0)),
                   is_inclusive};
    doubling(plan, &team, &scan);
}

/* First each node scans by itself. The last ranks of the nodes, which then have their node's total,
 * scan between nodes, and send their node's ranks the total of the nodes before. */
static void two_level(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_data_t out = weft_vector(args, weft_place_at(WEFT_OUT, 0)), before = out;
    scan_t on_node = {weft_own_operand(args), out, is_inclusive};
    weft_data_t all = doubling(plan, &node, &on_node);
    before.place = weft_plan_scratch(plan, out.count, out.type);
    if (node.index == node.size - 1) {
        weft_team_t last = weft_team_lane(shape, WEFT_LAST_LANE, args->comm->rank);
        scan_t between = {all.place, before, false};
        weft_plan_wait(plan);
        doubling(plan, &last, &between);
    }
    if (weft_shape_node(shape, args->comm->rank) == 0)
        return;
    node = weft_team_turned(node, node.size - 1);
    weft_plan_wait(plan);
    weft_node_bcast(plan, &node, before,
                    weft_plan_local_radix(plan, node.size, out.count * out.type->size));
    weft_plan_wait(plan);
    if (is_inclusive || weft_shape_local(shape, args->comm->rank) > 0)
        weft_plan_reduce(plan, before.place, out.place, out);
    else
        weft_plan_copy(plan, before, out);
}

/* Rank 0 receives all operands and sends each rank its result. */
static void through_root(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *type = args->recv_type;
    MPI_Count count = (MPI_Count)args->recv_count;
    weft_place_t own = weft_own_operand(args), out = weft_place_at(WEFT_OUT, 0);
    if (rank != 0) {
        weft_plan_send(plan, weft_vector(args, own), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, weft_vector(args, out), 0);
        return;
    }
    weft_place_t all = weft_plan_scratch(plan, args->recv_count * (size_t)size, type);
    weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, all));
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_vector(args, weft_after(all, count * peer, type)), peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, weft_after(all, count * (peer - 1), type),
                         weft_after(all, count * peer, type),
                         weft_vector(args, weft_after(all, count * peer, type)));
    for (int peer = 1; peer < size; peer++)
        weft_plan_send(
            plan,
            weft_vector(args, weft_after(all, count * (is_inclusive ? peer : peer - 1), type)),
            peer);
    if (is_inclusive)
        weft_plan_copy(plan, weft_vector(args, all), weft_vector(args, out));
}

/* Each rank receives the result of the ranks before it, and sends on its own. */
static void in_a_row(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_data_t out = weft_vector(args, weft_place_at(WEFT_OUT, 0)), before = out, with = out;
    weft_data_t own = weft_vector(args, weft_own_operand(args));
    if (rank > 0) {
        before.place = weft_plan_scratch(plan, out.count, out.type);
        weft_plan_recv(plan, before, rank - 1);
        weft_plan_wait(plan);
    }
    if (!is_inclusive && rank > 0 && rank < size - 1)
        with.place = weft_plan_scratch(plan, out.count, out.type);
    if (rank == 0 && is_inclusive)
        weft_plan_copy(plan, own, out);
    if (rank > 0 && (is_inclusive || rank < size - 1))
        weft_plan_reduce(plan, before.place, own.place, with);
    if (rank > 0 && !is_inclusive)
        weft_plan_copy(plan, before, out);
    if (rank == size - 1)
        return;
    weft_plan_wait(plan);
    weft_plan_send(plan, rank == 0 ? own : with, rank + 1);
}

static void scan_doubling(weft_plan_t *plan, const weft_coll_args_t *args)
{
    by_doubling(plan, args, true);
}

static void scan_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, true);
}

static void scan_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    two_level(plan, args, true);
}

static void scan_in_a_row(weft_plan_t *plan, const weft_coll_args_t *args)
{
    in_a_row(plan, args, true);
}

static void exscan_doubling(weft_plan_t *plan, const weft_coll_args_t *args)
{
    by_doubling(plan, args, false);
}

static void exscan_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, false);
}

static void exscan_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    two_level(plan, args, false);
}

static void exscan_in_a_row(weft_plan_t *plan, const weft_coll_args_t *args)
{
    in_a_row(plan, args, false);
}

/* ---- their costs over several nodes ---- */

static double scan_in_a_row_us(const weft_model_t *model)
{
    return weft_ring_us(model, model->bytes, true);
}

static double rounds_us(const weft_model_t *model, const weft_link_cost_t *link, int size)
{
    return weft_digits_rounds(size, 2) * weft_reduce_round_us(model, link, 1, model->bytes);
}

static double scan_doubling_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return rounds_us(model, &net, model->ranks);
}

static double scan_two_level_us(const weft_model_t *model)
{
    return rounds_us(model, &model->fabric.node, model->most) +
           rounds_us(model, &model->fabric.net, model->nodes) +
           weft_node_tree_us(model, model->bytes);
}

const weft_algorithm_t weft_scan_algorithms[] = {
    {"doubling", scan_doubling, 0, "log2 p rounds of n bytes", scan_doubling_us, 0},
    {"two_level", scan_two_level, WEFT_NEEDS_BLOCKS, "log2 N rounds of n bytes between nodes",
     scan_two_level_us, 0},
    {"through_root", scan_through_root, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0",
     weft_through_root_us, WEFT_HAS_FOLD},
    {"in_a_row", scan_in_a_row, 0, "p - 1 rounds of n bytes", scan_in_a_row_us, WEFT_HAS_FOLD},
    {"wall", weft_wall_scan, WEFT_NEEDS_WALL, "1 post of n bytes a rank; rank r reduces r n", NULL,
     WEFT_HAS_FOLD},
    {0},
};

const weft_algorithm_t weft_exscan_algorithms[] = {
    {"doubling", exscan_doubling, 0, "log2 p rounds of n bytes", scan_doubling_us, 0},
    {"two_level", exscan_two_level, WEFT_NEEDS_BLOCKS, "log2 N rounds of n bytes between nodes",
     scan_two_level_us, 0},
    {"through_root", exscan_through_root, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0",
     weft_through_root_us, WEFT_HAS_FOLD},
    {"in_a_row", exscan_in_a_row, 0, "p - 1 rounds of n bytes", scan_in_a_row_us, WEFT_HAS_FOLD},
    {"wall", weft_wall_exscan, WEFT_NEEDS_WALL, "1 post of n bytes a rank; rank r reduces r n",
     NULL, WEFT_HAS_FOLD},
    {0},
};
