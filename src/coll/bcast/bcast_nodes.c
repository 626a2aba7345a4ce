/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/bcast/bcast_nodes.h"

#include "coll/section.h"
#include "coll/team/digits.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/runs.h"
#include "coll/team/shared.h"

/* The teams of this rank. Member 0 of a node's team is the root on its node, and the lowest rank on
 * other nodes. */
typedef struct levels {
    const weft_shape_t *shape;
    int rank, root, root_node;
    weft_team_t node;
} levels_t;

static levels_t levels_of(const weft_plan_t *plan, const weft_coll_args_t *args)
{
    const weft_shape_t *shape = plan->how.shape;
    levels_t levels = {.shape = shape,
                       .rank = args->comm->rank,
                       .root = args->root,
                       .root_node = weft_shape_node(shape, args->root)};
    levels.node = weft_team_node(shape, levels.rank);
    if (weft_shape_node(shape, levels.rank) == levels.root_node)
        levels.node = weft_team_turned(levels.node, weft_shape_local(shape, args->root));
    return levels;
}

static weft_team_t leaders_of(const levels_t *levels)
{
    weft_team_t lane = weft_team_lane(levels->shape, 0, levels->rank);
    return weft_team_turned(weft_team_with(lane, levels->root), levels->root_node);
}

static void bcast_to_node(weft_plan_t *plan, const levels_t *levels, weft_data_t data)
{
    int radix = weft_plan_local_radix(plan, levels->node.size, data.count * data.type->size);
    weft_node_bcast(plan, &levels->node, data, radix);
}

static void bcast_write_two_level(weft_plan_t *plan, const weft_coll_args_t *args, bool is_bine)
{
    levels_t levels = levels_of(plan, args);
    weft_data_t data = weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
    if (levels.node.index == 0) {
        weft_team_t leaders = leaders_of(&levels);
        if (is_bine)
            weft_team_bcast_bine(plan, &leaders, data);
        else
            weft_team_bcast(plan, &leaders, data, plan->how.radix);
        if (levels.rank != levels.root)
            weft_plan_wait(plan);
    }
    bcast_to_node(plan, &levels, data);
}

void weft_bcast_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_two_level(plan, args, false);
}

void weft_bcast_two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_two_level(plan, args, true);
}

void weft_bcast_shared(weft_plan_t *plan, const weft_coll_args_t *args)
{
    levels_t levels = levels_of(plan, args);
    weft_sharing_t sharing = weft_sharing_of(plan, levels.rank);
    sharing.nodes = leaders_of(&levels);
    sharing.node = levels.node;
    weft_shared_bcast(plan, &sharing,
                      weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type));
}

/* ---- in pieces ---- */

/* The data are cut as bytes, as the ranks may describe the same data by different types. */
typedef struct pieces {
    const weft_coll_args_t *args;
    weft_cut_t cut;
    void (*across)(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice);
} pieces_t;

static void bcast_write_pieces(weft_plan_t *plan, weft_part_fn_t write, pieces_t pieces)
{
    const weft_coll_args_t *args = pieces.args;
    weft_data_t data = weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
    weft_data_t bytes = weft_plan_as_bytes(plan, data);
    pieces.cut = weft_cut(bytes, weft_plan_pieces(bytes.count, plan->how.segment_bytes));
    if (args->comm->rank == args->root)
        weft_plan_copy(plan, data, bytes);
    weft_plan_parts(plan, pieces.cut.parts, write, &pieces);
    if (args->comm->rank != args->root) {
        weft_plan_wait(plan);
        weft_plan_copy(plan, bytes, data);
    }
}

static void write_link(weft_plan_t *plan, const void *context, int index)
{
    const pieces_t *pieces = context;
    levels_t levels = levels_of(plan, pieces->args);
    weft_data_t data = weft_cut_part(&pieces->cut, index);
    if (levels.node.index == 0) {
        weft_team_t leaders = leaders_of(&levels);
        if (leaders.index > 0) {
            weft_team_recv(plan, &leaders, data, leaders.index - 1);
            weft_plan_wait(plan);
        }
        if (leaders.index + 1 < leaders.size)
            weft_team_send(plan, &leaders, data, leaders.index + 1);
    }
    bcast_to_node(plan, &levels, data);
}

void weft_bcast_chain(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_pieces(plan, write_link, (pieces_t){.args = args});
}

/* ---- in slices ---- */

/* The root sends the slices to the ranks of its node that carry them. */
static void hand_out(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *slices, int root)
{
    weft_node_parts_t parts = {.coll = WEFT_SCATTER, .root = root, .left_out = root};
    bool is_root = node->index == root, carries = !is_root && node->index < slices->parts;
    weft_data_t own = weft_cut_part(slices, carries ? node->index : 0);
    parts.cut = is_root ? slices : NULL;
    parts.one = carries ? &own : NULL;
    weft_node_begin(plan, node, &parts);
    for (int lane = 0; is_root && lane < slices->parts; lane++) {
        if (lane != root)
            weft_team_send(plan, node, weft_cut_part(slices, lane), lane);
    }
    if (carries)
        weft_team_recv(plan, node, own, root);
    weft_section_end(plan);
}

/* On the root's node the slices go to the ranks that carry them, and then the whole data go to all
 * ranks. */
static void write_slices(weft_plan_t *plan, const void *context, int index)
{
    const pieces_t *pieces = context;
    levels_t levels = levels_of(plan, pieces->args);
    weft_cut_t slices = weft_cut(weft_cut_part(&pieces->cut, index), levels.shape->least);
    weft_team_t node = weft_team_node(levels.shape, levels.rank);
    bool is_home = weft_shape_node(levels.shape, levels.rank) == levels.root_node;
    if (is_home && slices.count > 0)
        hand_out(plan, &node, &slices, weft_shape_local(levels.shape, levels.root));
    if (node.index < slices.parts) {
        weft_team_t lane = weft_team_lane(levels.shape, node.index, levels.rank);
        weft_plan_wait(plan);
        lane = weft_team_turned(lane, levels.root_node);
        pieces->across(plan, &lane, weft_cut_part(&slices, node.index));
    }
    if (levels.rank != levels.root)
        weft_plan_wait(plan);
    if (is_home)
        bcast_to_node(plan, &levels, weft_cut_part(&pieces->cut, index));
    else
        weft_node_allgather(plan, &node, &slices);
}

static void bcast_by_tree(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_team_bcast(plan, lane, slice, plan->how.radix);
}

/* Where the parts are put together; not in the root's buffer, which may only be read. */
static weft_cut_t scatter(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_cut_t cut = weft_cut(slice, lane->size), again = cut;
    weft_data_t own = weft_cut_part(&cut, lane->index);
    weft_team_scatter(plan, lane, own, &cut, plan->how.radix);
    if (lane->index == 0) {
        again.at = weft_plan_scratch(plan, slice.count, slice.type);
        weft_plan_copy(plan, own, weft_cut_part(&again, 0));
    }
    weft_plan_wait(plan);
    return again;
}

static void by_bruck(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_cut_t cut = scatter(plan, lane, slice);
    weft_team_allgather_bruck(plan, lane, &cut, plan->how.radix);
}

static void by_ring(weft_plan_t *plan, const weft_team_t *lane, weft_data_t slice)
{
    weft_cut_t cut = scatter(plan, lane, slice);
    weft_team_allgather_ring(plan, lane, &cut);
}

void weft_bcast_sliced(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_pieces(plan, write_slices, (pieces_t){.args = args, .across = bcast_by_tree});
}

void weft_bcast_scatter_allgather(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_pieces(plan, write_slices, (pieces_t){.args = args, .across = by_bruck});
}

void weft_bcast_scatter_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    bcast_write_pieces(plan, write_slices, (pieces_t){.args = args, .across = by_ring});
}

/* ---- their costs ---- */

double weft_bcast_two_level_us(const weft_model_t *model)
{
    return weft_tree_us(&model->fabric.net, model->nodes, model->radix, model->bytes) +
           weft_node_tree_us(model, model->bytes);
}

double weft_bcast_two_level_bine_us(const weft_model_t *model)
{
    weft_model_t binary = *model;
    binary.radix = 2;
    return weft_bcast_two_level_us(&binary);
}

double weft_bcast_chain_us(const weft_model_t *model)
{
    double pieces = weft_plan_pieces((size_t)model->bytes, (size_t)model->segment_bytes);
    double piece = model->bytes / pieces;
    double hop = weft_round_us(&model->fabric.net, 1, piece);
    double copied = piece * model->fabric.node.us_per_byte;
    double busy = weft_busy_us(model, 1, piece);
    return weft_pipeline_us((model->nodes - 1) * hop + weft_node_tree_us(model, piece),
                            copied > busy ? copied : busy, pieces);
}

typedef double (*bcast_across_us_t)(const weft_model_t *model, const weft_link_cost_t *link,
                                    double bytes);

static double bcast_sliced_us(const weft_model_t *model, bcast_across_us_t across, double messages,
                              double volumes)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->least);
    double pieces = weft_plan_pieces((size_t)model->bytes, (size_t)model->segment_bytes);
    double piece = model->bytes / pieces, slice = piece / model->least;
    /* The root's node has all data while the other nodes still receive. */
    double fill = 2 * weft_node_parts_us(model, slice) + across(model, &net, slice);
    double busy = weft_busy_us(model, messages, volumes * piece);
    double copied = piece * model->fabric.node.us_per_byte;
    return weft_pipeline_us(fill, copied > busy ? copied : busy, pieces);
}

static double tree_us(const weft_model_t *model, const weft_link_cost_t *link, double bytes)
{
    return weft_tree_us(link, model->nodes, model->radix, bytes);
}

static double scatter_us(const weft_model_t *model, const weft_link_cost_t *link, double bytes)
{
    return weft_blocks_tree_us(link, model->nodes, model->radix, bytes / model->nodes);
}

static double bcast_bruck_us(const weft_model_t *model, const weft_link_cost_t *link, double bytes)
{
    return 2 * scatter_us(model, link, bytes);
}

static double bcast_ring_us(const weft_model_t *model, const weft_link_cost_t *link, double bytes)
{
    return scatter_us(model, link, bytes) +
           (model->nodes - 1) * weft_round_us(link, 1, bytes / model->nodes);
}

double weft_bcast_sliced_us(const weft_model_t *model)
{
    double volumes = (double)(model->radix - 1) * weft_digits_rounds(model->nodes, model->radix);
    return bcast_sliced_us(model, tree_us, volumes, volumes);
}

double weft_bcast_scatter_allgather_us(const weft_model_t *model)
{
    return bcast_sliced_us(model, bcast_bruck_us,
                           2 * weft_multiplying_messages(model, model->nodes), 2);
}

double weft_bcast_scatter_ring_us(const weft_model_t *model)
{
    double messages = weft_multiplying_messages(model, model->nodes) + model->nodes - 1;
    return bcast_sliced_us(model, bcast_ring_us, messages, 2);
}
