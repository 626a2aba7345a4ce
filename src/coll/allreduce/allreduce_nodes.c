/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/allreduce/allreduce_nodes.h"

#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/shared.h"

typedef void (*allreduce_across_t)(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   weft_data_t to);

static void multiply(weft_plan_t *plan, const weft_team_t *team, weft_place_t from, weft_data_t to)
{
    weft_team_allreduce(plan, team, from, to, plan->how.radix);
}

static void allreduce_up_and_down(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                  weft_data_t to)
{
    weft_team_reduce(plan, team, from, to, plan->how.radix);
    weft_plan_wait(plan);
    weft_team_bcast(plan, team, to, plan->how.radix);
}

static void allreduce_in_two_levels(weft_plan_t *plan, const weft_coll_args_t *args,
                                    allreduce_across_t across)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_data_t to = weft_vector(args, weft_place_at(WEFT_OUT, 0));
    weft_place_t from = weft_own_operand(args);
    if (node.size > 1) {
        weft_node_reduce(plan, &node, from, to, weft_plan_local_radix(plan, node.size, 0));
        from = to.place;
    }
    if (node.index == 0) {
        weft_team_t leaders = weft_team_lane(shape, 0, args->comm->rank);
        across(plan, &leaders, from, to);
    }
    weft_plan_wait(plan);
    weft_node_bcast(plan, &node, to,
                    weft_plan_local_radix(plan, node.size, to.count * to.type->size));
}

void weft_allreduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_in_two_levels(plan, args, multiply);
}

void weft_allreduce_two_level_tree(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_in_two_levels(plan, args, allreduce_up_and_down);
}

double weft_allreduce_two_level_tree_us(const weft_model_t *model)
{
    return weft_node_reduce_us(model, model->bytes) + weft_node_tree_us(model, model->bytes) +
           weft_reduce_tree_us(model, &model->fabric.net, model->nodes, model->bytes) +
           weft_tree_us(&model->fabric.net, model->nodes, model->radix, model->bytes);
}

double weft_allreduce_two_level_us(const weft_model_t *model)
{
    return weft_node_reduce_us(model, model->bytes) + weft_node_tree_us(model, model->bytes) +
           weft_multiplying_us(model, &model->fabric.net, model->nodes, model->bytes);
}

void weft_allreduce_shared(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_sharing_t sharing = weft_sharing_of(plan, args->comm->rank);
    weft_data_t to = weft_vector(args, weft_place_at(WEFT_OUT, 0));
    weft_place_t from = weft_own_operand(args);
    if (sharing.node.size > 1) {
        weft_node_reduce(plan, &sharing.node, from, to,
                         weft_plan_local_radix(plan, sharing.node.size, 0));
        weft_plan_wait(plan);
        from = to.place;
    }
    weft_shared_allreduce(plan, &sharing, from, to);
}

double weft_allreduce_shared_us(const weft_model_t *model)
{
    return weft_node_reduce_us(model, model->bytes) + weft_shared_allreduce_us(model);
}

/* ---- slices ---- */

/* How the slices are reduced between nodes: by recursive multiplying or by another algorithm. */
typedef struct sliced {
    const weft_coll_args_t *args;
    allreduce_across_t across;
    int pieces;
} allreduce_sliced_t;

static void allreduce_write_piece(weft_plan_t *plan, const void *context, int index)
{
    const allreduce_sliced_t *sliced = context;
    const weft_coll_args_t *args = sliced->args;
    const weft_shape_t *shape = plan->how.shape;
    weft_team_t node = weft_team_node(shape, args->comm->rank);
    weft_cut_t pieces = weft_cut(weft_vector(args, weft_place_at(WEFT_OUT, 0)), sliced->pieces);
    weft_cut_t operands = weft_cut_at(&pieces, weft_own_operand(args));
    weft_cut_t slices = weft_cut(weft_cut_part(&pieces, index), shape->least);
    weft_node_reduce_scatter(plan, &node, weft_cut_part(&operands, index).place, &slices);
    if (node.index < shape->least) {
        weft_team_t lane = weft_team_lane(shape, node.index, args->comm->rank);
        weft_data_t slice = weft_cut_part(&slices, node.index);
        sliced->across(plan, &lane, slice.place, slice);
    }
    weft_plan_wait(plan);
    weft_node_allgather(plan, &node, &slices);
}

static void allreduce_write_pieces(weft_plan_t *plan, allreduce_sliced_t sliced)
{
    size_t bytes = sliced.args->recv_count * sliced.args->recv_type->size;
    sliced.pieces = weft_plan_pieces(bytes, plan->how.segment_bytes);
    weft_plan_parts(plan, sliced.pieces, allreduce_write_piece, &sliced);
}

static void halve(weft_plan_t *plan, const weft_team_t *team, weft_place_t from, weft_data_t to)
{
    weft_team_allreduce_halving(plan, team, from, to, plan->how.radix);
}

void weft_allreduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_write_pieces(plan, (allreduce_sliced_t){args, multiply, 1});
}

void weft_allreduce_sliced_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_write_pieces(plan, (allreduce_sliced_t){args, halve, 1});
}

void weft_allreduce_sliced_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_write_pieces(plan, (allreduce_sliced_t){args, weft_team_allreduce_bine, 1});
}

void weft_allreduce_sliced_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allreduce_write_pieces(plan, (allreduce_sliced_t){args, weft_team_allreduce_ring, 1});
}

/* ---- their costs ---- */

typedef double (*allreduce_across_us_t)(const weft_model_t *model, const weft_link_cost_t *link,
                                        int size, double bytes);

/* All slices leave a node through its one way out. */
static double allreduce_sliced_us(const weft_model_t *model, allreduce_across_us_t across,
                                  double messages)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->least);
    double pieces = weft_plan_pieces((size_t)model->bytes, (size_t)model->segment_bytes);
    double piece = model->bytes / pieces, slice = piece / model->least;
    double on_node = 2 * weft_node_parts_us(model, slice) +
                     (model->most - 1) * slice * model->fabric.reduce_us_per_byte;
    double between = across(model, &net, model->nodes, slice);
    /* Pieces wait for each other where they use the same resource, but their latencies overlap. */
    double busy = weft_busy_us(model, messages, 2 * piece);
    double step = on_node > busy ? on_node : busy;
    return weft_pipeline_us(on_node + between, step, pieces);
}

static double ring_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                      double bytes)
{
    double part = bytes / size;
    return (size - 1) * (weft_reduce_round_us(model, link, 1, part) + weft_round_us(link, 1, part));
}

double weft_allreduce_sliced_us(const weft_model_t *model)
{
    return allreduce_sliced_us(model, weft_multiplying_us,
                               weft_multiplying_messages(model, model->nodes));
}

double weft_allreduce_sliced_rabenseifner_us(const weft_model_t *model)
{
    return allreduce_sliced_us(model, weft_halving_us,
                               2 * weft_multiplying_messages(model, model->nodes));
}

double weft_allreduce_sliced_bine_us(const weft_model_t *model)
{
    weft_model_t binary = *model;
    binary.radix = 2;
    return allreduce_sliced_us(&binary, weft_halving_us,
                               2 * weft_multiplying_messages(&binary, model->nodes));
}

double weft_allreduce_sliced_ring_us(const weft_model_t *model)
{
    return allreduce_sliced_us(model, ring_us, 2 * (model->nodes - 1));
}
