/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/shape.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

weft_shape_t weft_shape_blocks(int nodes, int per_node)
{
    return (weft_shape_t){.ranks = nodes * per_node,
                          .nodes = nodes,
                          .least = per_node,
                          .most = per_node,
                          .is_consecutive = true,
                          .placing = WEFT_BLOCKS};
}

weft_shape_t weft_shape_cyclic(int nodes, int per_node)
{
    weft_shape_t shape = weft_shape_blocks(nodes, per_node);
    if (nodes > 1 && per_node > 1) {
        shape.placing = WEFT_CYCLIC;
        shape.is_consecutive = false;
    }
    return shape;
}

/* ---- reading a placement ---- */

/* Numbers the hosts by their lowest rank; returns the number of nodes. */
static int number_nodes(weft_shape_t *shape, const int *hosts, int *numbers, int hosts_end)
{
    int nodes = 0;
    for (int i = 0; i < hosts_end; i++)
        numbers[i] = -1;
    for (int rank = 0; rank < shape->ranks; rank++) {
        int *number = &numbers[hosts[rank]];
        if (*number < 0)
            *number = nodes++;
        shape->node_of[rank] = *number;
    }
    return nodes;
}

static void sort_members(weft_shape_t *shape)
{
    for (int node = 0; node <= shape->nodes; node++)
        shape->starts[node] = 0;
    for (int rank = 0; rank < shape->ranks; rank++)
        shape->starts[shape->node_of[rank] + 1]++;
    for (int node = 0; node < shape->nodes; node++)
        shape->starts[node + 1] += shape->starts[node];
    /* Each start moves to the node's end, which is the start of the next node. */
    for (int rank = 0; rank < shape->ranks; rank++)
        shape->members[shape->starts[shape->node_of[rank]]++] = rank;
    for (int node = shape->nodes; node > 0; node--)
        shape->starts[node] = shape->starts[node - 1];
    shape->starts[0] = 0;
}

static void note_regularity(weft_shape_t *shape)
{
    bool is_cyclic = true;
    shape->is_consecutive = true;
    shape->least = shape->ranks;
    for (int rank = 0; rank < shape->ranks; rank++) {
        shape->is_consecutive &= shape->members[rank] == rank;
        is_cyclic &= shape->node_of[rank] == rank % shape->nodes;
    }
    for (int node = 0; node < shape->nodes; node++) {
        int count = shape->starts[node + 1] - shape->starts[node];
        shape->least = count < shape->least ? count : shape->least;
        shape->most = count > shape->most ? count : shape->most;
    }
    if (shape->least == shape->most && (shape->is_consecutive || is_cyclic))
        shape->placing = shape->is_consecutive ? WEFT_BLOCKS : WEFT_CYCLIC;
}

static void drop_tables(weft_shape_t *shape)
{
    weft_free(shape->node_of);
    weft_free(shape->members);
    weft_free(shape->starts);
    shape->node_of = shape->members = shape->starts = NULL;
}

int weft_shape_open(const int *hosts, int ranks, int hosts_end, weft_shape_t *out)
{
    size_t room = (size_t)ranks, ends = (size_t)(hosts_end > ranks ? hosts_end : ranks) + 1;
    weft_shape_t shape = {.ranks = ranks, .placing = WEFT_ANYHOW};
    shape.node_of = weft_alloc_array(room, sizeof(int));
    shape.members = weft_alloc_array(room, sizeof(int));
    shape.starts = weft_alloc_array(ends, sizeof(int));
    if (shape.node_of == NULL || shape.members == NULL || shape.starts == NULL) {
        drop_tables(&shape);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a table of the nodes of %d ranks", ranks);
    }
    shape.nodes = number_nodes(&shape, hosts, shape.starts, hosts_end);
    sort_members(&shape);
    note_regularity(&shape);
    if (shape.placing != WEFT_ANYHOW)
        drop_tables(&shape);
    *out = shape;
    return MPI_SUCCESS;
}

void weft_shape_close(weft_shape_t *shape)
{
    drop_tables(shape);
}

/* ---- queries ---- */

int weft_shape_node(const weft_shape_t *shape, int rank)
{
    if (shape->placing == WEFT_BLOCKS)
        return rank / shape->most;
    return shape->placing == WEFT_CYCLIC ? rank % shape->nodes : shape->node_of[rank];
}

int weft_shape_before(const weft_shape_t *shape, int node)
{
    return shape->placing == WEFT_ANYHOW ? shape->starts[node] : node * shape->most;
}

int weft_shape_count(const weft_shape_t *shape, int node)
{
    return weft_shape_before(shape, node + 1) - weft_shape_before(shape, node);
}

int weft_shape_rank(const weft_shape_t *shape, int node, int local)
{
    if (shape->placing == WEFT_BLOCKS)
        return node * shape->most + local;
    return shape->placing == WEFT_CYCLIC ? node + local * shape->nodes
                                         : shape->members[shape->starts[node] + local];
}

int weft_shape_local(const weft_shape_t *shape, int rank)
{
    if (shape->placing == WEFT_BLOCKS)
        return rank % shape->most;
    if (shape->placing == WEFT_CYCLIC)
        return rank / shape->nodes;
    int node = shape->node_of[rank], low = 0, high = weft_shape_count(shape, node);
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (weft_shape_rank(shape, node, middle) <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}
