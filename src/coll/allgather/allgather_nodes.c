/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks travel as bytes, in the order of nodes:
 *
 *   by node   | node 0: its ranks' blocks | node 1 | ...      what leaders exchange
 *   by rank   | rank 0 | rank 1 | ...                         recv_buf
 *
 * Both orders are the same where ranks are placed in blocks; otherwise a copy at the end puts the
 * blocks in the order of ranks.
 */
#include "coll/allgather/allgather_nodes.h"

#include "coll/section.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/runs.h"
#include "base/memory.h"

weft_data_t weft_allgather_own(const weft_coll_args_t *args, weft_block_fn_t block)
{
    if (weft_is_in_place(args))
        return block(args, args->comm->rank);
    return weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
}

static weft_data_t all_blocks(const weft_coll_args_t *args)
{
    return weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count * (size_t)args->comm->size,
                     args->recv_type);
}

/* ---- over all ranks, without regard to nodes ---- */

static weft_cut_t begin_by_rank(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_data_t bytes = weft_plan_as_bytes(plan, all_blocks(args));
    weft_cut_t cut = weft_cut(bytes, args->comm->size);
    weft_plan_copy(plan, weft_allgather_own(args, weft_recv_block),
                   weft_cut_part(&cut, args->comm->rank));
    return cut;
}

static void end_by_rank(weft_plan_t *plan, const weft_coll_args_t *args, const weft_cut_t *cut)
{
    weft_plan_wait(plan);
    weft_plan_copy(plan, weft_cut_all(cut), all_blocks(args));
}

void weft_allgather_bruck(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_cut_t cut = begin_by_rank(plan, args);
    weft_team_allgather_bruck(plan, &team, &cut, plan->how.radix);
    end_by_rank(plan, args, &cut);
}

void weft_allgather_neighbour(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_cut_t cut = begin_by_rank(plan, args);
    weft_team_allgather_neighbour(plan, &team, &cut);
    end_by_rank(plan, args, &cut);
}

void weft_allgather_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_cut_t cut = begin_by_rank(plan, args);
    weft_team_allgather_bine(plan, &team, &cut);
    end_by_rank(plan, args, &cut);
}

/* ---- two levels ---- */

typedef void (*allgather_across_t)(weft_plan_t *plan, const weft_team_t *team,
                                   const weft_cut_t *cut, int radix);

static void allgather_around_ring(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                                  int radix)
{
    (void)radix;
    weft_team_allgather_ring(plan, team, cut);
}

/* How the blocks lie by node, in bytes; for the time of writing the plan. */
typedef struct by_node {
    const weft_coll_args_t *args;
    weft_block_fn_t block;
    size_t *node_firsts;  /* [nodes + 1] */
    size_t *local_firsts; /* [ranks of this node + 1] */
    bool is_straight;     /* they lie the same way in recv_buf, without gaps */
} by_node_t;

static size_t bytes_of_rank(const by_node_t *layout, int rank)
{
    weft_data_t data = layout->block(layout->args, rank);
    return data.count * data.type->size;
}

/* Do the blocks, taken by node, follow each other in recv_buf as well? */
static bool lies_straight(const by_node_t *layout, const weft_shape_t *shape)
{
    if (!shape->is_consecutive || !layout->args->recv_type->is_dense)
        return false;
    ptrdiff_t at = layout->block(layout->args, 0).place.offset;
    for (int rank = 0; layout->block != weft_recv_block && rank < shape->ranks; rank++) {
        if (layout->block(layout->args, rank).place.offset != at)
            return false;
        at += (ptrdiff_t)bytes_of_rank(layout, rank);
    }
    return true;
}

static size_t bytes_on(const by_node_t *layout, const weft_shape_t *shape, int node)
{
    int count = weft_shape_count(shape, node);
    if (layout->block == weft_recv_block)
        return (size_t)count * bytes_of_rank(layout, 0);
    size_t sum = 0;
    for (int local = 0; local < count; local++)
        sum += bytes_of_rank(layout, weft_shape_rank(shape, node, local));
    return sum;
}

static bool open_layout(weft_plan_t *plan, const weft_team_t *node, by_node_t *layout)
{
    const weft_shape_t *shape = plan->how.shape;
    layout->node_firsts = weft_alloc_array((size_t)shape->nodes + 1, sizeof(size_t));
    layout->local_firsts = weft_alloc_array((size_t)node->size + 1, sizeof(size_t));
    if (layout->node_firsts == NULL || layout->local_firsts == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        return false;
    }
    layout->node_firsts[0] = layout->local_firsts[0] = 0;
    for (int i = 0; i < shape->nodes; i++)
        layout->node_firsts[i + 1] = layout->node_firsts[i] + bytes_on(layout, shape, i);
    for (int i = 0; i < node->size; i++)
        layout->local_firsts[i + 1] =
            layout->local_firsts[i] + bytes_of_rank(layout, weft_team_rank(node, i));
    layout->is_straight = lies_straight(layout, shape);
    return true;
}

static void close_layout(by_node_t *layout)
{
    weft_free(layout->node_firsts);
    weft_free(layout->local_firsts);
}

/* Copies the blocks from the order of nodes to recv_buf. */
static void allgather_put_right(weft_plan_t *plan, const by_node_t *layout, weft_place_t all)
{
    const weft_shape_t *shape = plan->how.shape;
    for (int node = 0; node < shape->nodes; node++) {
        for (int local = 0; local < weft_shape_count(shape, node); local++) {
            int rank = weft_shape_rank(shape, node, local);
            weft_data_t bytes = weft_data(all, bytes_of_rank(layout, rank), weft_type_of(MPI_BYTE));
            weft_plan_copy(plan, bytes, layout->block(layout->args, rank));
            all.offset += (ptrdiff_t)bytes.count;
        }
    }
}

static void allgather_exchange(weft_plan_t *plan, const by_node_t *layout, const weft_team_t *node,
                               allgather_across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    const weft_coll_args_t *args = layout->args;
    size_t total = layout->node_firsts[shape->nodes];
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    weft_place_t at =
        layout->is_straight ? layout->block(args, 0).place : weft_plan_scratch(plan, total, byte);
    weft_cut_t nodes = {at, byte, shape->nodes, total, layout->node_firsts, 0};
    weft_cut_t locals = {weft_cut_part(&nodes, weft_shape_node(shape, args->comm->rank)).place,
                         byte,
                         node->size,
                         layout->local_firsts[node->size],
                         layout->local_firsts,
                         0};
    weft_node_gather(plan, node, weft_allgather_own(args, layout->block), &locals,
                     weft_plan_local_radix(plan, node->size, 0));
    weft_plan_wait(plan);
    if (node->index == 0) {
        weft_team_t leaders = weft_team_lane(shape, 0, args->comm->rank);
        across(plan, &leaders, &nodes, plan->how.radix);
        weft_plan_wait(plan);
    }
    weft_node_bcast(plan, node, weft_cut_all(&nodes),
                    weft_plan_local_radix(plan, node->size, total));
    if (!layout->is_straight) {
        weft_plan_wait(plan);
        allgather_put_right(plan, layout, at);
    }
}

static void allgather_write_two_level(weft_plan_t *plan, const weft_coll_args_t *args,
                                      weft_block_fn_t block, allgather_across_t across)
{
    weft_team_t node = weft_team_node(plan->how.shape, args->comm->rank);
    by_node_t layout = {.args = args, .block = block};
    if (open_layout(plan, &node, &layout))
        allgather_exchange(plan, &layout, &node, across);
    close_layout(&layout);
}

void weft_allgather_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_write_two_level(plan, args, weft_recv_block, weft_team_allgather_bruck);
}

void weft_allgather_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_write_two_level(plan, args, weft_recv_block, allgather_around_ring);
}

void weft_allgatherv_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_write_two_level(plan, args, weft_recv_slice, weft_team_allgather_bruck);
}

void weft_allgatherv_two_level_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_write_two_level(plan, args, weft_recv_slice, allgather_around_ring);
}

/* ---- lanes ---- */

/* The blocks of lane `lane` in `all`, which is in the order of ranks. */
static weft_data_t allgather_lane_blocks(weft_plan_t *plan, weft_place_t all, size_t block,
                                         int lane)
{
    const weft_shape_t *shape = plan->how.shape;
    ptrdiff_t first = (ptrdiff_t)block * weft_shape_rank(shape, 0, lane);
    ptrdiff_t stride = (ptrdiff_t)block * (shape->placing == WEFT_CYCLIC ? 1 : shape->most);
    weft_runs_t runs = {weft_place_at(all.buffer, all.offset + first), (size_t)shape->nodes, block,
                        stride, 0};
    return weft_runs_data(plan, runs);
}

/* `to` has [ranks of the node] entries: where the blocks of each lane belong. */
static void share_lanes(weft_plan_t *plan, const weft_team_t *node, weft_data_t mine,
                        const weft_data_t *to)
{
    weft_section_begin(plan, &(weft_section_call_t){.coll = WEFT_ALLGATHER,
                                                    .members = node->size,
                                                    .member = node->index,
                                                    .gives_count = 1,
                                                    .gets_count = node->size,
                                                    .gives = &mine,
                                                    .gets = to});
    for (int i = 1; i < node->size; i++)
        weft_team_send(plan, node, mine, weft_team_at(node, i));
    for (int i = 0; i < node->size; i++) {
        int lane = weft_team_at(node, -i);
        if (lane == node->index)
            weft_plan_copy(plan, mine, to[lane]);
        else
            weft_team_recv(plan, node, to[lane], lane);
    }
    weft_section_end(plan);
}

static void place_lanes(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *mine,
                        weft_place_t all)
{
    weft_data_t *to = weft_alloc_array((size_t)node->size, sizeof(*to));
    if (to == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        return;
    }
    for (int i = 0; i < node->size; i++)
        to[i] = allgather_lane_blocks(plan, all, mine->count / (size_t)mine->parts, i);
    share_lanes(plan, node, weft_cut_all(mine), to);
    for (int i = 0; i < node->size; i++)
        weft_type_release(to[i].type);
    weft_free(to);
}

static void allgather_lanes(weft_plan_t *plan, const weft_coll_args_t *args,
                            allgather_across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_team_t lane = weft_team_lane(shape, node.index, args->comm->rank);
    weft_data_t all = weft_plan_as_bytes(plan, all_blocks(args));
    size_t bytes = all.count / (size_t)args->comm->size * (size_t)shape->nodes;
    weft_data_t mine = weft_data(weft_plan_scratch(plan, bytes, all.type), bytes, all.type);
    weft_cut_t cut = weft_cut(mine, shape->nodes);
    if (bytes == 0)
        return;
    weft_plan_copy(plan, weft_allgather_own(args, weft_recv_block),
                   weft_cut_part(&cut, lane.index));
    across(plan, &lane, &cut, plan->how.radix);
    weft_plan_wait(plan);
    place_lanes(plan, &node, &cut, all.place);
    weft_plan_wait(plan);
    weft_plan_copy(plan, all, all_blocks(args));
}

void weft_allgather_lanes(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_lanes(plan, args, weft_team_allgather_bruck);
}

void weft_allgather_lanes_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_lanes(plan, args, allgather_around_ring);
}
