/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduce_scatter/reduce_scatter_nodes.h"

#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "base/fail.h"
#include "base/memory.h"

typedef void (*across_t)(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         const weft_cut_t *cut);

/* The parts of a node's ranks follow each other, so together they are the node's part. */
static size_t *firsts_of_nodes(weft_plan_t *plan, const weft_cut_t *cut)
{
    const weft_shape_t *shape = plan->how.shape;
    size_t *firsts = weft_alloc_array((size_t)shape->nodes + 1, sizeof(*firsts));
    if (firsts == NULL)
        plan->error = MPI_ERR_NO_MEM;
    for (int node = 0; firsts != NULL && node <= shape->nodes; node++)
        firsts[node] = weft_cut_first(cut, weft_shape_before(shape, node));
    return firsts;
}

static void reduce_write_two_level(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_cut_t *cut, across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    int rank = args->comm->rank, first = weft_shape_before(shape, weft_shape_node(shape, rank));
    weft_team_t node = weft_team_node(shape, rank);
    weft_data_t sums = weft_cut_all(cut);
    size_t *firsts = firsts_of_nodes(plan, cut);
    if (firsts == NULL)
        return;
    if (node.index == 0)
        sums.place = weft_plan_scratch(plan, sums.count, sums.type);
    weft_node_reduce(plan, &node, cut->at, sums, weft_plan_local_radix(plan, node.size, 0));
    weft_plan_wait(plan);
    if (node.index == 0) {
        weft_team_t leaders = weft_team_lane(shape, 0, rank);
        weft_cut_t nodes = {sums.place, sums.type, shape->nodes, sums.count, firsts, 0};
        across(plan, &leaders, nodes.at, &nodes);
        weft_plan_wait(plan);
    }
    weft_free(firsts);
    weft_cut_t locals = weft_cut_at(cut, sums.place);
    locals.firsts += first;
    locals.parts = node.size;
    weft_data_t own = weft_cut_part(cut, rank);
    own.place = weft_place_at(WEFT_OUT, 0);
    weft_node_scatter(plan, &node, own, &locals, weft_plan_local_radix(plan, node.size, 0));
}

void weft_reduce_scatter_two_level(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_cut_t *cut)
{
    reduce_write_two_level(plan, args, cut, weft_team_reduce_scatter);
}

void weft_reduce_scatter_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args,
                                        const weft_cut_t *cut)
{
    reduce_write_two_level(plan, args, cut, weft_team_reduce_scatter_bine);
}

/* ---- lanes ---- */

/* The parts of a lane where they lie in the order of ranks: every m-th one. The caller releases the
 * type. */
static weft_data_t lane_parts(weft_plan_t *plan, const weft_cut_t *cut, int lane)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_data_t part = weft_cut_part(cut, lane);
    MPI_Count stride = (MPI_Count)part.count * shape->most * part.type->extent;
    weft_type_t *type;
    int err = weft_type_hvector(shape->nodes, (MPI_Count)part.count, stride, part.type, &type);
    if (err == MPI_SUCCESS) {
        err = weft_type_commit(type);
        if (err == MPI_SUCCESS)
            return weft_data(part.place, 1, type);
        weft_type_release(type);
    }
    plan->error = err;
    return weft_data(part.place, 0, weft_type_of(MPI_BYTE));
}

static void lanes_by(weft_plan_t *plan, const weft_coll_args_t *args, const weft_cut_t *cut,
                     across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_team_t lane = weft_team_lane(shape, node.index, args->comm->rank);
    weft_data_t by_lane = weft_cut_all(cut);
    if (by_lane.count == 0)
        return;
    by_lane.place = weft_plan_scratch(plan, by_lane.count, by_lane.type);
    weft_cut_t lanes = weft_cut(by_lane, node.size);
    for (int i = 0; i < node.size; i++) {
        weft_data_t parts = lane_parts(plan, cut, i);
        weft_plan_copy(plan, parts, weft_cut_part(&lanes, i));
        weft_type_release(parts.type);
    }
    weft_node_reduce_scatter(plan, &node, lanes.at, &lanes);
    weft_cut_t nodes = weft_cut(weft_cut_part(&lanes, node.index), lane.size);
    across(plan, &lane, nodes.at, &nodes);
    weft_plan_wait(plan);
    weft_data_t own = weft_cut_part(&nodes, lane.index);
    weft_plan_copy(plan, own, weft_data(weft_place_at(WEFT_OUT, 0), own.count, own.type));
}

void weft_reduce_scatter_lanes(weft_plan_t *plan, const weft_coll_args_t *args,
                               const weft_cut_t *cut)
{
    lanes_by(plan, args, cut, weft_team_reduce_scatter);
}

void weft_reduce_scatter_lanes_bine(weft_plan_t *plan, const weft_coll_args_t *args,
                                    const weft_cut_t *cut)
{
    lanes_by(plan, args, cut, weft_team_reduce_scatter_bine);
}

/* ---- their costs; `bytes` are those of the whole operand ---- */

static double halving_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                         double bytes)
{
    double sum = 0;
    int power = 1;
    while (2 * power <= size)
        power *= 2;
    if (power < size)
        sum = weft_reduce_round_us(model, link, 1, bytes) + weft_round_us(link, 1, bytes / size);
    for (; power > 1; power /= 2) {
        bytes /= 2;
        sum += weft_reduce_round_us(model, link, 1, bytes);
    }
    return sum;
}

static double direct_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                        double bytes)
{
    return weft_reduce_round_us(model, link, size - 1, bytes / size);
}

double weft_reduce_scatter_direct_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return direct_us(model, &net, model->ranks, model->bytes);
}

double weft_reduce_scatter_ring_us(const weft_model_t *model)
{
    return weft_ring_us(model, model->bytes / model->ranks, true);
}

double weft_reduce_scatter_bine_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return halving_us(model, &net, model->ranks, model->bytes);
}

static double reduce_on_node_us(const weft_model_t *model)
{
    return weft_node_reduce_us(model, model->bytes) +
           weft_node_tree_us(model, model->bytes / model->nodes);
}

double weft_reduce_scatter_two_level_us(const weft_model_t *model)
{
    return reduce_on_node_us(model) +
           direct_us(model, &model->fabric.net, model->nodes, model->bytes);
}

double weft_reduce_scatter_two_level_bine_us(const weft_model_t *model)
{
    return reduce_on_node_us(model) +
           halving_us(model, &model->fabric.net, model->nodes, model->bytes);
}

static double reduce_share_us(const weft_model_t *model)
{
    return model->bytes * (model->fabric.copy_us_per_byte + model->fabric.reduce_us_per_byte) +
           weft_node_parts_us(model, model->bytes / model->most);
}

double weft_reduce_scatter_lanes_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return reduce_share_us(model) +
           direct_us(model, &net, model->nodes, model->bytes / model->most);
}

double weft_reduce_scatter_lanes_bine_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return reduce_share_us(model) +
           halving_us(model, &net, model->nodes, model->bytes / model->most);
}
