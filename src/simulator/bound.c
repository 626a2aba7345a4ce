/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound that no algorithm can beat in this model: the greater of two bounds.
 *
 * Latency: a fact of one rank must reach all nodes, or facts of all nodes must reach one rank. In
 * the postal model (Bar-Noy and Kipnis 1992) the number of nodes that can know it at time t is f(t)
 * = f(t - g) + f(t - latency), where g is the gap between the messages of a node: a rank's gap
 * divided by the node's ranks, or the port's gap.
 *
 * Bytes: what must leave, or enter, the busiest node through its one way out or in.
 */
#include "simulator/world_private.h"

/* Time is in units of the gap. The nodes that know the fact are those that knew it one gap ago, and
 * those that receive it from the nodes that knew it one latency ago. */
static double spread_us(const weft_sim_world_t *world)
{
    enum { UNITS_MAX = 1 << 14 };
    static double known[UNITS_MAX];
    const weft_link_cost_t *net = &world->fabric.net;
    int nodes = world->its->shape->nodes;
    double gap = net->gap_us / world->its->shape->most;
    gap = gap > net->port_us ? gap : net->port_us;
    double least = net->latency_us / (UNITS_MAX / 64);
    gap = gap > least ? gap : least;
    int latency = (int)(net->latency_us / gap);
    for (int t = 0; t < UNITS_MAX; t++) {
        known[t] = t == 0 ? 1 : known[t - 1] + (t >= latency ? known[t - latency] : 0);
        if (known[t] >= nodes)
            return t * gap;
    }
    return net->latency_us;
}

/* The bytes that pass the way out or in of the busiest node. */
static double busiest_bytes(const weft_sim_world_t *world)
{
    const weft_shape_t *shape = world->its->shape;
    double n = (double)world->its->bytes, p = world->size, most = shape->most;
    double elsewhere = p - most, nodes = shape->nodes;
    switch (world->its->coll) {
    case WEFT_BARRIER:
        return 0;
    case WEFT_GATHER:
    case WEFT_SCATTER:
    case WEFT_GATHERV:
    case WEFT_SCATTERV:
        return (p - weft_shape_count(shape, weft_shape_node(shape, world->its->root))) * n;
    case WEFT_ALLGATHER:
        return (p - shape->least) * n;
    case WEFT_ALLGATHERV:
        return (p - shape->least) / p * n;
    case WEFT_ALLTOALL:
    case WEFT_ALLTOALLV:
    case WEFT_ALLTOALLW:
        return most * elsewhere * n;
    case WEFT_ALLREDUCE:
        return 2 * n * (nodes - 1) / nodes;
    case WEFT_REDUCE_SCATTER:
        return n * (p - shape->least) / p;
    case WEFT_REDUCE_SCATTER_BLOCK:
        return n * (p - shape->least);
    default:
        return n;
    }
}

double weft_sim_bound_us(const weft_sim_world_t *world)
{
    const weft_link_cost_t *net = &world->fabric.net;
    if (world->its->shape->nodes == 1)
        return world->size == 1 ? 0 : world->fabric.node.latency_us;
    double bytes = net->latency_us + busiest_bytes(world) * net->us_per_byte;
    double spread = spread_us(world);
    return bytes > spread ? bytes : spread;
}
