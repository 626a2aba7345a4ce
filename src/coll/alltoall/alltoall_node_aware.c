/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank j of a node of m ranks serves the nodes j, j + m, j + 2 m, ... as their carrier: it collects
 * from the ranks of its own node their blocks for such a node, exchanges one message with that
 * node's carrier for its own node, and distributes what it received.
 *
 *   collected, for each such node t, from rank i for its rank d    [t][i][d]
 *   arrived, from each such node s, from its rank i for our rank d [s][i][d]
 *
 * This works for any placement, and for nodes with different numbers of ranks.
 */
#include "coll/alltoall/alltoall_nodes.h"

#include "coll/team/pieces.h"
#include "coll/team/runs.h"
#include "base/memory.h"

/* A list of runs of bytes; adjacent runs are merged. */
typedef struct list {
    MPI_Count *offsets, *bytes; /* [room] */
    size_t count;
} list_t;

typedef struct exchange {
    const weft_shape_t *shape;
    weft_team_t node; /* the team of this rank's node */
    int home;         /* the number of that node */
    size_t block;     /* bytes */
    weft_place_t from, to;
    weft_place_t collected, arrived;
    list_t list; /* with room for as many runs as the communicator has ranks */
} exchange_t;

static void add_run(list_t *list, size_t offset, size_t bytes)
{
    size_t last = list->count - 1;
    if (list->count > 0 && (size_t)(list->offsets[last] + list->bytes[last]) == offset) {
        list->bytes[last] += (MPI_Count)bytes;
        return;
    }
    list->offsets[list->count] = (MPI_Count)offset;
    list->bytes[list->count++] = (MPI_Count)bytes;
}

/* Returns the listed runs as data at a place, and empties the list. */
static weft_data_t take_runs(weft_plan_t *plan, list_t *list, weft_place_t at)
{
    weft_run_list_t runs = {at, list->count, list->offsets, list->bytes};
    list->count = 0;
    return weft_run_list_data(plan, &runs);
}

static int ranks_of(const exchange_t *its, int node)
{
    return weft_shape_count(its->shape, node);
}

/* The blocks for, or from, all ranks of the nodes that local rank `carrier` serves, in a row of
 * blocks in the order of ranks. */
static weft_data_t blocks_of_carrier(weft_plan_t *plan, exchange_t *its, weft_place_t row,
                                     int carrier)
{
    for (int node = carrier; node < its->shape->nodes; node += its->node.size) {
        for (int local = 0; local < ranks_of(its, node); local++)
            add_run(&its->list, its->block * (size_t)weft_shape_rank(its->shape, node, local),
                    its->block);
    }
    return take_runs(plan, &its->list, row);
}

/* The part of `collected` that local rank `from` sends for the nodes of this carrier. */
static weft_data_t collected_from(weft_plan_t *plan, exchange_t *its, int from)
{
    size_t at = 0;
    for (int node = its->node.index; node < its->shape->nodes; node += its->node.size) {
        size_t row = its->block * (size_t)ranks_of(its, node);
        add_run(&its->list, at + row * (size_t)from, row);
        at += row * (size_t)its->node.size;
    }
    return take_runs(plan, &its->list, its->collected);
}

/* The part of `arrived` that the nodes of this carrier have sent for local rank `to`. */
static weft_data_t arrived_for(weft_plan_t *plan, exchange_t *its, int to)
{
    size_t at = 0, row = its->block * (size_t)its->node.size;
    for (int node = its->node.index; node < its->shape->nodes; node += its->node.size) {
        for (int local = 0; local < ranks_of(its, node); local++, at += row)
            add_run(&its->list, at + its->block * (size_t)to, its->block);
    }
    return take_runs(plan, &its->list, its->arrived);
}

static bool carries(const exchange_t *its, int local)
{
    return local < its->shape->nodes;
}

/* One step within the node: blocks go to the carriers, or back from them. */
static void pass(weft_plan_t *plan, exchange_t *its, int distance, bool is_back)
{
    int to = weft_team_at(&its->node, distance), from = weft_team_at(&its->node, -distance);
    bool sends = carries(its, is_back ? its->node.index : to);
    bool receives = carries(its, is_back ? from : its->node.index);
    weft_data_t out = {weft_place_at(WEFT_OUT, 0), 0, weft_type_of(MPI_BYTE)}, in = out;
    if (sends)
        out = is_back ? arrived_for(plan, its, to) : blocks_of_carrier(plan, its, its->from, to);
    if (receives)
        in =
            is_back ? blocks_of_carrier(plan, its, its->to, from) : collected_from(plan, its, from);
    if (distance == 0) {
        weft_plan_copy(plan, out, in);
    } else {
        weft_team_send(plan, &its->node, out, to);
        weft_team_recv(plan, &its->node, in, from);
    }
    weft_type_release(out.type);
    weft_type_release(in.type);
}

/* The messages with one of this carrier's nodes, whose blocks lie `before` ranks into the rows. */
static void cross_to(weft_plan_t *plan, const exchange_t *its, int node, size_t before)
{
    size_t each = its->block * (size_t)its->node.size;
    ptrdiff_t at = (ptrdiff_t)(each * before);
    weft_data_t out = {weft_place_at(WEFT_SCRATCH, its->collected.offset + at),
                       each * (size_t)ranks_of(its, node), weft_type_of(MPI_BYTE)};
    weft_data_t in = out;
    in.place = weft_place_at(WEFT_SCRATCH, its->arrived.offset + at);
    if (node == its->home) {
        weft_plan_copy(plan, out, in);
        return;
    }
    int peer = weft_shape_rank(its->shape, node, its->home % ranks_of(its, node));
    weft_plan_recv(plan, in, peer);
    weft_plan_send(plan, out, peer);
}

/* Exchanges with each of this carrier's nodes, beginning with those above its own node, so that not
 * all turn to the same one. */
static void alltoall_cross(weft_plan_t *plan, const exchange_t *its)
{
    size_t before = 0;
    for (int node = its->node.index; node < its->shape->nodes; node += its->node.size) {
        if (node > its->home)
            cross_to(plan, its, node, before);
        before += (size_t)ranks_of(its, node);
    }
    before = 0;
    for (int node = its->node.index; node < its->shape->nodes && node <= its->home;
         node += its->node.size) {
        cross_to(plan, its, node, before);
        before += (size_t)ranks_of(its, node);
    }
}

static void write_exchange(weft_plan_t *plan, exchange_t *its)
{
    size_t ranks = 0;
    for (int node = its->node.index; node < its->shape->nodes; node += its->node.size)
        ranks += (size_t)ranks_of(its, node);
    size_t bytes = ranks * (size_t)its->node.size * its->block;
    its->collected = weft_plan_scratch(plan, bytes, weft_type_of(MPI_BYTE));
    its->arrived = weft_plan_scratch(plan, bytes, weft_type_of(MPI_BYTE));
    for (int i = 0; i < its->node.size; i++)
        pass(plan, its, i, false);
    weft_plan_wait(plan);
    alltoall_cross(plan, its);
    weft_plan_wait(plan);
    for (int i = 0; i < its->node.size; i++)
        pass(plan, its, i, true);
}

void weft_alltoall_node_aware(weft_plan_t *plan, const weft_coll_args_t *args)
{
    const weft_shape_t *shape = plan->how.shape;
    weft_rank_blocks_t rows = weft_alltoall_begin(plan, args);
    size_t room = (size_t)shape->ranks;
    exchange_t its = {.shape = shape,
                      .node = weft_team_node(shape, args->comm->rank),
                      .home = weft_shape_node(shape, args->comm->rank),
                      .block = rows.bytes,
                      .from = rows.from,
                      .to = rows.to,
                      .list = {weft_alloc_array(room, sizeof(MPI_Count)),
                               weft_alloc_array(room, sizeof(MPI_Count)), 0}};
    if (its.list.offsets == NULL || its.list.bytes == NULL)
        plan->error = MPI_ERR_NO_MEM;
    else if (rows.bytes > 0)
        write_exchange(plan, &its);
    weft_free(its.list.offsets);
    weft_free(its.list.bytes);
    weft_alltoall_end(plan, args, &rows);
}
