/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/alltoall/alltoall_nodes.h"

#include "coll/team/digits.h"

static double alltoall_larger(double a, double b)
{
    return a > b ? a : b;
}

/* What must leave a node through its one way out in any case: every rank's blocks for all ranks on
 * other nodes. */
static double way_out_us(const weft_model_t *model)
{
    return (double)model->most * (model->ranks - model->most) * model->bytes *
           model->fabric.net.us_per_byte;
}

/* A rank's `count` messages, a batch at a time, but no faster than the way out permits. */
static double batched_us(const weft_model_t *model, double count, double bytes)
{
    const weft_link_cost_t *net = &model->fabric.net;
    double batches = (double)(int)((count + WEFT_ALLTOALL_BATCH - 1) / WEFT_ALLTOALL_BATCH);
    double latency = weft_round_us(net, 1, bytes) - bytes * net->us_per_byte;
    return batches * latency + alltoall_larger(count * net->gap_us, way_out_us(model));
}

/* The rounds of Bruck's algorithm over `size` members: each message has the blocks with one value
 * of a digit. */
static double alltoall_bruck_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                                double block)
{
    double sum = 0;
    for (double stride = 1; stride < size; stride *= model->radix) {
        double digits = size / stride < model->radix ? size / stride : model->radix;
        double bytes = block * size / digits;
        sum += weft_round_us(link, digits - 1 > 1 ? digits - 1 : 1, bytes) +
               (digits - 1) * bytes * model->fabric.copy_us_per_byte;
    }
    return sum + 2 * size * block * model->fabric.copy_us_per_byte;
}

double weft_alltoall_batched_us(const weft_model_t *model)
{
    return batched_us(model, model->ranks - 1, model->bytes);
}

double weft_alltoall_bruck_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return alltoall_bruck_us(model, &net, model->ranks, model->bytes);
}

/* Within the node: each rank sends an m-th of all its blocks to each of the node's m ranks. */
static double alltoall_share_us(const weft_model_t *model)
{
    return weft_node_parts_us(model, model->bytes * model->nodes) +
           2 * model->bytes * model->ranks * model->fabric.copy_us_per_byte;
}

double weft_alltoall_lanes_us(const weft_model_t *model)
{
    return alltoall_share_us(model) +
           batched_us(model, model->nodes - 1, model->bytes * model->most);
}

double weft_alltoall_lanes_bruck_us(const weft_model_t *model)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->most);
    return alltoall_share_us(model) +
           alltoall_bruck_us(model, &net, model->nodes, model->bytes * model->most);
}

double weft_alltoall_node_aware_us(const weft_model_t *model)
{
    double nodes = (double)((model->nodes + model->most - 1) / model->most);
    double bytes = model->bytes * model->most * model->most;
    double latency =
        weft_round_us(&model->fabric.net, 1, bytes) - bytes * model->fabric.net.us_per_byte;
    return 2 * alltoall_share_us(model) + latency +
           alltoall_larger(nodes * model->fabric.net.gap_us, way_out_us(model));
}
