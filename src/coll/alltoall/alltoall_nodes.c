/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/alltoall/alltoall_nodes.h"

#include "coll/team/pieces.h"
#include "coll/team/runs.h"

static weft_data_t received(const weft_coll_args_t *args)
{
    return weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count * (size_t)args->comm->size,
                     args->recv_type);
}

weft_rank_blocks_t weft_alltoall_begin(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_data_t out = received(args), to = weft_plan_as_bytes(plan, out), from = to;
    if (weft_is_in_place(args)) {
        from.place = weft_plan_scratch(plan, to.count, to.type);
        weft_plan_copy(plan, out, from);
    } else {
        weft_data_t in = weft_data(weft_place_at(WEFT_IN, 0),
                                   args->send_count * (size_t)args->comm->size, args->send_type);
        from = weft_plan_as_bytes(plan, in);
        weft_plan_copy(plan, in, from);
    }
    return (weft_rank_blocks_t){from.place, to.place, to.count / (size_t)args->comm->size};
}

void weft_alltoall_end(weft_plan_t *plan, const weft_coll_args_t *args,
                       const weft_rank_blocks_t *rows)
{
    size_t bytes = rows->bytes * (size_t)args->comm->size;
    weft_plan_wait(plan);
    weft_plan_copy(plan, weft_data(rows->to, bytes, weft_type_of(MPI_BYTE)), received(args));
}

static weft_place_t moved(weft_place_t place, size_t bytes)
{
    place.offset += (ptrdiff_t)bytes;
    return place;
}

void weft_alltoall_bruck(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_rank_blocks_t blocks = weft_alltoall_begin(plan, args);
    weft_team_alltoall_bruck(plan, &team, &blocks, plan->how.radix);
    weft_alltoall_end(plan, args, &blocks);
}

/* ---- lanes ---- */

typedef void (*alltoall_across_t)(weft_plan_t *plan, const weft_team_t *team,
                                  const weft_rank_blocks_t *blocks, int parameter);

/* The blocks of a lane in a row of blocks in the order of ranks. */
static weft_data_t alltoall_lane_blocks(weft_plan_t *plan, weft_place_t all, size_t block, int lane)
{
    const weft_shape_t *shape = plan->how.shape;
    int stride = shape->placing == WEFT_CYCLIC ? 1 : shape->most;
    weft_runs_t runs = {moved(all, block * (size_t)weft_shape_rank(shape, 0, lane)),
                        (size_t)shape->nodes, block, (ptrdiff_t)block * stride, 0};
    return weft_runs_data(plan, runs);
}

/* Collects the blocks that the ranks of the node have for this rank's lane, node by node and for
 * each node in the order of its own ranks. The node's other ranks get the blocks for their
 * lanes. */
static weft_place_t collect_lane(weft_plan_t *plan, const weft_team_t *node,
                                 const weft_rank_blocks_t *blocks)
{
    size_t nodes = (size_t)plan->how.shape->nodes, block = blocks->bytes;
    size_t row = block * (size_t)node->size;
    weft_place_t rows = weft_plan_scratch(plan, row * nodes, weft_type_of(MPI_BYTE));
    for (int i = 0; i < node->size; i++) {
        int to = weft_team_at(node, i), from = weft_team_at(node, -i);
        weft_data_t out = alltoall_lane_blocks(plan, blocks->from, block, to);
        weft_data_t in = weft_runs_data(plan, (weft_runs_t){moved(rows, block * (size_t)from),
                                                            nodes, block, (ptrdiff_t)row, 0});
        if (i == 0) {
            weft_plan_copy(plan, out, in);
        } else {
            weft_team_send(plan, node, out, to);
            weft_team_recv(plan, node, in, from);
        }
        weft_type_release(out.type);
        weft_type_release(in.type);
    }
    weft_plan_wait(plan);
    return rows;
}

/* Copies rows that lie node by node, each with the node's ranks in order, to one row in the order
 * of ranks. */
static void alltoall_put_right(weft_plan_t *plan, const weft_rank_blocks_t *blocks,
                               weft_place_t rows)
{
    const weft_shape_t *shape = plan->how.shape;
    size_t row = blocks->bytes * (size_t)shape->most;
    for (int local = 0; shape->placing == WEFT_CYCLIC && local < shape->most; local++) {
        weft_data_t from = weft_runs_data(
            plan, (weft_runs_t){moved(rows, blocks->bytes * (size_t)local), (size_t)shape->nodes,
                                blocks->bytes, (ptrdiff_t)row, 0});
        weft_data_t to = alltoall_lane_blocks(plan, blocks->to, blocks->bytes, local);
        weft_plan_copy(plan, from, to);
        weft_type_release(from.type);
        weft_type_release(to.type);
    }
}

static void alltoall_lanes(weft_plan_t *plan, const weft_coll_args_t *args,
                           alltoall_across_t across, int parameter)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_team_t lane = weft_team_lane(shape, node.index, args->comm->rank);
    weft_rank_blocks_t blocks = weft_alltoall_begin(plan, args);
    size_t row = blocks.bytes * (size_t)node.size;
    if (row == 0)
        return;
    weft_rank_blocks_t rows = {collect_lane(plan, &node, &blocks), blocks.to, row};
    if (shape->placing == WEFT_CYCLIC)
        rows.to = weft_plan_scratch(plan, row * (size_t)shape->nodes, weft_type_of(MPI_BYTE));
    across(plan, &lane, &rows, parameter);
    weft_plan_wait(plan);
    alltoall_put_right(plan, &blocks, rows.to);
    weft_alltoall_end(plan, args, &blocks);
}

void weft_alltoall_lanes(weft_plan_t *plan, const weft_coll_args_t *args)
{
    alltoall_lanes(plan, args, weft_team_alltoall, WEFT_ALLTOALL_BATCH);
}

void weft_alltoall_lanes_bruck(weft_plan_t *plan, const weft_coll_args_t *args)
{
    alltoall_lanes(plan, args, weft_team_alltoall_bruck, plan->how.radix);
}
