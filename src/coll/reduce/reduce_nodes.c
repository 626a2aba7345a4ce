/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduce/reduce_nodes.h"

#include "coll/section.h"
#include "coll/team/digits.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"

/* The rank that collects the result: the root, or, where the order of ranks must be kept, rank 0,
 * which then sends the result on. */
static int collector_of(const weft_coll_args_t *args)
{
    return args->op->is_commutative ? args->root : 0;
}

static void hand_over(weft_plan_t *plan, const weft_coll_args_t *args, weft_data_t result)
{
    int collector = collector_of(args);
    if (collector == args->root)
        return;
    weft_plan_wait(plan);
    if (args->comm->rank == collector)
        weft_plan_send(plan, result, args->root);
    else if (args->comm->rank == args->root)
        weft_plan_recv(plan, weft_vector(args, weft_place_at(WEFT_OUT, 0)), collector);
}

/* The root reduces into recv_buf, another rank into scratch memory for a whole vector. */
static weft_data_t place_of_result(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bool is_root = args->comm->rank == args->root;
    return weft_vector(args, is_root ? weft_place_at(WEFT_OUT, 0)
                                     : weft_plan_scratch(plan, args->recv_count, args->recv_type));
}

void weft_reduce_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    const weft_shape_t *shape = plan->how.shape;
    int rank = args->comm->rank, collector = collector_of(args);
    int home = weft_shape_node(shape, collector);
    weft_team_t node = weft_team_node(shape, rank);
    if (weft_shape_node(shape, rank) == home)
        node = weft_team_turned(node, weft_shape_local(shape, collector));
    weft_place_t from = weft_own_operand(args);
    weft_data_t to = weft_vector(args, weft_place_at(WEFT_OUT, 0));
    if (node.index == 0)
        to = place_of_result(plan, args);
    if (node.size > 1) {
        weft_node_reduce(plan, &node, from, to, weft_plan_local_radix(plan, node.size, 0));
        from = to.place;
    }
    if (node.index == 0) {
        weft_team_t leaders = weft_team_with(weft_team_lane(shape, 0, rank), collector);
        leaders = weft_team_turned(leaders, home);
        weft_team_reduce(plan, &leaders, from, to, plan->how.radix);
    }
    hand_over(plan, args, to);
}

double weft_reduce_two_level_us(const weft_model_t *model)
{
    return weft_node_reduce_us(model, model->bytes) +
           weft_reduce_tree_us(model, &model->fabric.net, model->nodes, model->bytes);
}

/* ---- slices ---- */

typedef struct sliced {
    const weft_coll_args_t *args;
    void (*across)(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice);
    weft_data_t to;
    int pieces;
} reduce_sliced_t;

static void reduce_by_tree(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_team_reduce(plan, lane, slice.place, slice, plan->how.radix);
}

static void reduce_by_halving(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_team_allreduce_halving(plan, lane, slice.place, slice, plan->how.radix);
}

/* The carriers of the root's node send their slices to the collector. */
static void collect_slices(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *slices,
                           int collector)
{
    weft_node_parts_t parts = {.coll = WEFT_GATHER, .root = collector, .left_out = collector};
    bool is_collector = node->index == collector;
    bool carries = !is_collector && node->index < slices->parts;
    weft_data_t own = weft_cut_part(slices, carries ? node->index : 0);
    parts.cut = is_collector ? slices : NULL;
    parts.one = carries ? &own : NULL;
    if (slices->count == 0)
        return;
    weft_plan_wait(plan);
    weft_node_begin(plan, node, &parts);
    if (carries)
        weft_team_send(plan, node, own, collector);
    for (int lane = 0; is_collector && lane < slices->parts; lane++) {
        if (lane != collector)
            weft_team_recv(plan, node, weft_cut_part(slices, lane), lane);
    }
    weft_section_end(plan);
}

static void reduce_write_piece(weft_plan_t *plan, const void *context, int index)
{
    const reduce_sliced_t *sliced = context;
    const weft_coll_args_t *args = sliced->args;
    const weft_shape_t *shape = plan->how.shape;
    int rank = args->comm->rank, collector = collector_of(args);
    int home = weft_shape_node(shape, collector);
    weft_team_t node = weft_team_node(shape, rank);
    weft_cut_t pieces = weft_cut(sliced->to, sliced->pieces);
    weft_cut_t operands = weft_cut_at(&pieces, weft_own_operand(args));
    weft_cut_t slices = weft_cut(weft_cut_part(&pieces, index), shape->least);
    weft_node_reduce_scatter(plan, &node, weft_cut_part(&operands, index).place, &slices);
    if (node.index < shape->least) {
        weft_team_t lane = weft_team_turned(weft_team_lane(shape, node.index, rank), home);
        sliced->across(plan, &lane, weft_cut_part(&slices, node.index));
    }
    if (weft_shape_node(shape, rank) == home)
        collect_slices(plan, &node, &slices, weft_shape_local(shape, collector));
}

static void reduce_write_pieces(weft_plan_t *plan, reduce_sliced_t sliced)
{
    const weft_coll_args_t *args = sliced.args;
    size_t bytes = args->recv_count * args->recv_type->size;
    sliced.pieces = weft_plan_pieces(bytes, plan->how.segment_bytes);
    sliced.to = place_of_result(plan, args);
    weft_plan_parts(plan, sliced.pieces, reduce_write_piece, &sliced);
    hand_over(plan, args, sliced.to);
}

void weft_reduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args)
{
    reduce_write_pieces(plan, (reduce_sliced_t){.args = args, .across = reduce_by_tree});
}

void weft_reduce_sliced_rabenseifner(weft_plan_t *plan, const weft_coll_args_t *args)
{
    reduce_write_pieces(plan, (reduce_sliced_t){.args = args, .across = reduce_by_halving});
}

/* ---- their costs ---- */

static double reduce_sliced_us(const weft_model_t *model, double between, double messages,
                               double volumes)
{
    double pieces = weft_plan_pieces((size_t)model->bytes, (size_t)model->segment_bytes);
    double piece = model->bytes / pieces, slice = piece / model->least;
    double on_node = 2 * weft_node_parts_us(model, slice) +
                     (model->most - 1) * slice * model->fabric.reduce_us_per_byte;
    double busy = weft_busy_us(model, messages, volumes * piece);
    return weft_pipeline_us(on_node + between, on_node > busy ? on_node : busy, pieces);
}

static double reduce_slice_of(const weft_model_t *model)
{
    return model->bytes / model->least /
           weft_plan_pieces((size_t)model->bytes, (size_t)model->segment_bytes);
}

double weft_reduce_sliced_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->least);
    double volumes = (double)(model->radix - 1) * weft_digits_rounds(model->nodes, model->radix);
    return reduce_sliced_us(model,
                            weft_reduce_tree_us(model, &net, model->nodes, reduce_slice_of(model)),
                            volumes, volumes);
}

double weft_reduce_sliced_rabenseifner_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->least);
    return reduce_sliced_us(model,
                            weft_halving_us(model, &net, model->nodes, reduce_slice_of(model)),
                            2 * weft_multiplying_messages(model, model->nodes), 2);
}
