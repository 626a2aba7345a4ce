/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/allgather/allgather_nodes.h"

static double allgather_ring_us(const weft_link_cost_t *link, int size, double block)
{
    return (size - 1) * weft_round_us(link, 1, block);
}

double weft_allgather_bruck_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_bruck_us(&net, model->ranks, model->radix, model->bytes);
}

double weft_allgather_bine_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_bruck_us(&net, model->ranks, 2, model->bytes);
}

double weft_allgather_ring_us(const weft_model_t *model)
{
    return weft_ring_us(model, model->bytes, false);
}

/* Half the rounds of a ring, with twice the bytes each. Where ranks are in the order of nodes, a
 * rank with a neighbour on another node exchanges with it in every other round only. */
double weft_allgather_neighbour_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->is_consecutive ? 1 : model->most);
    double crossing = weft_round_us(&net, 1, 2 * model->bytes);
    double inside = weft_round_us(&model->fabric.node, 1, 2 * model->bytes);
    bool all_cross = !model->is_consecutive || model->most == 1;
    if (model->ranks % 2 != 0)
        return weft_allgather_ring_us(model);
    return model->ranks / 2.0 * (all_cross ? crossing : (crossing + inside) / 2);
}

static double allgather_on_node_us(const weft_model_t *model)
{
    double all = model->bytes * model->ranks;
    return weft_node_tree_us(model, 0) +
           model->most * model->bytes * model->fabric.node.us_per_byte +
           weft_node_tree_us(model, all);
}

double weft_allgather_two_level_us(const weft_model_t *model)
{
    return allgather_on_node_us(model) + weft_bruck_us(&model->fabric.net, model->nodes,
                                                       model->radix, model->bytes * model->most);
}

double weft_allgather_two_level_ring_us(const weft_model_t *model)
{
    return allgather_on_node_us(model) +
           allgather_ring_us(&model->fabric.net, model->nodes, model->bytes * model->most);
}

static double allgather_share_us(const weft_model_t *model)
{
    double lane = model->bytes * model->nodes;
    return weft_node_parts_us(model, lane) + 2 * lane * model->fabric.copy_us_per_byte;
}

double weft_allgather_lanes_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return weft_bruck_us(&net, model->nodes, model->radix, model->bytes) +
           allgather_share_us(model);
}

double weft_allgather_lanes_ring_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return allgather_ring_us(&net, model->nodes, model->bytes) + allgather_share_us(model);
}
